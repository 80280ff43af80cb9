// The offset between two clocks: the tightest reading wins, a wide one says nothing new, a step is
// seen and counted.
#include "engine/base/time.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

constexpr std::int64_t ahead = 1'700'000'000'000'000'000;

ClockReading reading(std::int64_t at_ns, std::int64_t bracket_ns, std::int64_t offset_ns) {
    return {at_ns, at_ns + bracket_ns / 2 + offset_ns, at_ns + bracket_ns};
}

TEST(ClockOffset, TheTightestReadingWins) {
    ClockOffset clock;
    const ClockReading readings[] = {reading(0, 5'000, ahead + 400), reading(9'000, 80, ahead),
                                     reading(20'000, 300, ahead - 70)};
    clock.take(readings, 3);
    EXPECT_EQ(clock.sample().offset_ns, ahead);
    EXPECT_EQ(clock.sample().error_ns, 80);
    EXPECT_EQ(clock.sample().steps, 0u);
    EXPECT_EQ(clock.to_monotonic_ns(ahead + 123), 123);
}

TEST(ClockOffset, NoReadingSaysNothing) {
    ClockOffset clock;
    clock.take(nullptr, 0);
    EXPECT_EQ(clock.sample().steps, 0u);
    const ClockReading tight = reading(0, 80, ahead);
    clock.take(&tight, 1);
    clock.take(nullptr, 0);
    EXPECT_EQ(clock.sample().offset_ns, ahead);
    EXPECT_EQ(clock.sample().error_ns, 80);
}

TEST(ClockOffset, AWideReadingSaysNothingNew) {
    ClockOffset clock;
    const ClockReading tight = reading(0, 80, ahead);
    const ClockReading wide = reading(1'000'000, 400'000, ahead + 150'000);
    clock.take(&tight, 1);
    clock.take(&wide, 1);
    EXPECT_EQ(clock.sample().offset_ns, ahead);
    EXPECT_EQ(clock.sample().error_ns, 80);
    EXPECT_EQ(clock.sample().steps, 0u);
}

TEST(ClockOffset, AStepIsSeenAndCounted) {
    ClockOffset clock;
    const ClockReading before = reading(0, 80, ahead);
    const ClockReading nearly = reading(1'000'000, 80, ahead + 1'000);
    const ClockReading stepped = reading(2'000'000, 80, ahead + 50'000'000);
    const ClockReading wide = reading(3'000'000, 10'000, ahead - 50'000'000);
    clock.take(&before, 1);
    clock.take(&nearly, 1);
    EXPECT_EQ(clock.sample().steps, 0u);
    clock.take(&stepped, 1);
    EXPECT_EQ(clock.sample().steps, 1u);
    EXPECT_EQ(clock.sample().offset_ns, ahead + 50'000'000);
    clock.take(&wide, 1);
    EXPECT_EQ(clock.sample().steps, 2u);
    EXPECT_EQ(clock.sample().offset_ns, ahead - 50'000'000);
}

}  // namespace
}  // namespace driftless
