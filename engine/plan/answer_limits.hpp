/// Answer limits: how much one answer may say before it is over its limit. Pure arithmetic; the
/// engine holds events against it as they come, the writer what the server says it counted.
#pragma once

#include <algorithm>
#include <cstdint>

#include "proto/api/dialect.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// Events, and tokens, of an answer to a row that asked for so many; 0: unknown. A server may send
/// four times the asked tokens in events, and some more for role, usage and pings. Where nothing
/// is asked (`--output free`): a bound far above any model's context.
constexpr std::uint64_t answer_events_max(std::uint32_t asked, OutputRule rule) {
    constexpr std::uint64_t events_per_token = 4;
    constexpr std::uint64_t events_extra = 64;
    constexpr std::uint64_t events_free = 4'000'000;
    return rule == OutputRule::free || asked == 0 ? events_free
                                                  : events_per_token * asked + events_extra;
}

/// Which bound an answer went over.
enum class AnswerLimit : std::int32_t {
    events = 1,  ///< events_max
    bytes,       ///< bytes_max
    head,        ///< bytes or fields of a head, or of trailers (proto/http/parsers.hpp)
};

/// Bounds on what one answer may hold, from the row's asked length. Comments (`: ping`) are not
/// events; their bytes count.
struct AnswerLimits {
    std::uint64_t events_max = 0;
    std::uint64_t bytes_max = 0;
    std::uint64_t event_bytes_max = 0;  ///< of one event, or of an answer that is not streamed
};

/// Tokens of a row's prompt, for its limits; a recorded body is taken for one in 16 bytes at least.
inline std::uint64_t prompt_tokens_of(const Trace& trace, const TraceRow& row) {
    constexpr std::uint64_t bytes_per_token = 16;
    return std::max<std::uint64_t>(row.input_length, trace.body_of(row).size() / bytes_per_token);
}

/// An event of one token is below 1 KiB on every server measured; usage and heads add some. Where
/// every event repeats all text and ids so far, those come on top; so do the ids of the prompt,
/// which some servers send back (8 bytes a token), some with their logprobs.
constexpr AnswerLimits answer_limits(std::uint64_t prompt, std::uint32_t asked, OutputRule rule,
                                     bool repeats_text) {
    constexpr std::uint64_t bytes_per_event = 4096;
    constexpr std::uint64_t bytes_extra = 16 << 20;
    constexpr std::uint64_t repeated_bytes_per_token = 32;
    constexpr std::uint64_t event_bytes = 1 << 20;
    constexpr std::uint64_t event_bytes_per_token = 64;
    AnswerLimits limits;
    limits.events_max = answer_events_max(asked, rule);
    limits.event_bytes_max = event_bytes + event_bytes_per_token * (prompt + asked);
    limits.bytes_max = limits.events_max * bytes_per_event + bytes_extra + limits.event_bytes_max;
    if (repeats_text) {
        limits.bytes_max += repeated_bytes_per_token * asked * std::uint64_t{asked};
    }
    return limits;
}

}  // namespace driftless
