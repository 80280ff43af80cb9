/// "synth:KIND FLAGS" in place of a trace: what `driftless synth KIND FLAGS` writes, without a
/// file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/input/trace_file.hpp"

namespace driftless {

inline constexpr std::string_view made_scheme = "synth:";

/// Whether one of the paths is such a workload.
bool names_made_trace(const std::vector<std::string>& paths);

/// Makes and reads it. Returns the exit code; what is wrong is printed, but for `errors`.
int read_made_trace(const TraceFiles& files, Trace& out, InputErrors& errors,
                    std::vector<std::string>& notes);

}  // namespace driftless
