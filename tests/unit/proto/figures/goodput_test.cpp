// Rows go by the limits of their group, by the common ones, or by none.

#include <gtest/gtest.h>

#include "proto/figures/summary.hpp"

namespace driftless {

namespace {

constexpr std::int64_t ms = 1'000'000;

/// Of the rows with this tier.
GoodputRule of_tier(const char* tier, std::int64_t ttft_ns) {
    return {parse_group_key("kept.tier").value(), tier, {ttft_ns, std::nullopt, std::nullopt}};
}

/// Of each tier, and of none, a row that is ok after 10 ms and one that failed.
SummaryFigures figures_by(GoodputRules rules) {
    Summary summary(std::move(rules));
    Record record;
    record.fired_ns = 0;
    for (const char* kept : {R"({"tier":"gold"})", R"({"tier":"free"})", R"({"tier":null})", ""}) {
        record.kept = kept;
        for (const Outcome outcome : {Outcome::ok, Outcome::stream_error}) {
            record.outcome = outcome;
            record.ttft_ns = 10 * ms;
            summary.add(record);
            ++record.row;
        }
    }
    return summary.figures();
}

TEST(Goodput, RowsThatNoRuleIsForAreNeitherGoodNorBad) {
    const SummaryFigures f = figures_by({of_tier("gold", 10 * ms - 1), of_tier("free", 10 * ms)});
    EXPECT_EQ(f.good, 1u);
    EXPECT_EQ(f.decided(), 4u);
    EXPECT_EQ(f.goodput_counts[0].good, 0u);
    EXPECT_EQ(f.goodput_counts[1].good, 1u);
    EXPECT_EQ(f.goodput_counts[1].decided, 2u);
}

// The time that a cap held a row back counts from the due instant only.
TEST(Goodput, CountsFromTheDueInstantWhereItIsAsked) {
    GoodputLimits limits;
    limits.ttft_due_ns = 500 * ms;
    Record record{.ttft_ns = 10 * ms, .outcome = Outcome::ok};
    EXPECT_EQ(is_good(limits, record), std::optional(false));
    record.ttft_due_ns = 500 * ms;
    EXPECT_EQ(is_good(limits, record), std::optional(true));
    record.ttft_due_ns = 500 * ms + 1;
    EXPECT_EQ(is_good(limits, record), std::optional(false));
}

// An answer whose tokens were not counted has no TPOT: nobody knows whether it is good, unless it
// broke another limit; one token that was counted passes.
TEST(Goodput, IsNotKnownWithoutACountOfTokens) {
    GoodputLimits limits{.tpot_ns = 1, .e2e_ns = 10 * ms};
    Record record;
    record.outcome = Outcome::ok;
    record.e2e_ns = 10 * ms;
    record.output_tokens = 1;
    record.tokens_source = TokensSource::chunks;
    EXPECT_EQ(is_good(limits, record), std::nullopt);
    record.tokens_source = TokensSource::usage;
    EXPECT_EQ(is_good(limits, record), std::optional(true));
    record.tokens_source = TokensSource::chunks;
    ++*record.e2e_ns;
    EXPECT_EQ(is_good(limits, record), std::optional(false));
}

// Where this client lost a part of the answer, its first or its last token may be among that.
TEST(Goodput, IsNotKnownOfAnswersThatLostAPart) {
    GoodputLimits limits;
    limits.ttft_ns = 10 * ms;
    Record record;
    record.outcome = Outcome::ok;
    record.tainted = {std::string(taint_entries_dropped)};
    EXPECT_EQ(is_good(limits, record), std::nullopt);
    record.ttft_ns = 10 * ms;
    EXPECT_EQ(is_good(limits, record), std::nullopt);
    record.outcome = Outcome::stream_error;
    EXPECT_EQ(is_good(limits, record), std::optional(false));
}

TEST(Goodput, OthersGoByTheCommonLimits) {
    const GoodputRule common{{}, "", {10 * ms, std::nullopt, std::nullopt}};
    const SummaryFigures f = figures_by({common, of_tier("gold", 10 * ms - 1)});
    EXPECT_EQ(f.good, 3u);
    EXPECT_EQ(f.decided(), 8u);
    EXPECT_EQ(f.goodput_counts[0].decided, 6u);
    EXPECT_EQ(f.goodput_counts[1].good, 0u);
}

TEST(Goodput, TheFirstGroupThatFitsDecides) {
    const SummaryFigures f = figures_by({of_tier("gold", 10 * ms), of_tier("gold", 1)});
    EXPECT_EQ(f.goodput_counts[0].good, 1u);
    EXPECT_EQ(f.goodput_counts[1].decided, 0u);
}

TEST(Goodput, WithoutRulesWhatIsOkIsGood) {
    const SummaryFigures f = figures_by({});
    EXPECT_FALSE(f.judges_goodput());
    EXPECT_EQ(f.good, 4u);
    EXPECT_FALSE(f.request_goodput);
}

// Keys that rows are told apart by: what each finds in a row, and what is refused.

std::string value_in(const char* key, const Record& record) {
    JsonDocument document;
    return group_value(parse_group_key(key).value(), record, document);
}

TEST(GroupKey, FindsWhatARowHas) {
    Record record;
    record.phase = Phase::warmup;
    record.turn = 7;
    record.api = "openai-chat";
    record.url = "http://a/";
    record.model = "m";
    record.outcome = Outcome::ok;
    record.kept = R"({"tier":"gold","n":1.50,"gone":null})";
    record.headers = {{"target-pod", "pod-1"}, {"x", std::nullopt}};
    record.input_length = 512;
    EXPECT_EQ(value_in("phase", record), "warmup");
    EXPECT_EQ(value_in("turn", record), "7");
    EXPECT_EQ(value_in("api", record), "openai-chat");
    EXPECT_EQ(value_in("url", record), "http://a/");
    EXPECT_EQ(value_in("model", record), "m");
    EXPECT_EQ(value_in("outcome", record), "ok");
    EXPECT_EQ(value_in("kept.tier", record), "gold");
    EXPECT_EQ(value_in("kept.n", record), "1.50");
    EXPECT_EQ(value_in("kept.gone", record), "-");
    EXPECT_EQ(value_in("kept.other", record), "-");
    EXPECT_EQ(value_in("header.target-pod", record), "pod-1");
    EXPECT_EQ(value_in("header.x", record), "-");
    EXPECT_EQ(value_in("input:4", record), "512");
    EXPECT_EQ(value_in("turn", Record()), "-");
    EXPECT_EQ(value_in("kept.tier", Record()), "-");
}

TEST(GroupKey, RefusesOthers) {
    for (const char* text : {"", "foo", "kept.", "header.", "input", "input:", "input:1",
                             "input:21", "input:x", "Phase"}) {
        EXPECT_FALSE(parse_group_key(text)) << text;
    }
    EXPECT_TRUE(parse_group_key("input:2"));
    EXPECT_TRUE(parse_group_key("input:20"));
}

TEST(GroupKey, CutsLengthsIntoEqualParts) {
    std::vector<std::uint32_t> lengths = {8, 1, 7, 2, 6, 3, 5, 4};
    EXPECT_EQ(length_bounds(lengths, 4), (std::vector<std::uint32_t>{2, 4, 6, 8}));
    EXPECT_EQ(length_bounds(lengths, 3), (std::vector<std::uint32_t>{2, 5, 8}));
    std::vector<std::uint32_t> equal(10, 512);
    EXPECT_EQ(length_bounds(equal, 4), (std::vector<std::uint32_t>{512}));
    std::vector<std::uint32_t> none;
    EXPECT_TRUE(length_bounds(none, 4).empty());
}

}  // namespace

}  // namespace driftless
