// Hits that no row before can have left show a warm cache, also where evictions hide them in the
// sum; rows that overtook each other do not.

#include "proto/figures/warm_cache.hpp"

#include <gtest/gtest.h>

#include "proto/figures/summary.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

constexpr std::int64_t ms = 1'000'000;

/// Fired at `fired_ms`, first token 10 ms later, in blocks of the server's.
Record row(std::uint32_t number, std::int64_t fired_ms, std::int64_t forecast,
           std::int64_t cached) {
    Record record;
    record.row = number;
    record.fired_ns = fired_ms * ms;
    record.first_token_ns = (fired_ms + 10) * ms;
    record.expected_cached_server = forecast;
    record.cached_tokens = cached;
    return record;
}

std::uint64_t excess(const std::vector<Record>& records, std::uint64_t template_pre = 0) {
    CacheExcess all;
    for (auto record = records.rbegin(); record != records.rend(); ++record) {  // in any order
        all.add(*record, template_pre);
    }
    return all.tokens();
}

// 20 prompts, others that evict them, the same 20: the second run hits at its beginning what the
// first hit at its end in an endless cache.
TEST(CacheExcess, IsSeenThoughEvictionsMakeUpForIt) {
    std::vector<Record> cold;
    std::vector<Record> warm;
    for (std::uint32_t i = 0; i < 140; ++i) {
        const bool again = i >= 120;
        cold.push_back(row(i, 100 * i, again ? 1536 : 0, 0));
        warm.push_back(row(i, 100 * i, again ? 1536 : 0, i < 20 ? 1536 : 0));
    }
    EXPECT_EQ(excess(cold), 0u);
    EXPECT_EQ(excess(warm), 20 * (1536 - 16u));
    EXPECT_EQ(excess({}), 0u);
}

// What was lost before a stretch does not excuse what was too much in it.
TEST(CacheExcess, IsOfTheStretchThatHasTheMost) {
    EXPECT_EQ(excess({row(0, 0, 4096, 0), row(1, 100, 0, 512), row(2, 200, 4096, 0)}), 512 - 16u);
}

// Two rows of one prompt: whichever the server took first, the other one hits.
TEST(CacheExcess, IsNoneWhereRowsOvertakeEachOther) {
    EXPECT_EQ(excess({row(0, 0, 0, 1024), row(1, 9, 1024, 0)}), 0u);
    EXPECT_EQ(excess({row(0, 0, 0, 1024), row(1, 11, 1024, 0)}), 1024 - 16u) << "it left too late";
    EXPECT_EQ(excess({row(0, 50, 0, 1024), row(1, 9, 1024, 0)}), 0u) << "the file is not by time";
}

// At the bound and one above; without the server's blocks the trace's leave more room.
TEST(CacheExcess, LeavesRoomForFewTokens) {
    EXPECT_EQ(excess({row(0, 0, 32, 48)}), 0u);
    EXPECT_EQ(excess({row(0, 0, 32, 49)}), 1u);
    Record record = row(0, 0, 0, 512 + 512 + 7 + 16);
    record.expected_cached_server = std::nullopt;
    record.expected_cached_tokens = 512;
    EXPECT_EQ(excess({record}, 7), 0u);
    EXPECT_EQ(excess({record}, 6), 1u);
}

// A row that was never sent left nothing; one that failed may have; one that was sent twice may
// have hit itself.
TEST(CacheExcess, CountsRowsThatFailed) {
    Record unsent = row(1, 5, 1024, 0);
    unsent.fired_ns = std::nullopt;
    EXPECT_EQ(excess({row(0, 0, 0, 1024), unsent}), 1024 - 16u);
    Record failed = row(1, 5, 1024, 0);
    failed.cached_tokens = std::nullopt;
    EXPECT_EQ(excess({row(0, 0, 0, 1024), failed}), 0u);
    Record twice = row(0, 0, 0, 1024);
    twice.stale_retries = 1;
    EXPECT_EQ(excess({twice}), 0u);
}

// Whether the cache was warm, by the probe and by the rows: what is said, and what is not.

CacheProbe probe(CacheState state, std::uint64_t cached = 0) {
    return {.state = state, .tokens = 1024, .cached_tokens = cached};
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
    EXPECT_TRUE(says(json_of(SummaryFigures(), CacheProbe()),
                     "\"probe\":\"off\",\"why\":null,\"probe_tokens\":null"));
    EXPECT_TRUE(says(json_of(SummaryFigures(), CacheProbe()), "\"warm\":null"));
}

// Users of several shards share prefixes that the forecast of each shard does not know of.
TEST(WarmCache, RowsThatAreForecastApartDoNotTell) {
    SummaryFigures merged = rows(90'000);
    merged.shard_role = {.others_send = false, .merged = true, .forecast_apart = true};
    EXPECT_EQ(was_warm(merged, probe(CacheState::cold)), std::optional(false));
    EXPECT_EQ(warm_warning(merged, probe(CacheState::cold)), "");
    const std::string told = warm_warning(merged, probe(CacheState::warm, 1008));
    EXPECT_TRUE(says(told, "repeat with another --cache-salt WORD, the same for all")) << told;
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
    EXPECT_TRUE(says(text, "1008 of 1024 tokens")) << text;
    EXPECT_TRUE(says(text, "--cache-salt random or --reset-cache")) << text;
    EXPECT_TRUE(says(warm_warning(rows(90'000), probe(CacheState::warm, 1008)), "275.8 %"));
    EXPECT_EQ(warm_warning(rows(), probe(CacheState::cold)), "");
    EXPECT_EQ(warm_warning(rows(), probe(CacheState::unknown)), "");
}

// What may be smaller blocks is, where the probe found the cache cold.
TEST(WarmCache, AColdProbeExplainsSmallerBlocks) {
    EXPECT_TRUE(says(warm_warning(rows(2560), CacheProbe()), "or its cache was warm"));
    const std::string cold = warm_warning(rows(2560), probe(CacheState::cold));
    EXPECT_TRUE(says(cold, "its blocks are smaller than the trace's (a probe")) << cold;
}

// The verdict has a reason, which does not blame the client.
TEST(WarmCache, IsAReasonOfTheVerdict) {
    EXPECT_EQ(warm_reason(rows(), probe(CacheState::cold)), "");
    const std::string reason = warm_reason(rows(), probe(CacheState::warm, 1008));
    EXPECT_TRUE(says(reason, "the server, not the client: its prefix cache was warm")) << reason;
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
