/// Plays a sweep: cell by cell, and between two cells waits until no server has a request left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cmd/flags/options.hpp"
#include "cmd/runs/sweep_ledger.hpp"

namespace driftless {

// Requests that a server works on, from the text of its /metrics page. Pure.

/// The sum of all running and waiting requests that the page has, over all engines and models; by
/// the names of vLLM, SGLang, TGI, llama.cpp and Dynamo. Nothing where it has none of them.
std::optional<double> busy_requests(std::string_view page);

// The idle barrier: between two cells, wait until no server has a request left. Prints nothing,
// except that a name cannot be resolved or a certificate cannot be read.

enum class IdleOutcome : std::uint8_t {
    idle,     ///< its counters were 0 three times, 0.5 s apart
    unknown,  ///< it has no counters that we know; it had 2 s of quiet
    busy,     ///< requests were left at the limit
    stopped,  ///< the user asked to stop
};

struct IdleEnd {
    IdleOutcome outcome = IdleOutcome::idle;
    std::string note;  ///< one clause, where it is not idle
};

/// Asks /metrics of every target of these flags. `stops` as in `run_hook`.
IdleEnd wait_until_idle(const ReplayOptions& options, std::int64_t limit_ns, int stops);

// Plays a sweep: cell by cell, with hooks, idle barrier and files around each.

/// Plays every cell of the ledger that has not ended, in order; writes the files into `folder`
/// after each step, prints a line per cell and a table. The caller holds the folder's lock and has
/// called `count_stop_requests`. `key` is the value of OPENAI_API_KEY. Returns the exit code.
int play_sweep(Ledger& ledger, const std::string& folder, const std::string& key);

}  // namespace driftless
