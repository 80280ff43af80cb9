// Buckets of tokens: full at first, refilled evenly, and above 0 from the very nanosecond on.
#include "engine/replay/token_budgets.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace driftless {
namespace {

constexpr Instant begin{5'000'000'000};

constexpr Instant at_ms(std::int64_t ms) {
    return begin + milliseconds(ms);
}

TEST(TokenBucket, IsAlwaysOpenWithoutABound) {
    TokenBucket bucket(TokenRate{});
    bucket.take(UINT32_MAX, begin);
    EXPECT_LT(bucket.opens(), Instant{});
}

// 100 tokens a second: the last of them leaves at once, and then it is refilled by one in 10 ms.
TEST(TokenBucket, HoldsThePeriodsTokens) {
    TokenBucket bucket(TokenRate{100, seconds(1)});
    EXPECT_LE(bucket.opens(), begin);
    bucket.take(99, begin);
    EXPECT_LE(bucket.opens(), begin);
    bucket.take(1, begin);
    EXPECT_EQ(bucket.opens(), begin + Duration{1});  // at 0 it is not above 0
    bucket.take(1, at_ms(5));                        // a half
    EXPECT_EQ(bucket.opens(), at_ms(10) + Duration{1});
}

// Whatever its size it leaves on what there is, and those behind it wait for all of it.
TEST(TokenBucket, GoesIntoDebt) {
    TokenBucket bucket(TokenRate{100, seconds(1)});
    bucket.take(1'000, begin);
    EXPECT_EQ(bucket.opens(), begin + seconds(9) + Duration{1});
    bucket.take(50, begin + seconds(30));  // full since long
    EXPECT_LT(bucket.opens(), begin + seconds(30));
    bucket.take(50, begin + seconds(30));
    EXPECT_EQ(bucket.opens(), begin + seconds(30) + Duration{1});
}

// Three tokens in a nanosecond's seventh: what is left of a nanosecond is not lost.
TEST(TokenBucket, LosesNoPartOfANanosecond) {
    TokenBucket bucket(TokenRate{7, Duration{1'000}});
    bucket.take(7, begin);
    for (int i = 0; i < 7'000; ++i) {
        bucket.take(1, bucket.opens());
    }
    // 7,000 tokens behind the first one are 1,000,000 ns; each left a nanosecond late at most.
    EXPECT_GE(bucket.opens(), begin + Duration{1'000'001});
    EXPECT_LE(bucket.opens(), begin + Duration{1'000'001 + 1});
}

// A debt of more than 290 years is one for ever.
TEST(TokenBucket, IsNeverFullAgainBehindTooMuch) {
    TokenBucket bucket(TokenRate{1, seconds(3600)});
    bucket.take(UINT32_MAX, begin);
    EXPECT_EQ(bucket.opens(), never);
}

// Both have to be above 0; of the input a cache may hold a part.
TEST(TokenBudgets, CountInputAndOutput) {
    BudgetRules rules;
    rules.input = {100, seconds(1)};
    rules.output = {10, seconds(1)};
    TokenBudgets all(rules);
    all.look(begin);
    all.take(100, 60, 1, begin);
    EXPECT_FALSE(all.open());
    all.look(begin + Duration{1});
    EXPECT_TRUE(all.open());
    all.take(1, 0, 9, begin + Duration{1});
    EXPECT_FALSE(all.open());

    rules.uncached = true;
    TokenBudgets uncached(rules);
    uncached.look(begin);
    uncached.take(100, 60, 1, begin);
    EXPECT_TRUE(uncached.open());
    uncached.take(100, 40, 1, begin);
    EXPECT_EQ(uncached.opens(), begin + Duration{1});
    uncached.take(5, 9, 1, begin + Duration{1});  // no less than nothing
    EXPECT_EQ(uncached.opens(), begin + Duration{1});
}

}  // namespace
}  // namespace driftless
