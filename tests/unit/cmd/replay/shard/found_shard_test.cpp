// Found shard: who starts many processes says which part each is; what contradicts is refused in
// one line with variable, value and remedy.
#include "cmd/replay/shard/found_shard.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

struct Case {
    Variables variables;
    const char* from;
    ShardPlace place;
};

TEST(FoundShard, ByWhoStartsTheProcesses) {
    const Case cases[] = {
        {{}, "", {}},
        {{{"JOB_COMPLETION_INDEX", "2"}, {"DRIFTLESS_SHARDS", "3"}},
         "JOB_COMPLETION_INDEX",
         {2, 3}},
        {{{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "4"}}, "SLURM_PROCID", {1, 4}},
        {{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}, "", {}},
        {{{"SLURM_NTASKS", "4"}}, "", {}},
        {{{"SLURM_PROCID", "1"},
          {"SLURM_NTASKS", "4"},
          {"SLURM_JOB_ID", "9"},
          {"SLURM_STEP_ID", "0"}},
         "SLURM_PROCID",
         {1, 4}},
        {{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}},
         "OMPI_COMM_WORLD_RANK",
         {0, 1}},
        {{{"OMPI_COMM_WORLD_RANK", "2"},
          {"OMPI_COMM_WORLD_SIZE", "3"},
          {"SLURM_PROCID", "0"},
          {"SLURM_NTASKS", "2"}},
         "OMPI_COMM_WORLD_RANK",
         {2, 3}},
        {{{"PMI_RANK", "1"}, {"PMIX_RANK", "1"}, {"PMI_SIZE", "2"}}, "PMI_RANK", {1, 2}},
        {{{"PMIX_RANK", "1"}, {"DRIFTLESS_SHARDS", "2"}}, "PMIX_RANK", {1, 2}},
        // As Open MPI 4.1 and `srun --mpi=pmix` set them.
        {{{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "3"}},
         "OMPI_COMM_WORLD_RANK",
         {3, 4}},
        {{{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"PMIX_RANK", "1"}},
         "SLURM_PROCID",
         {1, 2}},
    };
    for (const Case& one : cases) {
        const FoundShard found = find_shard(one.variables);
        EXPECT_EQ(found.refused, "");
        EXPECT_EQ(found.from, one.from);
        EXPECT_EQ(found.place, one.place) << one.from;
    }
}

TEST(FoundShard, RefusesWhatIsBrokenOrContradicts) {
    const std::pair<Variables, const char*> cases[] = {
        {{{"JOB_COMPLETION_INDEX", "2"}},
         "JOB_COMPLETION_INDEX is 2, but the number of shards is not known"},
        {{{"DRIFTLESS_SHARDS", "3"}}, "DRIFTLESS_SHARDS is 3, but no variable says which shard"},
        {{{"DRIFTLESS_SHARDS", "3"}, {"PMI_RANK", "3"}, {"PMI_SIZE", "4"}},
         "DRIFTLESS_SHARDS is 3, but PMI_RANK is one of 4"},
        {{{"SLURM_PROCID", "4"}, {"SLURM_NTASKS", "4"}}, "SLURM_PROCID is 4 and SLURM_NTASKS is 4"},
        {{{"SLURM_PROCID", "1.5"}, {"SLURM_NTASKS", "4"}}, "SLURM_PROCID is \"1.5\""},
        {{{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "4097"}}, "not a number from 1 to 4096"},
        {{{"SLURM_PROCID", "1"}}, "the number of tasks is not known; set SLURM_NTASKS"},
        {{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "9"}}, "srun"},
        {{{"SLURM_PROCID", "0"},
          {"SLURM_NTASKS", "4"},
          {"SLURM_JOB_ID", "9"},
          {"SLURM_STEP_ID", "4294967291"}},
         "srun"},
        {{{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"PMIX_RANK", "0"}},
         "SLURM_PROCID says shard 1/2 and PMIX_RANK is 0"},
        {{{"PMI_RANK", "1"}, {"PMIX_RANK", "0"}, {"PMI_SIZE", "2"}},
         "PMI_RANK says shard 1/2 and PMIX_RANK says 0/2"},
    };
    for (const auto& [variables, words] : cases) {
        const FoundShard found = find_shard(variables);
        EXPECT_NE(found.refused.find(words), std::string::npos) << words << "\n" << found.refused;
        EXPECT_NE(found.refused.find("--shard none"), std::string::npos);
        EXPECT_EQ(found.from, "");
    }
}

}  // namespace
}  // namespace driftless
