/// ResendMeter: what TCP sent again for one exchange, from the counts of its whole connection.
///
/// An acknowledgement that came late makes the kernel send in vain; then the server says that it
/// has the bytes twice (DSACK). That word can reach us when the exchange is over, in the middle of
/// the next one, and must not stand against a loss of that: the words that earlier exchanges are
/// still owed come first. Words that never come, because the bytes were lost, stay owed: a later
/// exchange of that connection may count as lost though it was not, never the reverse. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/io/driver.hpp"
#include "proto/core/check.hpp"

namespace driftless {

class ResendMeter {
  public:
    /// From here on all that is sent again is of an exchange.
    explicit ResendMeter(ResendCounts base) : base_(base) {}

    struct Spent {
        std::uint32_t segments = 0;
        bool lost = false;  ///< for some of them the server has not said that it had them
        /// The server has said more such words than the kernel sent segments again: the network
        /// makes copies itself, and no such word excuses anything.
        bool copied = false;
    };
    /// The exchange is over: all that was sent again since its base is its own.
    Spent take(ResendCounts counted) {
        const std::uint32_t segments = counted.segments - base_.segments;
        const std::uint32_t words = counted.duplicates - base_.duplicates;
        const std::uint32_t unanswered = owed_ + segments - std::min(words, owed_ + segments);
        CHECK(unanswered <= owed_ + segments);
        owed_ = unanswered;
        base_ = counted;
        return {segments, segments > 0 && unanswered > 0, counted.duplicates > counted.segments};
    }

  private:
    ResendCounts base_;
    std::uint32_t owed_ = 0;  ///< sent again by exchanges that are over, and not said to be there
};

}  // namespace driftless
