/// The Qwen (Bailian) format: JSONL, `timestamp` in seconds, `input_length`, `output_length`, and
/// `hash_ids`, one id per block of 16 tokens, the partial last block included.
///
/// `chat_id` names a request and `parent_chat_id` the turn before it (-1: none), so that a chain of
/// them is a session, named by its first. Ids may name contents wherever they stand (files A and B)
/// or whole prefixes. Source: alibaba-edu/qwen-bailian-usagetraces-anon, README.md; trace-formats
/// section 4.
#pragma once

#include "proto/trace/format.hpp"

namespace driftless {

extern const TraceFormat qwen_format;

}  // namespace driftless
