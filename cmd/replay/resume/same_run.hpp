/// Same run: whether this trace, schedule and these prompts are those of an earlier run, by the
/// digests in its run.json. Prints what differs and what would fix it; returns exit codes.
#pragma once

#include <cstdint>

#include "cmd/or_exit.hpp"
#include "cmd/replay/run/parts.hpp"
#include "cmd/replay/server/server.hpp"
#include "cmd/replay/workload/workload.hpp"
#include "engine/history/run_facts.hpp"

namespace driftless {

/// Sums over all rows of a plan, without sending any.
struct PromptSums {
    std::uint64_t digest = 0;
    std::uint64_t against_digest = 0;  ///< of those to --against, a part of it
    std::uint64_t clamped_rows = 0;
    std::uint64_t request_bytes = 0;
};
/// Builds every request as the run would: half a second for 100 M tokens. Prints an error if there
/// is no memory for bodies.
OrExit<PromptSums> sum_prompts(ReplayParts& parts);

/// Trace and schedule. `flag` is named in what is printed.
int check_schedule(const RunFacts& facts, const Workload& workload, const char* flag);

/// The words, what the server's template adds, and, of a run that does not know the digest of all
/// its prompts, seed, salt and dataset: with an equal schedule they make equal prompts.
int check_words(const RunFacts& facts, const ReplayParts& parts, const char* flag);

/// The prompts themselves, where the run knew its digest; else the words.
int check_prompts(const RunFacts& facts, ReplayParts& parts, const char* flag);

}  // namespace driftless
