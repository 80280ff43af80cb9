/// The Mooncake format (FAST'25) and its dialects: JSONL, `timestamp` in ms, `input_length`,
/// `output_length`, and `hash_ids`, one id per block of 512 tokens, the partial last block
/// included.
///
/// AIPerf's dialect adds `session_id` and `delay` (ms after the turn before); Dynamo's has the
/// aliases `created_time`, `input_tokens`, `output_tokens`, `delay_ms` and ids of 64 bits. Rows in
/// words have a text, messages or a body (mooncake_words.hpp), or are bodies themselves. Ids are
/// global to a file. Sources: kvcache-ai/Mooncake, FAST25-release/README.md; trace-formats sections
/// 1 and 2.
#pragma once

#include <cstdint>

#include "proto/trace/format.hpp"

namespace driftless {

extern const TraceFormat mooncake_format;
/// The same rows, of which those of a session hold only what is new (session_pieces.hpp).
extern const TraceFormat mooncake_delta_format;

/// Tokens of a block where a reader is not told another size.
inline constexpr std::uint32_t mooncake_block_size = 512;

/// The nearest whole millisecond, in nanoseconds, as the format's times are written. Readers refuse
/// a fraction as a time that may be in seconds, and ours does; rounding keeps the order.
std::int64_t whole_ms(std::int64_t at_ns);

}  // namespace driftless
