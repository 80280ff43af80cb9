/// Answer limits: how much one answer may say before it is over its limit. Pure arithmetic; the
/// engine holds events against it as they come, the writer what the server says it counted.
#pragma once

#include <cstdint>

#include "proto/api/dialect.hpp"

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

}  // namespace driftless
