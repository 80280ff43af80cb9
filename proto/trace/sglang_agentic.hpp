/// SGLang's `agentic-trace`: one object with all conversations, each a list of turns.
///
/// `{"metadata":{},"conversations":[[{"messages":[..],"prompt_tokens":N},..]]}`: a turn holds its
/// new messages alone, without answers, and how long its whole prompt was. No times, no lengths of
/// answers; turns without messages ask nothing. Source: sgl-project/sglang,
/// python/sglang/benchmark/datasets/agentic_trace.py.
#pragma once

#include "proto/trace/format.hpp"

namespace driftless {

extern const TraceFormat sglang_agentic_format;

}  // namespace driftless
