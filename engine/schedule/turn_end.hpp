/// TurnEnd: how a request ended, as far as it matters to those that wait for it. A plain value.
#pragma once

#include <cstdint>

namespace driftless {

struct TurnEnd {
    bool answered = false;  ///< by a whole answer
    /// Its client gave it up, by plan: a user who goes on with the next turn. It is not sent again.
    bool is_abandoned = false;
    bool is_429 = false;
    /// Of a 429: when its server says that the request may come again, from its end.
    std::int64_t retry_after_ns = unknown;

    static constexpr std::int64_t unknown = -1;

    /// Others go on behind it.
    bool goes_on() const { return answered || is_abandoned; }

    // NOLINTNEXTLINE(google-explicit-constructor): most ends say nothing else.
    TurnEnd(bool is_answered) : answered(is_answered) {}
};

/// How long nothing is sent in the place of what has failed so often in a row, from 1: a server
/// that refuses all at once is not asked again at once.
constexpr std::int64_t failure_pause_ns(std::uint32_t failures) {
    constexpr std::int64_t first_ns = 100'000'000;
    constexpr std::int64_t longest_ns = 30'000'000'000;
    constexpr std::uint32_t doublings_max = 9;
    const std::uint32_t doublings = failures == 0 ? 0 : failures - 1;
    const std::int64_t pause_ns = first_ns
                                  << (doublings < doublings_max ? doublings : doublings_max);
    return pause_ns < longest_ns ? pause_ns : longest_ns;
}

}  // namespace driftless
