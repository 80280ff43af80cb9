// How long a server keeps idle connections: what it says, and what its closes show.
#include "engine/replay/idle_limit.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

Instant at(std::int64_t ms) {
    return Instant{} + milliseconds(ms);
}

TEST(IdleLimit, IsTheShortestThatIsSaid) {
    IdleLimit limit;
    EXPECT_FALSE(limit.known());
    EXPECT_EQ(limit.closed_after().ns, INT64_MAX);
    KeepAliveLimits said;
    for (const std::uint32_t timeout : {75u, 5u, 60u, 0u}) {
        said.timeout_s = timeout;
        limit.hear(said);
    }
    EXPECT_EQ(limit.limit, seconds(5));
    EXPECT_EQ(limit.replaced_after(), seconds(4));
    EXPECT_EQ(limit.closed_after(), milliseconds(4500));
}

// A timer closes again and again after the same time; the shortest is kept.
TEST(IdleLimit, IsLearnedFromTwoClosesThatAgree) {
    IdleLimit limit;
    limit.see_close(milliseconds(5050), at(10'000));
    EXPECT_FALSE(limit.known());
    limit.see_close(milliseconds(5002), at(20'000));
    EXPECT_EQ(limit.limit, milliseconds(5002));
    limit.see_close(milliseconds(6000), at(30'000));
    EXPECT_EQ(limit.limit, milliseconds(5002));
}

// A restart closes all at one instant, however long each has been idle.
TEST(IdleLimit, IsNotLearnedFromARestart) {
    IdleLimit limit;
    for (int i = 0; i < 40; ++i) {
        limit.see_close(milliseconds(1700 + i % 2), at(9'000 + i));
        limit.see_close(milliseconds(700), at(9'000 + i));
    }
    EXPECT_FALSE(limit.known());
    limit.see_close(milliseconds(30'000), at(90'000));  // and another one, much later
    EXPECT_FALSE(limit.known());
}

// Sooner than half a second no timer ends: such a server is overloaded, or wants no idle ones.
TEST(IdleLimit, IsNoMomentaryClose) {
    IdleLimit limit;
    for (int i = 0; i < 10; ++i) {
        limit.see_close(IdleLimit::seen_min - Duration{1}, at(1'000 * i));
    }
    EXPECT_FALSE(limit.known());
    limit.see_close(IdleLimit::seen_min, at(20'000));
    limit.see_close(IdleLimit::seen_min, at(21'000));
    EXPECT_EQ(limit.limit, IdleLimit::seen_min);
}

}  // namespace
}  // namespace driftless
