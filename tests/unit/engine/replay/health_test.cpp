// The loop's own figures: the recent maximum forgets, spans go where they belong, a second is
// whole.
#include "engine/replay/health.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

// A peak stands until 64 further values have come, then it is forgotten.
TEST(RecentMax, ForgetsAPeakAfterItsWindow) {
    RecentMax<64> recent(0);
    recent.add(1000);
    for (int i = 0; i < 63; ++i) {
        recent.add(10);
        ASSERT_EQ(recent.value(), 1000);
    }
    recent.add(11);
    EXPECT_EQ(recent.value(), 11);
}

// Until a whole window has come, what was assumed before it stands.
TEST(RecentMax, BelievesTheFirstWindowOnly) {
    RecentMax<4> recent(300);
    for (const std::int64_t value : {10, 20, 30}) {
        recent.add(value);
        ASSERT_EQ(recent.value(), 300);
    }
    recent.add(15);
    EXPECT_EQ(recent.value(), 30);
    recent.add(400);
    EXPECT_EQ(recent.value(), 400);
}

// Spans of work add up by kind; only long gaps of spinning count as gaps.
TEST(Health, SumsSpansByKind) {
    Health health;
    health.begin(Instant{1000});
    health.note(Work::receive, Instant{2000}, Instant{2500});
    health.note(Work::receive, Instant{3000}, Instant{3700});
    health.note(Work::spin, Instant{4000}, Instant{4000 + Health::spin_gap_ns});
    health.note(Work::spin, Instant{5000}, Instant{5001 + Health::spin_gap_ns});
    health.note_fire(40, 7);
    health.note_fire(90, 5);
    health.note_wake(60);
    health.note_wake(20);
    EXPECT_FALSE(health.second_over(Instant{1'000'000'999}));
    EXPECT_TRUE(health.second_over(Instant{1'000'001'000}));
    const ClientSample sample = health.take(Instant{1'000'001'000});
    EXPECT_EQ(sample.busy_receive_ns, 1200);
    EXPECT_EQ(sample.turn_max_ns, 700);
    EXPECT_EQ(sample.spin_gaps, 1);
    EXPECT_EQ(sample.spin_gap_max_ns, Health::spin_gap_ns + 1);
    EXPECT_EQ(sample.rows_fired, 2);
    EXPECT_EQ(sample.drift_max_ns, 90);
    EXPECT_EQ(sample.drift_sum_ns, 130);
    EXPECT_EQ(sample.submit_max_ns, 7);
    EXPECT_EQ(sample.wakes, 2);
    EXPECT_EQ(sample.wake_error_max_ns, 60);
    EXPECT_EQ(sample.wake_error_sum_ns, 80);
    EXPECT_EQ(sample.from_ns, 1000);
    EXPECT_EQ(sample.to_ns, 1'000'001'000);
    EXPECT_EQ(health.take(Instant{2'000'001'000}).rows_fired, 0);
}

// A process that was stopped for 2.3 s in the middle of a read was not busy then; the sample of
// that time is one, and none of a few microseconds follows it.
TEST(Health, AStopIsNoWorkAndNoSecondOfItsOwn) {
    Health health;
    health.begin(Instant{0});
    health.note(Work::receive, Instant{900'000'000}, Instant{3'200'000'000});
    const ClientSample stopped = health.take(Instant{3'200'000'000});
    EXPECT_EQ(stopped.busy_receive_ns, stop_min_ns);
    EXPECT_EQ(stopped.turn_max_ns, 2'300'000'000);
    EXPECT_FALSE(health.second_over(Instant{3'999'999'999}));
    EXPECT_TRUE(health.second_over(Instant{4'000'000'000}));
    (void)health.take(Instant{4'700'000'000});  // the next would be 0.3 s long
    EXPECT_FALSE(health.second_over(Instant{5'999'999'999}));
    EXPECT_TRUE(health.second_over(Instant{6'000'000'000}));
}

}  // namespace
}  // namespace driftless
