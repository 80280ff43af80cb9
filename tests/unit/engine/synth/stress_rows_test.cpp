// Patterns against a prefix cache hit what they say, by our own forecast and by the inspection.
#include "engine/synth/stress_rows.hpp"

#include "engine/inspect/figures.hpp"
#include "engine/plan/plan.hpp"
#include "tests/unit/engine/synth/made.hpp"

namespace driftless {
namespace {

TEST(StressReuse, HitsTheShareThatWasAsked) {
    for (const int percent : {0, 1, 33, 50, 80, 95, 99}) {
        const Trace trace =
            made_trace("stress reuse --rows 500 --in 3200 --working-set 64000 --hit " +
                       std::to_string(percent));
        const Result<Plan> plan = make_plan(trace, {});
        ASSERT_TRUE(plan);
        std::uint64_t behind = 0;
        for (std::size_t i = 0; i < plan.value().rows.size(); ++i) {
            const std::uint64_t cached = plan.value().rows[i].expected_cached_tokens;
            EXPECT_TRUE(i >= 20 || cached == 0);
            behind += cached;
        }
        EXPECT_EQ(behind, 500U * 3200 * static_cast<unsigned>(percent) / 100) << percent;
    }
}

TEST(StressReuse, SpreadsWhatDoesNotFillABlock) {
    const Trace trace =
        made_trace("stress reuse --rows 1000 --in 100 --working-set 1000 --hit 33.3");
    const Result<Plan> plan = make_plan(trace, {});
    ASSERT_TRUE(plan);
    EXPECT_NEAR(static_cast<double>(plan.value().foretold.cached_tokens), 33'300, 16);
}

TEST(StressReuse, NeverHitsTheLastToken) {
    const Trace trace = made_trace("stress reuse --rows 10 --in 160 --working-set 160 --hit 100");
    const Result<Plan> plan = make_plan(trace, {});
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan.value().foretold.cached_tokens, 10U * 144);
    const Trace whole = made_trace("stress reuse --rows 10 --in 161 --working-set 161 --hit 100");
    EXPECT_EQ(make_plan(whole, {}).value().foretold.cached_tokens, 10U * 160);
}

/// Hits of an LRU cache of so many blocks.
std::uint64_t hits_at(const Trace& trace, std::uint64_t blocks) {
    InspectOptions options;
    options.block_sizes = {trace.block_size};
    const Result<InspectFigures> figures = inspect_trace(trace, options);
    EXPECT_TRUE(figures);
    std::uint64_t hits = 0;
    for (const CapacityPoint& point : figures.value().capacity[0].curve) {
        hits = point.blocks <= blocks ? point.hit_blocks : hits;
    }
    return hits;
}

TEST(StressWorkingSet, MissesAllOnceItIsLargerThanTheCache) {
    // Prompts of 4 blocks: sets of 8, 16, 24 and 32 of them, 3 passes each.
    const std::string line =
        "stress working-set --in 64 --working-set 512..2048 --steps 4 --rounds 3";
    const auto rows = made_rows(line);
    EXPECT_EQ(rows.size(), 3U * (8 + 16 + 24 + 32));
    const Trace trace = made_trace(line);
    // A cache of 64 blocks holds 16 prompts: the sets of 8 and 16 hit but for their first uses.
    EXPECT_EQ(hits_at(trace, 64), 4U * (2 * 8 + 8 + 2 * 16 + 16));
    EXPECT_EQ(hits_at(trace, 128), 4U * (rows.size() - 32));
}

TEST(StressOffload, FallsOffTheCliffAndComesBack) {
    // A cache of 64 blocks, prompts of 4: 12 of them fit (80 %), 21 do not.
    const std::string line = "stress offload --in 64 --capacity 1024 --rounds 5";
    const auto rows = made_rows(line);
    EXPECT_EQ(rows.size(), 5U * (12 + 20 + 1 + 12));
    // Passes over the small set hit but for the first, before and behind the cliff; the first
    // pass over the great set still finds the small one.
    EXPECT_EQ(hits_at(made_trace(line), 64), 4U * (4 * 12 + 12 + 4 * 12));
}

}  // namespace
}  // namespace driftless
