/// ResendMeter: what TCP sent again for one exchange, from the counts of its whole connection.
///
/// An acknowledgement that came late makes the kernel send in vain; then the server says that it
/// has the bytes twice (DSACK). That can reach us when the exchange is over. It belongs to none of
/// the later ones, and must not stand against a loss of theirs: so where such a word is still owed,
/// the base is read anew right before a send. Pure.
#pragma once

#include <cstdint>

#include "engine/io/driver.hpp"

namespace driftless {

class ResendMeter {
  public:
    explicit ResendMeter(ResendCounts base) : base_(base) {}

    /// More was sent again so far than the server has said that it had: more such words may come.
    bool owes_words() const { return base_.segments > base_.duplicates; }
    /// The exchange is about to be sent.
    void begin(ResendCounts counted) { base_ = counted; }

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
        const std::uint32_t duplicates = counted.duplicates - base_.duplicates;
        base_ = counted;
        return {segments, segments > duplicates, counted.duplicates > counted.segments};
    }

  private:
    ResendCounts base_;
};

}  // namespace driftless
