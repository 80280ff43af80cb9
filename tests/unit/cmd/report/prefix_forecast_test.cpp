// What prompts share, and what was hit of it: counted by hand on a small trace, and by the rules of
// an infinite cache on random ones.
#include "cmd/report/prefix_forecast.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/engine/inspect/make_trace.hpp"

namespace driftless {
namespace {

std::vector<SentPrompt> all_of(const Trace& trace, OptionalNs cached) {
    std::vector<SentPrompt> sent;
    for (const TraceRow& row : trace.rows) {
        sent.push_back({row.index, std::int64_t{row.input_length}, cached});
    }
    return sent;
}

// Blocks of 4 tokens: three prompts begin with 1 2, two of them go on with 3; another one is alone.
TEST(PrefixForecast, JoinsWhatTheSamePromptsHave) {
    const Trace trace =
        make_trace(4, TailRule::ceil,
                   {{0, 12, {1, 2, 3}}, {1, 8, {9, 8}}, {2, 12, {1, 2, 3}}, {3, 12, {1, 2, 4}}});
    std::vector<SentPrompt> sent = all_of(trace, {});
    sent[2].cached_tokens = 12;
    sent[3].cached_tokens = 8;
    const PrefixForecast forecast = forecast_prefixes(trace, sent);
    EXPECT_EQ(forecast.why_not, "");
    EXPECT_EQ(forecast.cached_tokens, 20U);
    EXPECT_EQ(forecast.reported_tokens, 24U) << "two prompts of 12: the others' server did not say";
    ASSERT_EQ(forecast.prefixes.size(), 2U);
    const SharedPrefix& two = forecast.prefixes[0];
    EXPECT_EQ(two.parent, -1);
    EXPECT_EQ(two.begin, 0U);
    EXPECT_EQ(two.tokens, 8U);
    EXPECT_EQ(two.prompts, 3U);
    EXPECT_EQ(two.reported, 2U);
    EXPECT_EQ(two.hits, 2U);
    const SharedPrefix& three = forecast.prefixes[1];
    EXPECT_EQ(three.parent, 0);
    EXPECT_EQ(three.begin, 8U);
    EXPECT_EQ(three.tokens, 4U);
    EXPECT_EQ(three.prompts, 2U);
    EXPECT_EQ(three.hits, 1U);
    EXPECT_EQ(forecast.capacity.hit_tokens, 12U + 8U);
}

// Two prompts share all of theirs, a third one only the first of two blocks that hit alike.
TEST(PrefixForecast, KeepsApartWhatWasHitDifferently) {
    const Trace trace = make_trace(4, TailRule::ceil, {{0, 12, {1, 2, 3}}, {1, 12, {1, 2, 3}}});
    std::vector<SentPrompt> sent = all_of(trace, {});
    sent[1].cached_tokens = 8;
    const PrefixForecast forecast = forecast_prefixes(trace, sent);
    ASSERT_EQ(forecast.prefixes.size(), 2U);
    EXPECT_EQ(forecast.prefixes[0].tokens, 8U);
    EXPECT_EQ(forecast.prefixes[0].hits, 1U);
    EXPECT_EQ(forecast.prefixes[1].tokens, 4U);
    EXPECT_EQ(forecast.prefixes[1].hits, 0U);
}

// Every prefix stands behind its parent, goes on where that ends, and is as wide at most; the areas
// of all are the hits of an infinite cache, and one prompt each that could not hit.
TEST(PrefixForecast, AddsUpToAnInfiniteCache) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Trace trace = random_trace(seed, TailRule::floor, 200);
        const PrefixForecast forecast = forecast_prefixes(trace, all_of(trace, 0));
        std::uint64_t hits = 0;
        for (std::size_t i = 0; i < forecast.prefixes.size(); ++i) {
            const SharedPrefix& one = forecast.prefixes[i];
            ASSERT_LT(one.parent, static_cast<std::int64_t>(i));
            if (one.parent >= 0) {
                const SharedPrefix& parent =
                    forecast.prefixes[static_cast<std::size_t>(one.parent)];
                EXPECT_EQ(one.begin, parent.begin + parent.tokens);
                EXPECT_LE(one.prompts, parent.prompts);
            }
            EXPECT_GE(one.prompts, 2U);
            hits += (one.prompts - 1) * one.tokens;
        }
        EXPECT_EQ(hits, forecast.capacity.hit_tokens) << seed;
    }
}

TEST(PrefixForecast, ShowsTheWidestWhereThereAreMany) {
    std::vector<RowSpec> rows;
    for (std::uint64_t i = 0; i < 3'000; ++i) {
        for (int times = 0; times < (i < 10 ? 6 : 2); ++times) {
            rows.push_back({0, 4, {i}});
        }
    }
    const Trace trace = make_trace(4, TailRule::ceil, rows);
    const PrefixForecast forecast = forecast_prefixes(trace, all_of(trace, {}));
    EXPECT_EQ(forecast.shown_from, 4U);
    EXPECT_EQ(forecast.prefixes.size(), 10U);
}

TEST(PrefixForecast, SaysWhyThereIsNone) {
    const Trace trace = make_trace(4, TailRule::ceil, {{0, 8, {1, 2}}});
    EXPECT_NE(forecast_prefixes(trace, {{0, 9, {}}}).why_not, "");  // another length
    EXPECT_NE(forecast_prefixes(trace, {{1, 8, {}}}).why_not, "");  // no such row
    EXPECT_NE(forecast_prefixes(make_trace(0, TailRule::ceil, {{0, 8, {}}}), {}).why_not, "");
    std::string text;
    JsonWriter json(text);
    write_forecast(json, forecast_prefixes(trace, {{1, 8, {}}}));
    EXPECT_TRUE(text.starts_with(R"({"why_not":"The trace)")) << text;
}

}  // namespace
}  // namespace driftless
