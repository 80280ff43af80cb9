// Tasks: children that end at once and children that wait, values, signals, and flat stacks.
#include "engine/base/task.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

struct Home {
    FramePool frames_;
    ReadyList ready_;
    FramePool& frames() { return frames_; }
    ReadyList& ready() { return ready_; }
};

Task<int> answer_at_once(Home&, int value) {
    co_return value;
}

Task<int> answer_after(Home&, Signal& signal, int value) {
    co_await signal.wait();
    co_return value;
}

Task<void> sum(Home& home, Signal& signal, int& out) {
    const int first = co_await answer_at_once(home, 1);
    const int second = co_await answer_after(home, signal, 2);
    out = first + second;
}

// A root that awaits a waiting child goes on when the signal comes, and its frame is freed by reap.
TEST(Task, ChildrenAtOnceAndLater) {
    Home home;
    Jobs jobs;
    Signal signal;
    int out = 0;
    jobs.spawn(sum(home, signal, out));
    EXPECT_EQ(out, 0);
    EXPECT_EQ(jobs.live(), 1u);
    signal.notify();
    EXPECT_EQ(home.ready_.run(100), 2u);  // the child, then its parent
    EXPECT_EQ(out, 3);
    jobs.reap();
    EXPECT_EQ(jobs.live(), 0u);
    EXPECT_EQ(home.frames_.marks().live, 0u);
}

Task<void> count_down(Home& home, int rounds, int& out) {
    for (int i = 0; i < rounds; ++i) {
        const int one = co_await answer_at_once(home, 1);
        out += one;
    }
}

// A million children that end at once need no more stack than one: no symmetric transfer.
TEST(Task, SynchronousChildrenDoNotGrowTheStack) {
    Home home;
    Jobs jobs;
    int out = 0;
    jobs.spawn(count_down(home, 1'000'000, out));
    EXPECT_EQ(out, 1'000'000);
    jobs.reap();
    EXPECT_LE(home.frames_.marks().live_max, 2u);
}

// A notification that comes before the wait is kept, once.
TEST(Signal, KeepsOneNotification) {
    Home home;
    Jobs jobs;
    Signal signal;
    int out = 0;
    signal.notify();
    signal.notify();
    jobs.spawn(sum(home, signal, out));
    EXPECT_EQ(out, 3);
    jobs.reap();
    int again = 0;
    jobs.spawn(sum(home, signal, again));
    EXPECT_EQ(again, 0);
    signal.notify();
    home.ready_.run(10);
    EXPECT_EQ(again, 3);
}

Task<void> count_waits(Home&, Signal& signal, int& waits) {
    while (waits < 2) {
        co_await signal.wait();
        ++waits;
    }
}

// A second notification, after the waiter became ready and before it goes on, is not lost: the wait
// that follows ends at once.
TEST(Signal, KeepsANotificationBetweenReadyAndResumed) {
    Home home;
    Jobs jobs;
    Signal signal;
    int waits = 0;
    jobs.spawn(count_waits(home, signal, waits));
    signal.notify();
    signal.notify();
    home.ready_.run(10);
    EXPECT_EQ(waits, 2);
}

}  // namespace
}  // namespace driftless
