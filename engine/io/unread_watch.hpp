/// UnreadWatch: since when something may have been waiting to be read, as one who looks now and
/// then can know it. Plain values; it reads no clock.
///
/// A look that finds nothing waiting is proof. One that finds a flag is none: the kernel may raise
/// it behind work that was done meanwhile, and then keeps it until the next arrival, however often
/// it is entered. But an entry that lets it run all that it has, and brings nothing, is proof for
/// the look before it.
#pragma once

#include <algorithm>

#include "engine/time/instant.hpp"

namespace driftless {

class UnreadWatch {
  public:
    explicit UnreadWatch(Instant now = {}) : looked_(now), since_(now) {}

    /// A look at `now`, or after it.
    void look(Instant now, bool may_wait) {
        looked_ = now;
        since_ = may_wait ? since_ : now;
    }
    /// After the latest look the kernel was let run what it had, and nothing came of it.
    void nothing_came() { since_ = std::max(since_, looked_); }

    Instant since() const { return since_; }

  private:
    Instant looked_;
    Instant since_;
};

}  // namespace driftless
