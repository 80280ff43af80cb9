/// The Mooncake format (FAST'25): JSONL, `timestamp` in ms, `input_length`, `output_length`, and
/// `hash_ids`, one id per block of 512 tokens, the partial last block included.
///
/// Aliases of its Dynamo dialect are read: `created_time`, `input_tokens`, `output_tokens`. Ids are
/// global to a file. Source: kvcache-ai/Mooncake, FAST25-release/README.md; trace-formats
/// section 1.
#pragma once

#include "proto/trace/format.hpp"

namespace driftless {

/// Most tokens in one row: over ten times the longest context that any server offers. Keeps sums
/// and buffer sizes of a row far inside their types.
inline constexpr std::uint32_t row_tokens_max = 1U << 27;

extern const TraceFormat mooncake_format;

}  // namespace driftless
