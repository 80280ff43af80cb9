// The chunk rate at 60 % of the core, from a few rehearsals.
#include <gtest/gtest.h>

#include "cmd/base/this_host.hpp"

namespace driftless {
namespace {

Rehearsal rehearsal_of(std::int64_t chunks, double busy) {
    return {.chunks = chunks, .busy_share = busy};
}

TEST(Capacity, LiesBetweenTheRehearsalsAroundIt) {
    const Capacity found = capacity_of(
        {rehearsal_of(10'000, 0.2), rehearsal_of(50'000, 0.4), rehearsal_of(100'000, 0.8)}, 0.6);
    EXPECT_EQ(found.chunks_per_s, 75'000);
    EXPECT_FALSE(found.extrapolated);
}

TEST(Capacity, IsDrawnOnWhereNothingCameNear) {
    const Capacity found = capacity_of({rehearsal_of(10'000, 0.1), rehearsal_of(50'000, 0.3)}, 0.6);
    EXPECT_EQ(found.chunks_per_s, 100'000);
    EXPECT_TRUE(found.extrapolated);
}

TEST(Capacity, OfOneRehearsalThatWasTooMuch) {
    const Capacity found = capacity_of({rehearsal_of(90'000, 0.9)}, 0.6);
    EXPECT_EQ(found.chunks_per_s, 60'000);
    EXPECT_FALSE(found.extrapolated);
}

TEST(Capacity, OfNothingIsNothing) {
    EXPECT_EQ(capacity_of({}, 0.6).chunks_per_s, 0);
}

}  // namespace
}  // namespace driftless
