/// Whether all runs of a comparison were to do the same work and did it: what differs, as values of
/// both, and what to do about it. Pure.
///
/// The same work is: the same trace, rows of it, instants, prompts and asked lengths, played to the
/// end. Servers, models and how the client connects may differ: that is what is compared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/compare/played_run.hpp"

namespace driftless {

enum class Weight : std::uint8_t {
    told,     ///< the reader must know of it; the work is the same
    refused,  ///< not the same work; `--anyway` compares what both have
    never,    ///< nothing can be paired
};
/// "told", "refused", "never".
const char* name_of(Weight weight);

/// One thing in which a run differs from the first run of A.
struct WorkDifference {
    Weight weight = Weight::told;
    std::string what;    ///< "trace", "seed", "window", ..
    std::string a;       ///< of the first run of A; empty: `b` says something of `run` alone
    std::string b;       ///< of `run`
    std::string run;     ///< name of the first run that differs so
    std::string remedy;  ///< empty: there is none
};

/// The most important first; none: the same work. Neither group is empty.
std::vector<WorkDifference> work_differences(const std::vector<PlayedRun>& a,
                                             const std::vector<PlayedRun>& b);

/// The same for the shards of one replay, of which only run.json was read: in what they differ from
/// the first one. `shards` is not empty.
std::vector<WorkDifference> shard_differences(const std::vector<PlayedRun>& shards);

/// "seed: A 0, runs/b 7"; "completeness: runs/b: still goes on".
std::string text_of(const WorkDifference& difference);

/// The heaviest of them; `told` if there are none.
Weight heaviest(const std::vector<WorkDifference>& differences);

}  // namespace driftless
