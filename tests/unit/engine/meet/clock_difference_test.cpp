// Clock difference: the truth lies within what is said, however unequal the ways are.
#include "engine/meet/clock_difference.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

namespace driftless {
namespace {

constexpr std::int64_t year_2026_ns = 1'795'000'000'000'000'000;

/// Our clock is ahead by `offset_ns`; the ways take `there_ns` and `back_ns`, the answer `work_ns`.
ClockExchange exchange(std::int64_t offset_ns, std::int64_t there_ns, std::int64_t back_ns,
                       std::int64_t work_ns = 700) {
    ClockExchange one;
    one.t1_ns = year_2026_ns + offset_ns;
    one.t2_ns = year_2026_ns + there_ns;
    one.t3_ns = one.t2_ns + work_ns;
    one.t4_ns = one.t3_ns + back_ns + offset_ns;
    return one;
}

TEST(ClockDifference, IsExactWhereTheWaysAreEqual) {
    for (const std::int64_t offset_ns : {0L, 3'000'000L, -3'000'000L, 86'400'000'000'000L}) {
        const std::vector<ClockExchange> one{exchange(offset_ns, 40'000, 40'000)};
        const auto difference = difference_of(one);
        ASSERT_TRUE(difference);
        EXPECT_EQ(difference->offset_ns, offset_ns);
        EXPECT_EQ(difference->error_ns, 40'000);
        EXPECT_EQ(difference->round_trip_ns, 80'000);
    }
}

TEST(ClockDifference, HoldsTheTruthHoweverUnequalTheWaysAre) {
    for (std::int64_t there_ns = 0; there_ns <= 100'001; there_ns += 9'091) {
        const std::vector<ClockExchange> one{exchange(3'000'000, there_ns, 100'001 - there_ns)};
        const auto difference = difference_of(one);
        ASSERT_TRUE(difference);
        EXPECT_LE(std::abs(difference->offset_ns - 3'000'000), difference->error_ns);
        EXPECT_EQ(difference->error_ns, 50'001) << "half of it, rounded up";
    }
}

TEST(ClockDifference, TakesTheShortestRoundTrip) {
    const std::vector<ClockExchange> all{exchange(5'000, 900'000, 20'000),
                                         exchange(5'000, 21'000, 20'000),
                                         exchange(5'000, 20'000, 700'000)};
    const auto difference = difference_of(all);
    ASSERT_TRUE(difference);
    EXPECT_EQ(difference->round_trip_ns, 41'000);
    EXPECT_EQ(difference->offset_ns, 4'500) << "half of the 1'000 ns that the ways differ";
}

TEST(ClockDifference, LeavesOutWhatCannotBe) {
    ClockExchange backwards = exchange(0, 1'000, 1'000);
    backwards.t4_ns = backwards.t1_ns - 1;
    ClockExchange longer_there = exchange(0, 1'000, 1'000);
    longer_there.t3_ns = longer_there.t2_ns + 10'000'000;
    ClockExchange made_up{INT64_MAX, INT64_MIN, INT64_MAX, INT64_MAX};
    ClockExchange below{1, -5, 5, 9};
    const std::vector<ClockExchange> bad{backwards, longer_there, made_up, below};
    EXPECT_FALSE(difference_of(bad));
    EXPECT_FALSE(difference_of({}));
    std::vector<ClockExchange> one_good = bad;
    one_good.push_back(exchange(7, 5'000, 5'000));
    ASSERT_TRUE(difference_of(one_good));
    EXPECT_EQ(difference_of(one_good)->offset_ns, 7);
}

}  // namespace
}  // namespace driftless
