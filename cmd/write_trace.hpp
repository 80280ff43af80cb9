/// Writing a trace to a new file or to standard output, as convert and synth do.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "proto/trace/write.hpp"

namespace driftless {

/// Writes all rows, then says on `say` what the format could not hold and what was written. `path`
/// is what `--out` names. Returns the exit code; what failed is printed.
int write_trace(const Trace& trace, const TraceTarget& target, std::vector<WrittenRow> rows,
                const std::string& path, std::FILE* say);

}  // namespace driftless
