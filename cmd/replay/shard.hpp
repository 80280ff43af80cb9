/// Shard: which part of the plan this process sends, how it was told so, and what follows.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cmd/flags/replay_options.hpp"
#include "cmd/replay/workload.hpp"
#include "engine/plan/plan.hpp"

namespace driftless {

// FoundShard: which part of a plan a process was started for, as those who start many processes
// say it in the environment. Pure, but for `read_variables`.
//
// Each pair of variables is looked at in this order, and the first that is there decides:
//
// | who starts the processes | part | number of parts |
// |---|---|---|
// | Kubernetes (Indexed Job) | JOB_COMPLETION_INDEX | DRIFTLESS_SHARDS |
// | Open MPI (mpirun) | OMPI_COMM_WORLD_RANK | OMPI_COMM_WORLD_SIZE |
// | MPICH, PMIx | PMI_RANK, PMIX_RANK | PMI_SIZE |
// | Slurm (srun) | SLURM_PROCID | SLURM_NTASKS, where that is more than 1 |
//
// DRIFTLESS_SHARDS replaces a number of parts that is missing. Two of the first three that
// disagree are refused. Slurm comes last: an mpirun inside a Slurm job inherits Slurm's variables,
// which then count the hosts.

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

// Shard: which part of the plan this process sends, and what follows for its flags. The command
// line is the same for all shards: caps are divided among them, and file names get the shard's
// number.

/// Settles `line.options.shard`: by `--shard`, else by the environment. A run that is taken up has
/// recorded its own part, or that it has none (`taken_up`: the options are those of an earlier
/// run). What the environment said is in `line.arguments` afterwards; caps and file names are those
/// of the part. Returns what is wrong, with the remedy, or the empty text.
std::string settle_shard(const Variables& variables, bool taken_up, ReplayCommandLine& line);

/// The same by the environment of this process, and whether `--start-at` is still to come. Prints
/// what is wrong; returns an exit code.
int settle_part(bool taken_up, ReplayCommandLine& line);

/// Which part of its plan a run with these arguments sent.
ShardPlace shard_in(const std::vector<std::string>& arguments);

/// "bodies.jsonl.gz" of part 1: "bodies-shard-1.jsonl.gz".
std::string file_of_shard(const std::string& path, std::uint32_t index);

// The part of a plan that one of several processes sends (`--shard`). Every process reads the
// whole trace and makes the whole plan: digests, sums and forecasts of cached tokens are those of
// the whole; then it keeps its own rows.

/// What stays together when the plan is dealt to processes or engines: turns that wait for each
/// other, and sessions that one connection or one user has.
DealRule deal_rule(const ReplayOptions& options, const Workload& workload);

}  // namespace driftless
