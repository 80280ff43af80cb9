/// read_made: a synthetic workload in, the Trace out that its text would be read as.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/input/trace_file.hpp"
#include "engine/synth/spec.hpp"
#include "proto/trace/write.hpp"

namespace driftless {

/// Makes the text that `driftless synth` writes, line by line, and reads it as `read_trace` reads a
/// file of that `name`: the same rows, ids and digest. `files` says how; its paths are not read.
bool read_made(const SynthSpec& spec, std::string_view name, const TraceTarget& target,
               const TraceFiles& files, Trace& out, InputErrors& errors,
               std::vector<std::string>& notes);

}  // namespace driftless
