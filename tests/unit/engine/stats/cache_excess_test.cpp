// Hits that no row before can have left show a warm cache, also where evictions hide them in the
// sum; rows that overtook each other do not.
#include "engine/stats/cache_excess.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace driftless
