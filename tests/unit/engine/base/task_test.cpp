// Time, coroutines, timers, and hashes under a key.

#include "engine/base/task.hpp"

#include "engine/base/keyed_hash.hpp"
#include "engine/base/time.hpp"
#include "proto/core/hash.hpp"
#include "tests/unit/texts.hpp"

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

// The offset between two clocks: the tightest reading wins, a wide one says nothing new, a step is
// seen and counted.

constexpr std::int64_t ahead = 1'700'000'000'000'000'000;

ClockReading reading(std::int64_t at_ns, std::int64_t bracket_ns, std::int64_t offset_ns) {
    return {at_ns, at_ns + bracket_ns / 2 + offset_ns, at_ns + bracket_ns};
}

TEST(ClockOffset, TheTightestReadingWinsAndAStepIsSeen) {
    ClockOffset clock;
    const ClockReading readings[] = {reading(0, 5'000, ahead + 400), reading(9'000, 80, ahead),
                                     reading(20'000, 300, ahead - 70)};
    clock.take(readings, 3);
    EXPECT_EQ(std::tuple(clock.sample().offset_ns, clock.sample().error_ns), std::tuple(ahead, 80));
    EXPECT_EQ(clock.sample().steps, 0u);
    EXPECT_EQ(clock.to_monotonic_ns(ahead + 123), 123);
    ClockOffset unread;
    unread.take(nullptr, 0);
    EXPECT_EQ(unread.sample().steps, 0u);
    const ClockReading tight = reading(0, 80, ahead);
    unread.take(&tight, 1);
    unread.take(nullptr, 0);
    EXPECT_EQ(unread.sample().offset_ns, ahead);
    EXPECT_EQ(unread.sample().error_ns, 80);
    ClockOffset known;
    const ClockReading first = reading(0, 80, ahead);
    const ClockReading wide = reading(1'000'000, 400'000, ahead + 150'000);
    known.take(&first, 1);
    known.take(&wide, 1);
    EXPECT_EQ(std::tuple(known.sample().offset_ns, known.sample().error_ns), std::tuple(ahead, 80));
    EXPECT_EQ(known.sample().steps, 0u);
    ClockOffset other_clock;
    const ClockReading before = reading(0, 80, ahead);
    const ClockReading nearly = reading(1'000'000, 80, ahead + 1'000);
    const ClockReading stepped = reading(2'000'000, 80, ahead + 50'000'000);
    const ClockReading other_wide = reading(3'000'000, 10'000, ahead - 50'000'000);
    other_clock.take(&before, 1);
    other_clock.take(&nearly, 1);
    EXPECT_EQ(other_clock.sample().steps, 0u);
    other_clock.take(&stepped, 1);
    EXPECT_EQ(other_clock.sample().steps, 1u);
    EXPECT_EQ(other_clock.sample().offset_ns, ahead + 50'000'000);
    other_clock.take(&other_wide, 1);
    EXPECT_EQ(other_clock.sample().steps, 2u);
    EXPECT_EQ(other_clock.sample().offset_ns, ahead - 50'000'000);
}

// Timers fire in order of their deadlines, whatever the order of setting, moving and clearing.

struct Log {
    std::vector<std::int64_t> fired;
};

void note(Timer& timer, Instant) {
    static_cast<Log*>(timer.owner)->fired.push_back(timer.at().ns);
}

// A thousand timers set, moved and cleared at random fire exactly once each, earliest first.
TEST(Timers, FireInOrderAndNotBefore) {
    Random random(7);
    Log log;
    Timers timers(1000);
    std::vector<std::unique_ptr<Timer>> all;
    for (int i = 0; i < 1000; ++i) {
        all.push_back(std::make_unique<Timer>());
        all.back()->handler = note;
        all.back()->owner = &log;
        timers.set(*all.back(), Instant{static_cast<std::int64_t>(random.below(5000))});
    }
    std::vector<std::int64_t> expected;
    for (auto& timer : all) {
        const auto choice = random.below(3);
        if (choice == 0) {
            timers.clear(*timer);
        } else if (choice == 1) {
            timers.set(*timer, Instant{static_cast<std::int64_t>(random.below(5000))});
        }
        if (timer->set()) {
            expected.push_back(timer->at().ns);
        }
    }
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(timers.next().ns, expected.front());
    while (timers.expire(Instant{5000}, 7) > 0) {
    }
    EXPECT_EQ(log.fired, expected);
    EXPECT_EQ(timers.next(), never);
    // A timer that is due one nanosecond later does not fire.
    Log other_log;
    Timers other_timers(1);
    Timer timer;
    timer.handler = note;
    timer.owner = &other_log;
    other_timers.set(timer, Instant{100});
    EXPECT_EQ(other_timers.expire(Instant{99}, 1), 0u);
    EXPECT_EQ(other_timers.expire(Instant{100}, 1), 1u);
    EXPECT_FALSE(timer.set());
}

// The keyed hash is HMAC-SHA-256 as RFC 4231 has it, value after value under one secret.

std::string hex_of(KeyedHash& hash, std::string_view text) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
    std::string hex;
    for (const unsigned char byte : hash.of({bytes, text.size()})) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", byte);
        hex += digits;
    }
    return hex;
}

// RFC 4231, 4.2 to 4.4 and 4.7 (a key longer than a block of SHA-256).
TEST(KeyedHash, IsTheOneOfTheRfcAndWipesASecret) {
    KeyedHash one = KeyedHash::create(std::string(20, '\x0b')).value();
    const char* const hi = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
    EXPECT_EQ(hex_of(one, "Hi There"), hi);
    EXPECT_NE(hex_of(one, "Hi there"), hi);
    EXPECT_EQ(hex_of(one, "Hi There"), hi);
    KeyedHash jefe = KeyedHash::create("Jefe").value();
    EXPECT_EQ(hex_of(jefe, "what do ya want for nothing?"),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    KeyedHash bytes = KeyedHash::create(std::string(20, '\xaa')).value();
    EXPECT_EQ(hex_of(bytes, std::string(50, '\xdd')),
              "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    KeyedHash large = KeyedHash::create(std::string(131, '\xaa')).value();
    EXPECT_EQ(hex_of(large, "Test Using Larger Than Block-Size Key - Hash Key First"),
              "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    std::string secret = "a secret that is long enough to stand on the heap";
    const char* const other_bytes = secret.data();
    const std::size_t size = secret.size();
    wipe(secret);
    EXPECT_TRUE(secret.empty());
    secret.reserve(1);  // the same storage
    EXPECT_FALSE(says(std::string(other_bytes, size), "secret"));
}

}  // namespace
}  // namespace driftless
