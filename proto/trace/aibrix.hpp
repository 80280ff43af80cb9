/// AIBrix's workload files: JSON lines, each an instant in milliseconds with the list of requests
/// that leave then.
///
/// A request has its text (`prompt`), its lengths (`prompt_length`, `output_length`; older files
/// spell them `Prompt Length`, `Output Length`), or both: text is sent as it was recorded. Requests
/// of one `session_id` are turns of it. Source: vllm-project/aibrix,
/// benchmarks/generator/workload_generator.
#pragma once

#include "proto/trace/format.hpp"

namespace driftless {

extern const TraceFormat aibrix_format;

}  // namespace driftless
