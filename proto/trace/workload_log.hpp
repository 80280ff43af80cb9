/// evalscope's workload traces: a log of request bodies and the times at which they came
/// (github.com/modelscope/evalscope, perf plugin `workload_trace`).
///
/// `timestamp` is seconds as a number or as text, or an ISO-8601 time; `completion_tokens` is how
/// long the answer was. Headers of rows are not sent. Lines of OpenAI's Batch are the same without
/// times: `custom_id`, `method`, `url`, `body`.
#pragma once

#include "proto/trace/format.hpp"

namespace driftless {

extern const TraceFormat workload_log_format;

}  // namespace driftless
