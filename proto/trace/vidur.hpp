/// vidur's request traces: CSV with `arrived_at` in seconds, `num_prefill_tokens` and
/// `num_decode_tokens`. No block ids and no sessions: every prompt is private. Source:
/// microsoft/vidur, data/processed_traces.
#pragma once

#include "proto/trace/format.hpp"

namespace driftless {

extern const TraceFormat vidur_format;

}  // namespace driftless
