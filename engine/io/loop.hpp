/// Loop: what the coroutines of one thread share: the driver, the ready list, the timers, the
/// frames. It is a home (task.hpp), not a policy: who turns it, and in which order of priorities,
/// is decided by its owner (the replay, the mock, the simulator).
#pragma once

#include <coroutine>
#include <cstdint>

#include "engine/base/task.hpp"
#include "engine/base/timers.hpp"
#include "engine/io/driver.hpp"
#include "proto/core/check.hpp"

namespace driftless {

class Loop {
  public:
    Loop(Driver& driver, std::size_t timers_max) : driver_(driver), timers_(timers_max) {}
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    Driver& driver() { return driver_; }
    FramePool& frames() { return frames_; }
    ReadyList& ready() { return ready_; }
    Timers& timers() { return timers_; }
    Jobs& jobs() { return jobs_; }

    /// One turn of a plain server or client without a schedule: resumes what is ready, expires
    /// timers, then lets the driver wait until the next timer, but no longer than `until`.
    /// Returns true where anything happened.
    bool turn(Instant until, Wait wait);

  private:
    Driver& driver_;
    FramePool frames_;
    ReadyList ready_;
    Timers timers_;
    Jobs jobs_;  // last: its roots end before the pool and the lists
};

/// Submits the operation and awaits its single completion: `const Completion done = co_await
/// perform(loop, op);`. For connect, send and cancel; multishot operations have handlers instead.
/// The Op stands in a lane or connection, not in the frame.
class OpAwaiter {
  public:
    OpAwaiter(Loop& loop, Op& op) : loop_(loop), op_(op) {}

    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> waiter) {
        CHECK(waiter_ == nullptr);  // awaited once
        waiter_ = &waiter.promise();
        op_.handler = &OpAwaiter::complete;
        op_.owner = this;
        loop_.driver().submit(op_);
    }
    Completion await_resume() const { return done_; }

  private:
    static void complete(Op& op, const Completion& completion) {
        OpAwaiter& self = *static_cast<OpAwaiter*>(op.owner);
        CHECK(&self.op_ == &op);
        CHECK(!completion.more && !op.in_flight());  // a multishot has a handler of its own
        self.done_ = completion;
        self.waiter_->ready->push(*self.waiter_);
    }

    Loop& loop_;
    Op& op_;
    PromiseBase* waiter_ = nullptr;
    Completion done_;
};

/// Asks once, by `cancel`, that `target` ends; nothing where neither is to be done. Once, as a
/// cancel ends at once: asked again and again, a loop would see nothing else. `spec.target` of the
/// one is the memory: it is null when a connection begins.
inline void cancel_once(Driver& driver, Op& cancel, Op& target) {
    if (target.in_flight() && !cancel.in_flight() && cancel.spec.target != &target) {
        cancel.spec.kind = OpKind::cancel;
        cancel.spec.target = &target;
        driver.submit(cancel);
    }
}

inline OpAwaiter perform(Loop& loop, Op& op) {
    return OpAwaiter(loop, op);
}

}  // namespace driftless
