/// The idle barrier: between two cells, wait until no server has a request left. Prints nothing,
/// except that a name cannot be resolved or a certificate cannot be read.
#pragma once

#include <cstdint>
#include <string>

#include "cmd/replay/flags/options.hpp"

namespace driftless {

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

}  // namespace driftless
