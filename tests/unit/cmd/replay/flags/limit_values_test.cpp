// Token budgets as they are typed, and what is refused.
#include "cmd/replay/flags/limit_values.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

TEST(LimitValues, TellTokensInATime) {
    const Result<TypedBudget> minute = parse_input_budget("500k/m");
    ASSERT_TRUE(minute);
    EXPECT_EQ(minute.value().rate.tokens, 500'000u);
    EXPECT_EQ(minute.value().rate.period, seconds(60));
    EXPECT_FALSE(minute.value().uncached);
    const Result<TypedBudget> uncached = parse_input_budget("30M/h:uncached");
    ASSERT_TRUE(uncached);
    EXPECT_EQ(uncached.value().rate.tokens, 30'000'000u);
    EXPECT_TRUE(uncached.value().uncached);
    EXPECT_EQ(text_of(uncached.value().rate, true), "30000000/h:uncached");
    const Result<TypedBudget> second = parse_output_budget("7/s");
    ASSERT_TRUE(second);
    EXPECT_EQ(text_of(second.value().rate, false), "7/s");
    EXPECT_EQ(text_of(TokenRate{}, false), "");
}

TEST(LimitValues, RefuseWhatIsNoRate) {
    for (const char* text : {"", "/m", "5", "5/d", "0/m", "-1/m", "1.5/m", "k/m", "5kk/m",
                             "5/m:all", "5/m:uncached:uncached", "18446744073709551615k/m"}) {
        EXPECT_FALSE(parse_input_budget(text)) << text;
        EXPECT_FALSE(parse_output_budget(text)) << text;
    }
    EXPECT_TRUE(parse_output_budget("1000000M/m"));
    EXPECT_FALSE(parse_output_budget("1000001M/m"));
    EXPECT_FALSE(parse_output_budget("5/m:uncached"));
}

}  // namespace
}  // namespace driftless
