// A cache that was warm before the run is told, with the remedy; what an empty one explains is not.
#include "engine/stats/warnings.hpp"

#include <gtest/gtest.h>

#include "engine/stats/summary.hpp"

namespace driftless {
namespace {

SummaryFigures cache(std::uint64_t expected, std::uint64_t observed, std::uint64_t rows_above) {
    SummaryFigures f;
    f.rows = 100;
    f.cache_rows_reported = 100;
    f.expected_cached_tokens = expected;
    f.expected_cached_tokens_reported = expected;
    f.cached_tokens = observed;
    f.cache_rows_above = rows_above;
    return f;
}

std::vector<std::string> warnings_of(const SummaryFigures& f) {
    return warnings_of(f, SummaryInfo());
}

bool says(const SummaryFigures& f, const char* part) {
    const std::vector<std::string> warnings = warnings_of(f);
    return warnings.size() == 1 && warnings[0].find(part) != std::string::npos;
}

// As many hits as an empty cache can have, and 16 words that are alike by accident in each row
// above its forecast, at -1, 0 and +1.
TEST(Warnings, BeginAboveWhatAnEmptyCacheCanHit) {
    EXPECT_TRUE(warnings_of(cache(51200, 51200, 0)).empty());
    EXPECT_TRUE(warnings_of(cache(51200, 51215, 1)).empty());
    EXPECT_TRUE(warnings_of(cache(51200, 51216, 1)).empty());
    EXPECT_FALSE(warnings_of(cache(51200, 51217, 1)).empty());
    EXPECT_TRUE(warnings_of(SummaryFigures()).empty());
}

// The second of two identical runs: every row hits all of its blocks.
TEST(Warnings, NameAWarmCacheAndTheRemedy) {
    const SummaryFigures f = cache(51200, 996'659, 98);
    EXPECT_TRUE(says(f, "the prefix cache was warm from an earlier run, so TTFT is too low"));
    EXPECT_TRUE(says(f, "1946.6 % of what an empty cache can hit"));
    EXPECT_TRUE(says(f, "--cache-salt random"));
    EXPECT_TRUE(says(cache(0, 99'000, 90), "none can hit in an empty cache"));
}

// Evictions hide in the sum what the first rows hit; the stretch shows it.
TEST(Warnings, NameAWarmCacheThatTheSumHides) {
    SummaryFigures f = cache(51200, 51200, 20);
    f.cache_excess = 30'720;
    EXPECT_TRUE(
        says(f, "warm from an earlier run, so TTFT is too low: rows hit 30720 tokens that"));
    EXPECT_TRUE(says(f, "--cache-salt random"));
}

// A server with blocks of 16 shares up to a block of the trace more: it may be that.
TEST(Warnings, SmallExcessMayBeSmallerBlocks) {
    EXPECT_TRUE(says(cache(51200, 51200 + 100 * 256, 100), "its blocks are smaller"));
    EXPECT_TRUE(says(cache(51200, 51200 + 100 * 511, 100), "its blocks are smaller"));
    EXPECT_TRUE(says(cache(51200, 51200 + 100 * 512, 100), "was warm from an earlier run, so"));
}

// Where the server's blocks are known, hits in them are no sign of a warm cache, and one more is.
TEST(Warnings, HitsInTheServersBlocksAreExpected) {
    SummaryFigures f = cache(51200, 51200 + 100 * 256, 100);
    f.server_cache_rows = 100;
    f.server_cache_expected = f.cached_tokens - 1600;
    EXPECT_TRUE(warnings_of(f).empty());
    --f.server_cache_expected;
    EXPECT_TRUE(says(f, "was warm from an earlier run, so"));
}

// Every row shares the template's first tokens.
TEST(Warnings, TemplateTokensAreShared) {
    SummaryFigures f = cache(51200, 51200 + 100 * 19, 100);
    f.template_pre = 19;
    f.cached_tokens += 1600;
    EXPECT_TRUE(warnings_of(f).empty());
    ++f.cached_tokens;
    EXPECT_FALSE(warnings_of(f).empty());
}

}  // namespace
}  // namespace driftless
