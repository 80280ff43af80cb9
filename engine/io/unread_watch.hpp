/// UnreadWatch: the latest instant at which nothing was waiting to be read. Plain values; it reads
/// no clock.
///
/// A look that finds nothing sets it. A look that finds the kernel's flag does not, because the
/// flag may be stale; an entry that then brings nothing confirms the look before it.
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
