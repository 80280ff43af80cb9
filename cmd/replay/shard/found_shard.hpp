/// FoundShard: which part of a plan a process was started for, as those who start many processes
/// say it in the environment. Pure, but for `read_variables`.
///
/// Each pair of variables is looked at in this order, and the first that is there decides:
///
/// | who starts the processes | part | number of parts |
/// |---|---|---|
/// | Kubernetes (Indexed Job) | JOB_COMPLETION_INDEX | DRIFTLESS_SHARDS |
/// | Open MPI (mpirun) | OMPI_COMM_WORLD_RANK | OMPI_COMM_WORLD_SIZE |
/// | MPICH, PMIx | PMI_RANK, PMIX_RANK | PMI_SIZE |
/// | Slurm (srun) | SLURM_PROCID | SLURM_NTASKS, where that is more than 1 |
///
/// DRIFTLESS_SHARDS stands in for a number of parts that is missing. Two of the first three that
/// disagree are refused. Slurm comes last: an mpirun inside a Slurm job inherits Slurm's variables,
/// which then count the hosts.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/plan/shares.hpp"

namespace driftless {

/// Name and value; those that are not set, or empty, are left out.
using Variables = std::vector<std::pair<std::string, std::string>>;

/// Those that `find_shard` looks at, of this process.
Variables read_variables();

struct FoundShard {
    std::string from;  ///< the variable that has the part; empty: the environment names none
    ShardPlace place;
    std::string refused;  ///< one line with variable, value and remedy; empty: all is well
};
FoundShard find_shard(const Variables& variables);

}  // namespace driftless
