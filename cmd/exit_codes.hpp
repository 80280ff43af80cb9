/// What the program ends with: one list for all commands (design, section 4).
#pragma once

namespace driftless {

inline constexpr int exit_done = 0;        ///< failed requests are data, not a failed run
inline constexpr int exit_usage = 2;       ///< flags; an output folder that exists
inline constexpr int exit_input = 3;       ///< the trace, or the tokenizer, is refused
inline constexpr int exit_preflight = 4;   ///< the server cannot be reached, or refuses probes
inline constexpr int exit_no_success = 5;  ///< not one answer was whole
/// `--require-certified`, and it is not; `--require-rules`, and one is violated
inline constexpr int exit_not_certified = 6;
inline constexpr int exit_host = 7;           ///< io_uring denied, limits, disk full
inline constexpr int exit_threshold = 8;      ///< a figure lies beyond a `--fail-if`
inline constexpr int exit_interrupted = 130;  ///< SIGINT or SIGTERM

}  // namespace driftless
