// Found shard: who starts many processes says which part each is; what contradicts is refused in
// one line with variable, value and remedy.

#include "cmd/replay/shard.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/texts.hpp"

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
        EXPECT_TRUE(says(found.refused, words)) << words << "\n" << found.refused;
        EXPECT_TRUE(says(found.refused, "--shard none"));
        EXPECT_EQ(found.from, "");
    }
}

// Shard: caps are shared out to the last one, and files have names of their own.

ReplayCommandLine line_of(std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"trace.jsonl", "--url", "http://h:1"});
    ReplayCommandLine line = parse_replay_options(flags, "");
    EXPECT_EQ(line.kind, ReplayCommandLine::Kind::run) << line.text;
    return line;
}

TEST(Shard, SharesCapsOut) {
    std::uint64_t inflight = 0;
    std::uint64_t tokens = 0;
    for (const char* part : {"0/3", "1/3", "2/3"}) {
        ReplayCommandLine line =
            line_of({"--shard", part, "--max-inflight", "8", "--budget-input", "1001/s"});
        EXPECT_EQ(settle_shard({}, false, line), "");
        inflight += *line.options.sending.inflight_max;
        tokens += line.options.sending.budget_input->rate.tokens;
    }
    EXPECT_EQ(inflight, 8U);
    EXPECT_EQ(tokens, 1001U);
    for (const char* cap : {"3", "4"}) {
        ReplayCommandLine line = line_of({"--shard", "2/3", "--max-inflight", cap});
        EXPECT_EQ(settle_shard({}, false, line), "");
        EXPECT_EQ(line.options.sending.inflight_max, 1U);
    }
    ReplayCommandLine low = line_of({"--shard", "2/3", "--max-inflight", "2"});
    EXPECT_TRUE(says(settle_shard({}, false, low), "--max-inflight is 2"));
}

TEST(Shard, KeepsWhatTheEnvironmentSaid) {
    const Variables variables{{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "4"}};
    const auto keeps = [](const ReplayCommandLine& line) {
        return std::count(line.arguments.begin(), line.arguments.end(), "--shard=1/4") == 1;
    };
    ReplayCommandLine found = line_of({"-o", "out"});
    EXPECT_EQ(settle_shard(variables, false, found), "");
    EXPECT_TRUE(keeps(found));
    EXPECT_EQ(found.options.shard.from, "SLURM_PROCID");
    EXPECT_EQ(found.options.results.out, "out/shard-1");
    ReplayCommandLine taken_up = line_of({});
    EXPECT_EQ(settle_shard(variables, true, taken_up), "");
    EXPECT_FALSE(taken_up.options.shard.any());
    ReplayCommandLine none = line_of({"--shard", "none"});
    EXPECT_EQ(settle_shard(variables, false, none), "");
    EXPECT_FALSE(none.options.shard.any());
}

TEST(Shard, NamesFilesOfItsOwn) {
    EXPECT_EQ(file_of_shard("", 1), "");
    EXPECT_EQ(file_of_shard("rows", 1), "rows-shard-1");
    EXPECT_EQ(file_of_shard("a.b/bodies.jsonl.gz", 12), "a.b/bodies-shard-12.jsonl.gz");
    EXPECT_EQ(file_of_shard("/x/.hidden", 0), "/x/.hidden-shard-0");
}

}  // namespace

}  // namespace driftless
