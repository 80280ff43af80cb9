// Limits of --goodput for some rows: what is read, and what is refused.
#include <gtest/gtest.h>

#include "cmd/flags/summary_values.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

TEST(GoodputValues, ReadAKeyAValueAndLimits) {
    const Result<GoodputRule> rule = parse_group_goodput("tier=gold ttft:200 tpot:50");
    ASSERT_TRUE(rule);
    EXPECT_EQ(rule.value().key->text, "kept.tier");
    EXPECT_EQ(rule.value().value, "gold");
    EXPECT_EQ(rule.value().limits.ttft_ns, 200'000'000);
    EXPECT_EQ(rule.value().limits.tpot_ns, 50'000'000);
    EXPECT_EQ(parse_group_goodput("turn=1 ttft:200").value().key->text, "turn");
    for (const char* text : {"ttft:200", "tier=gold", "=gold ttft:200", "tier=gold foo:1", "",
                             "tier=gold ", "input:4=1 ttft:2"}) {
        EXPECT_FALSE(parse_group_goodput(text)) << text;
    }
}

TEST(GoodputValues, ReadLimitsOfAllRows) {
    const Result<GoodputRule> rule = parse_goodput_rule("ttft:200, tpot:50");
    ASSERT_TRUE(rule);
    EXPECT_FALSE(rule.value().key);
    EXPECT_EQ(rule.value().limits.tpot_ns, 50'000'000);
    EXPECT_EQ(parse_goodput("ttft_due:600").value().ttft_due_ns, 600'000'000);
    for (const char* text : {"", " ", "ttft", "ttft:0", "itl:5", "ttft:-1"}) {
        EXPECT_FALSE(parse_goodput_rule(text)) << text;
    }
    for (const char* text : {"ttft=200", "ttft:200 tpot=50"}) {
        const Result<GoodputRule> equals = parse_goodput_rule(text);
        ASSERT_FALSE(equals);
        EXPECT_TRUE(std::string_view(equals.error().doing).starts_with("has = where")) << text;
    }
}

TEST(GoodputValues, AKeptColumnMustBeKept) {
    const GoodputRules rules{parse_goodput_rule("tier=gold ttft:1").value()};
    EXPECT_EQ(goodput_refusal(rules, {"pod", "tier"}), "");
    EXPECT_TRUE(says(goodput_refusal(rules, {"pod"}), "--keep tier"));
}

/// What is asked of a finished run goes before what it was told, and the rest of that stays.
TEST(GoodputValues, AskedRulesGoBeforeThoseOfTheRun) {
    const auto rule = [](const char* text) { return parse_goodput_rule(text).value(); };
    const GoodputRules run{rule("ttft:200"), rule("tier=gold ttft:50")};
    const GoodputRules both = with_rules({rule("tpot:20")}, run);
    ASSERT_EQ(both.size(), 2U);
    EXPECT_EQ(common_limits(both).tpot_ns, 20'000'000);
    EXPECT_FALSE(common_limits(both).ttft_ns);
    EXPECT_EQ(group_text(both[1]), "kept.tier=gold");
    EXPECT_EQ(with_rules({rule("tier=gold ttft:10")}, run).size(), 2U);
    EXPECT_EQ(with_rules({}, run).size(), 2U);
}

TEST(GoodputValues, ARuleOnGoodRowsNeedsLimits) {
    const Threshold good = parse_threshold("good < 99 %").value();
    const Threshold ttft = parse_threshold("ttft:p50 > 1s").value();
    EXPECT_EQ(limits_missing({ttft}), "");
    EXPECT_TRUE(says(limits_missing({ttft, good}), "\"good < 99 %\" counts good requests"));
}

}  // namespace
}  // namespace driftless
