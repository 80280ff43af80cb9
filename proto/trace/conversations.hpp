/// Conversations without times, an object each: ShareGPT's `conversations` of `from` and `value`,
/// and the `messages` of `role` and `content` that vLLM's benchmark of several turns reads.
///
/// A row is a question that an answer follows, with everything said before it, recorded answers
/// too. Neither has times nor lengths. Sources: ShareGPT_V3 (trace-formats 10); vllm-project/vllm,
/// benchmarks/multi_turn/README.md.
#pragma once

#include "proto/trace/format.hpp"

namespace driftless {

extern const TraceFormat sharegpt_format;
extern const TraceFormat vllm_multi_turn_format;

/// Whether a row of messages is a conversation with answers whose questions are asked one by one,
/// not a request: it has nothing beside them but an id, and without an id it ends with an answer.
bool is_only_conversation(const JsonValue& row);

}  // namespace driftless
