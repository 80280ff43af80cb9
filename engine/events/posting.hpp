/// Posting: one POST of an event, on its way. A job of the event thread's loop; it owns its
/// connection, and ends by itself within its time limit.
#pragma once

#include <optional>

#include "engine/events/planned_event.hpp"
#include "engine/preflight/inquiry.hpp"

namespace driftless {

class Posting {
  public:
    /// `event` outlives this.
    Posting(Loop& loop, const PlannedEvent& event, Duration limit)
        : loop_(loop), inquiry_(loop), event_(event), limit_(limit) {}
    Posting(const Posting&) = delete;
    Posting& operator=(const Posting&) = delete;

    void begin() { loop_.jobs().spawn(ask()); }
    /// Gives it up: it ends soon.
    void cancel() { inquiry_.cancel(); }
    /// Nothing while it is on its way.
    const std::optional<Result<Reply>>& answer() const { return answer_; }

    // Home of its coroutines (task.hpp).
    FramePool& frames() { return loop_.frames(); }
    ReadyList& ready() { return loop_.ready(); }

  private:
    /// Root job; ends in `answer_`.
    Task<void> ask();

    Loop& loop_;
    Inquiry inquiry_;
    const PlannedEvent& event_;
    Duration limit_;
    std::optional<Result<Reply>> answer_;
};

}  // namespace driftless
