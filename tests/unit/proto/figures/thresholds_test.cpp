// Thresholds: when a run fails, by each kind of figure; what was not measured fails.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cmd/flags/summary_values.hpp"
#include "proto/figures/criteria.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

SummaryFigures figures_of_a_run() {
    SummaryFigures figures{.rows = 200, .completed = 190, .failed = 10};
    figures.outcomes[static_cast<std::size_t>(Outcome::not_sent)] = 2;
    figures.ttft.count = 190;
    figures.ttft.mean = 1.5e9;
    figures.ttft.max = 9e9;
    figures.ttft.at[p99_index] = 2e9;
    figures.request_throughput = 12.5;
    return figures;
}

ThresholdFinding judge(const std::string& text) {
    const Result<Threshold> threshold = parse_threshold(text);
    EXPECT_TRUE(threshold) << text;
    return threshold ? judge_thresholds({threshold.value()}, figures_of_a_run()).at(0)
                     : ThresholdFinding();
}

TEST(Thresholds, SayWhenARunFails) {
    EXPECT_FALSE(judge("ttft:p99 > 2s").fails);
    EXPECT_TRUE(judge("ttft:p99>=2000ms").fails);
    EXPECT_TRUE(judge("ttft:p99 > 1999.999ms").fails);
    EXPECT_TRUE(judge("ttft:max > 8.9s").fails);
    EXPECT_TRUE(judge("ttft:mean < 2s").fails);
    EXPECT_TRUE(judge("completed < 200").fails);
    EXPECT_FALSE(judge("completed<190").fails);
    EXPECT_TRUE(judge("completed <= 190").fails);
    EXPECT_FALSE(judge("request_throughput < 12.5").fails);
    EXPECT_TRUE(judge("failed > 9").fails);
}

// Rows that a failed row kept from being sent did not fail themselves: 8 of 198.
TEST(Thresholds, ErrorsAreAShareOfWhatWasSent) {
    EXPECT_DOUBLE_EQ(*judge("errors > 5 %").value, 8.0 / 198);
    EXPECT_FALSE(judge("errors > 5 %").fails);
    EXPECT_TRUE(judge("errors > 4%").fails);
    EXPECT_TRUE(judge("errors > 0.04").fails);
}

TEST(Thresholds, WhatNobodyMeasuredFails) {
    const ThresholdFinding unknown = judge("tpot:p50 > 1h");
    EXPECT_TRUE(unknown.fails);
    EXPECT_FALSE(unknown.value.has_value());
    EXPECT_EQ(value_text(unknown), "not measured");
    EXPECT_TRUE(judge("good < 1 %").fails) << "no --goodput";
    EXPECT_TRUE(judge("overtaken > 0").fails) << "no turn follows another";
}

TEST(Thresholds, AreToldInTheirUnits) {
    EXPECT_EQ(value_text(judge("ttft:p99 > 2s")), "2000.000 ms");
    EXPECT_EQ(value_text(judge("errors > 5 %")), "4.04 %");
    EXPECT_EQ(value_text(judge("request_throughput < 1")), "12.5");
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    write_thresholds(json, {judge("errors > 5 %"), judge("tpot:p50 > 1s")});
    json.end_object();
    EXPECT_EQ(
        text,
        R"({"thresholds":[{"fail_if":"errors > 5 %","value":0.04040404040404041,"unit":"share",)"
        R"("fails":false},{"fail_if":"tpot:p50 > 1s","value":null,"unit":"ms","fails":true}]})");
}

TEST(Thresholds, EveryStatisticHasItsName) {
    for (const char* name : {"p25", "p50", "median", "p75", "p90", "p95", "p99", "p99.9", "mean",
                             "avg", "min", "max"}) {
        EXPECT_TRUE(parse_threshold("e2el:" + std::string(name) + " > 1s")) << name;
    }
}

// More than all: who means 1 % would never hear of a failure. A run that has it keeps it.
TEST(Thresholds, RefuseWhatNeverHoldsWhereItIsTyped) {
    for (const char* text : {"errors > 1", "errors > 100 %", "tainted > 1.0"}) {
        EXPECT_TRUE(parse_threshold(text)) << text;
        const Result<Threshold> typed = parse_fail_if(text);
        ASSERT_FALSE(typed) << text;
        EXPECT_TRUE(std::string_view(typed.error().doing).starts_with("never holds")) << text;
    }
    EXPECT_FALSE(parse_stop_rule("errors > 100 %"));
    for (const char* text : {"errors >= 0 %", "completed >= 0", "good <= 100 %"}) {
        const Result<Threshold> typed = parse_fail_if(text);
        ASSERT_FALSE(typed) << text;
        EXPECT_TRUE(std::string_view(typed.error().doing).starts_with("always holds")) << text;
    }
    for (const char* text : {"errors >= 1", "good < 1", "errors > 99.9 %", "completed > 1"}) {
        EXPECT_TRUE(parse_fail_if(text)) << text;
    }
}

TEST(Thresholds, RefuseWhatTheyCannotJudge) {
    const std::vector<std::pair<const char*, const char*>> cases = {
        {"", "has no comparison"},
        {"ttft:p99", "has no comparison"},
        {"ttft:p99 = 2s", "has no comparison"},
        {"speed > 2", "is not a known figure"},
        {"> 2s", "is not a known figure"},
        {"ttft > 2s", "needs one of these statistics"},
        {"ttft:p98 > 2s", "needs one of these statistics"},
        {"ttft: > 2s", "needs one of these statistics"},
        {"errors:p99 > 1 %", "has no statistics"},
        {"ttft:p99 => 2s", "is not a comparison"},
        {"ttft:p99 > 2", "with its unit"},
        {"ttft:p99 > ", "with its unit"},
        {"ttft:p99 > 2 parsecs", "with its unit"},
        {"ttft:p99 > 5 %", "with its unit"},
        {"ttft:p99 > +5 %", "another run"},
        {"errors > -1 %", "a share"},
        {"errors > 5", "a share"},
        {"errors > 101 %", "a share"},
        {"errors > nan", "a share"},
        {"errors > ", "a share"},
        {"errors >> 1 %", "a share"},
        {"completed < 5 %", "a plain number"},
        {"completed < 1e9", "a plain number"},
        {"completed < inf", "a plain number"},
    };
    for (const auto& [text, why] : cases) {
        const Result<Threshold> threshold = parse_threshold(text);
        ASSERT_FALSE(threshold) << text;
        EXPECT_TRUE(says(std::string(threshold.error().doing), why))
            << text << ": " << threshold.error().doing;
    }
}

// Where rows lack a count of tokens only those are judged that are not good: their share is none.
TEST(Thresholds, AShareOfGoodRowsIsUnknownWhereSomeCannotBeJudged) {
    SummaryFigures figures = figures_of_a_run();
    figures.goodput_rules = {GoodputRule{}};
    figures.goodput_counts = {{4, 3}};
    figures.good = 3;
    const Threshold rule = parse_threshold("good < 50 %").value();
    EXPECT_FALSE(judge_thresholds({rule}, figures).at(0).fails);
    figures.uncounted.goodput = 1;
    EXPECT_FALSE(judge_thresholds({rule}, figures).at(0).value);
}

}  // namespace
}  // namespace driftless
