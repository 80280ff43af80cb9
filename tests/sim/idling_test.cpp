// Between two rows: the guard and the margin follow the host, sleeps end in time, and one byte
// warms the path for a row that comes alone.
#include <gtest/gtest.h>

#include "engine/replay/between_fires.hpp"
#include "engine/replay/settings.hpp"
#include "tests/sim/sim_driver.hpp"

namespace driftless::sim {
namespace {

constexpr Instant start{2'000'000'000};

struct Idle {
    explicit Idle(const ReplaySettings& with = {}) : settings(with) {}

    /// The guard before so many instants, after slices of this length.
    Duration guard(Duration slice, std::int64_t instants) {
        idling.note_slice(slice);
        idling.set_guard(instants);
        return idling.guard();
    }
    /// Wakes have been so late for a long time.
    void wake_late(Duration late, int times = 1024) {
        for (int i = 0; i < times; ++i) {
            woke = woke + milliseconds(10);
            idling.note_wake(woke - late, woke);
        }
    }

    const ReplaySettings settings;
    SimDriver driver{1, Weather{}, mock::CoreOptions{}};
    Idling idling{driver, settings};
    Instant woke = start;
};

ReplaySettings waiting(WaitPolicy wait, bool warm_sends = false) {
    return {.wait = wait, .warm_sends = warm_sends};
}

// A fifth more than the longest of the last 64 slices, between 20 and 150 us.
TEST(Idling, TheGuardIsAsLongAsASliceMayTake) {
    Idle idle;
    EXPECT_EQ(idle.idling.guard(), guard_min);
    EXPECT_EQ(idle.guard(microseconds(10), 1), guard_min);
    EXPECT_EQ(idle.guard(microseconds(100), 1), microseconds(120));
    EXPECT_EQ(idle.guard(microseconds(10), 1), microseconds(120)) << "it happened just now";
    EXPECT_EQ(idle.guard(microseconds(900), 1), microseconds(150));
    for (int i = 0; i < 64; ++i) {
        idle.idling.note_slice(microseconds(10));
    }
    EXPECT_EQ(idle.guard(microseconds(10), 1), guard_min);
}

// Rows that follow each other closely leave a fifth of the time to their guards: of 1 ms.
TEST(Idling, GuardsTakeAFifthOfTheTimeAtMost) {
    Idle idle;
    EXPECT_EQ(idle.guard(microseconds(100), 0), microseconds(120));
    EXPECT_EQ(idle.guard(microseconds(100), 2), microseconds(100));
    EXPECT_EQ(idle.guard(microseconds(100), 20), microseconds(10));
    EXPECT_EQ(idle.guard(microseconds(100), 1000), microseconds(5)) << "and never less than this";
}

TEST(Idling, ThereIsNoGuardWhereNoneIsWanted) {
    ReplaySettings settings;
    settings.guard = false;
    Idle idle(settings);
    EXPECT_EQ(idle.guard(microseconds(100), 1), Duration{0});
}

// A fifth more than wakes are late, between 50 and 300 us: up at once, down after 1,024 wakes.
TEST(Idling, TheMarginIsAsLongAsAWakeMayBeLate) {
    Idle idle;
    EXPECT_EQ(idle.idling.margin(), margin_max);
    idle.wake_late(microseconds(100), 1023);
    EXPECT_EQ(idle.idling.margin(), margin_max);
    idle.wake_late(microseconds(100), 1);
    EXPECT_EQ(idle.idling.margin(), microseconds(120));
    idle.wake_late(microseconds(200), 1);
    EXPECT_EQ(idle.idling.margin(), microseconds(240));
    idle.wake_late(milliseconds(5), 1);
    EXPECT_EQ(idle.idling.margin(), margin_max);
    idle.wake_late(microseconds(1));
    EXPECT_EQ(idle.idling.margin(), microseconds(50));
}

// Many short sleeps in a row are one observation.
TEST(Idling, AWakeCountsOnceIn10Ms) {
    Idle idle;
    idle.wake_late(microseconds(100));
    const Instant soon = idle.woke + milliseconds(10) - Duration{1};
    idle.idling.note_wake(soon - microseconds(200), soon);
    EXPECT_EQ(idle.idling.margin(), microseconds(120));
    idle.idling.note_wake(soon - microseconds(200), soon + Duration{1});
    EXPECT_EQ(idle.idling.margin().ns, 200'001 * 6 / 5);
}

// The sleep ends the margin before the row, at the next timer or after the nap, whichever is first.
TEST(Idling, SleepsUntilTheFirstThatItMustNotMiss) {
    Idle idle;
    const Instant now = idle.driver.now();
    const Instant due = now + milliseconds(10);
    const Idling::Pause to_due = idle.idling.wait(now, due, never, seconds(1));
    EXPECT_TRUE(to_due.slept);
    EXPECT_FALSE(to_due.spun);
    EXPECT_EQ(to_due.until, due - margin_max);
    EXPECT_GE(idle.driver.now(), due - margin_max);
    EXPECT_LT(idle.driver.now(), due);

    const Instant later = idle.driver.now();
    const Instant far = later + seconds(1);
    EXPECT_EQ(idle.idling.wait(later, far, later + milliseconds(2), seconds(1)).until,
              later + milliseconds(2));
    const Instant last = idle.driver.now();
    EXPECT_EQ(idle.idling.wait(last, far, never, milliseconds(3)).until, last + milliseconds(3));
}

// A sleep of no more than 20 us is not worth it.
TEST(Idling, SpinsWhereASleepWouldBeTooShort) {
    for (const Duration beyond : {Duration{0}, Duration{1}}) {
        Idle idle;
        const Instant now = idle.driver.now();
        const Instant due = now + margin_max + guard_min + beyond;
        EXPECT_EQ(idle.idling.wait(now, due, never, seconds(1)).spun, beyond.ns == 0);
    }
}

TEST(Idling, SpinsAllTheTimeWhereThatIsAskedFor) {
    Idle idle(waiting(WaitPolicy::spin));
    const Instant now = idle.driver.now();
    EXPECT_TRUE(idle.idling.wait(now, now + seconds(1), never, seconds(1)).spun);
    EXPECT_LT(idle.driver.now(), now + microseconds(10));
}

TEST(Idling, SleepsUntilTheInstantWhereThatIsAskedFor) {
    Idle idle(waiting(WaitPolicy::sleep));
    const Instant now = idle.driver.now();
    const Instant due = now + milliseconds(1);
    EXPECT_EQ(idle.idling.wait(now, due, never, seconds(1)).until, due);
}

// Between 100 us and what a send may take before the row, and never twice for one.
TEST(Idling, WarmsThePathOnceForARowThatComesAlone) {
    Idle idle(waiting(WaitPolicy::hybrid, true));
    const Instant due = start + seconds(1);
    const Duration latest = guard_min + microseconds(40);
    EXPECT_FALSE(idle.idling.warm_send(due - microseconds(100) - Duration{1}, due, start));
    EXPECT_FALSE(idle.idling.warm_send(due - latest + Duration{1}, due, start));
    EXPECT_EQ(idle.driver.warm_sends(), 0u);
    EXPECT_TRUE(idle.idling.warm_send(due - latest, due, start));
    EXPECT_FALSE(idle.idling.warm_send(due - latest, due, start));
    EXPECT_EQ(idle.driver.warm_sends(), 1u);
    const Instant next = due + seconds(1);
    EXPECT_TRUE(idle.idling.warm_send(next - microseconds(100), next, start));
    EXPECT_EQ(idle.driver.warm_sends(), 2u);
}

TEST(Idling, WarmsNoPathThatIsWarm) {
    Idle idle(waiting(WaitPolicy::hybrid, true));
    const Instant due = start + seconds(1);
    const Instant now = due - microseconds(80);
    EXPECT_FALSE(idle.idling.warm_send(now, due, now - milliseconds(1) + Duration{1}));
    EXPECT_FALSE(idle.idling.warm_send(now, never, start));
    EXPECT_TRUE(idle.idling.warm_send(now, due, now - milliseconds(1)));
    Idle cold;
    EXPECT_FALSE(cold.idling.warm_send(now, due, start)) << "nobody asked for it";
}

}  // namespace
}  // namespace driftless::sim
