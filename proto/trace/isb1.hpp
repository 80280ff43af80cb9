/// ISB-1 bundles: one object with `exports`, a cell for each conversation, stack and GPU.
///
/// Of `inferencex_multiturn` a cell has `session.turns[]` of `messages`, of
/// `inferencex_trace_replay` `events[]` of `input_messages`; both hold all that was said so far.
/// Waits count from the answer before: `wait_before_ms`, or the distance of two
/// `arrival_time_offset_ms`. A conversation stands in several cells: the first one is read. Events
/// in files beside the bundle (`prefix_ref`) are refused. Source: SemiAnalysisAI/InferenceX, pull
/// request 1032: datasets/isb1, tools/isb1_to_kvcache_tester.py,
/// utils/bench_serving/benchmark_export_replay.py.
#pragma once

#include "proto/trace/format.hpp"

namespace driftless {

extern const TraceFormat isb1_format;

}  // namespace driftless
