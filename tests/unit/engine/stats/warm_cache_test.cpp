// Whether the cache was warm, by the probe and by the rows: what is said, and what is not.
#include "engine/stats/warm_cache.hpp"

#include <gtest/gtest.h>

#include "engine/stats/summary.hpp"

namespace driftless {
namespace {

CacheProbe probe(CacheState state, std::uint64_t cached = 0) {
    CacheProbe made;
    made.state = state;
    made.tokens = 1024;
    made.cached_tokens = cached;
    return made;
}

/// Rows that report, and hit what an empty cache allows; `beyond` tokens more where there are any.
SummaryFigures rows(std::uint64_t beyond = 0) {
    SummaryFigures f;
    f.rows = f.cache_rows_reported = 100;
    f.expected_cached_tokens_reported = 51'200;
    f.cached_tokens = 51'200 + beyond;
    f.cache_rows_above = beyond > 0 ? 10 : 0;
    return f;
}

std::string json_of(const SummaryFigures& figures, const CacheProbe& seen) {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    write_warm_cache(json, figures, seen);
    json.end_object();
    return text;
}

bool holds(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

// The probe alone is enough, and so are the rows; a cold probe does not excuse what rows hit.
TEST(WarmCache, IsWarmByEither) {
    EXPECT_EQ(was_warm(rows(), probe(CacheState::cold)), std::optional(false));
    EXPECT_EQ(was_warm(rows(), probe(CacheState::warm, 1008)), std::optional(true));
    EXPECT_EQ(was_warm(rows(90'000), probe(CacheState::cold)), std::optional(true));
    EXPECT_EQ(was_warm(rows(90'000), probe(CacheState::off)), std::optional(true));
    EXPECT_EQ(was_warm(rows(), probe(CacheState::unknown)), std::optional(false));
}

// Neither tells: a server that reports nothing, or hits that smaller blocks explain, too.
TEST(WarmCache, IsUnknownWhereNothingTells) {
    EXPECT_EQ(was_warm(SummaryFigures(), probe(CacheState::unknown)), std::nullopt);
    EXPECT_EQ(was_warm(rows(2560), probe(CacheState::unknown)), std::nullopt);
    EXPECT_EQ(was_warm(rows(2560), probe(CacheState::cold)), std::optional(false));
    EXPECT_TRUE(holds(json_of(SummaryFigures(), CacheProbe()),
                      "\"probe\":\"off\",\"why\":null,\"probe_tokens\":null"));
    EXPECT_TRUE(holds(json_of(SummaryFigures(), CacheProbe()), "\"warm\":null"));
}

// Users of several shards share prefixes that the forecast of each shard does not know of.
TEST(WarmCache, RowsThatAreForecastApartDoNotTell) {
    SummaryFigures merged = rows(90'000);
    merged.shard_role = {.others_send = false, .merged = true, .forecast_apart = true};
    EXPECT_EQ(was_warm(merged, probe(CacheState::cold)), std::optional(false));
    EXPECT_EQ(warm_warning(merged, probe(CacheState::cold)), "");
    const std::string told = warm_warning(merged, probe(CacheState::warm, 1008));
    EXPECT_TRUE(holds(told, "repeat with another --cache-salt WORD, the same for all")) << told;
}

// Rows of one shard hit what others sent: its own probe is all that tells.
TEST(WarmCache, RowsOfAShardDoNotTell) {
    SummaryFigures of_shard = rows(90'000);
    of_shard.shard_role.others_send = true;
    EXPECT_EQ(was_warm(of_shard, probe(CacheState::unknown)), std::nullopt);
    EXPECT_EQ(was_warm(of_shard, probe(CacheState::cold)), std::optional(false));
    EXPECT_EQ(was_warm(of_shard, probe(CacheState::warm, 1008)), std::optional(true));
    EXPECT_EQ(warm_warning(of_shard, probe(CacheState::cold)), "");
    of_shard.cached_tokens = of_shard.expected_cached_tokens_reported;
    EXPECT_EQ(was_warm(of_shard, probe(CacheState::unknown)), std::nullopt);
}

TEST(WarmCache, WarnsWithTheRemedyOnce) {
    const std::string text = warm_warning(rows(), probe(CacheState::warm, 1008));
    EXPECT_TRUE(holds(text, "1008 of 1024 tokens")) << text;
    EXPECT_TRUE(holds(text, "--cache-salt random or --reset-cache")) << text;
    EXPECT_TRUE(holds(warm_warning(rows(90'000), probe(CacheState::warm, 1008)), "275.8 %"));
    EXPECT_EQ(warm_warning(rows(), probe(CacheState::cold)), "");
    EXPECT_EQ(warm_warning(rows(), probe(CacheState::unknown)), "");
}

// What may be smaller blocks is, where the probe found the cache cold.
TEST(WarmCache, AColdProbeExplainsSmallerBlocks) {
    EXPECT_TRUE(holds(warm_warning(rows(2560), CacheProbe()), "or its cache was warm"));
    const std::string cold = warm_warning(rows(2560), probe(CacheState::cold));
    EXPECT_TRUE(holds(cold, "its blocks are smaller than the trace's (a probe")) << cold;
}

// The verdict has a reason, which does not blame the client.
TEST(WarmCache, IsAReasonOfTheVerdict) {
    EXPECT_EQ(warm_reason(rows(), probe(CacheState::cold)), "");
    const std::string reason = warm_reason(rows(), probe(CacheState::warm, 1008));
    EXPECT_TRUE(holds(reason, "the server, not the client: its prefix cache was warm")) << reason;
}

TEST(WarmCache, StatesHaveNames) {
    for (const CacheState state :
         {CacheState::off, CacheState::cold, CacheState::unknown, CacheState::warm}) {
        EXPECT_EQ(cache_state_of(name_of(state)), std::optional(state));
    }
    EXPECT_FALSE(cache_state_of("tepid"));
}

}  // namespace
}  // namespace driftless
