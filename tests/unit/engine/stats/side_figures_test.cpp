// The two sides of a run beside each other, by hand: what each did, and the differences of the rows
// that both have answered, by who went first.
#include "engine/stats/side_figures.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace driftless {
namespace {

Record answered(std::uint32_t row, Side side, std::int64_t fired_ns, std::int64_t ttft_ns) {
    Record record;
    record.row = row;
    record.side = side;
    record.url = side == Side::a ? "http://a" : "http://b";
    record.outcome = Outcome::ok;
    record.due_ns = 1000;
    record.fired_ns = fired_ns;
    record.drift_ns = fired_ns - 1000;
    record.ttft_ns = ttft_ns;
    record.tpot_ns = 7.5;
    record.e2e_ns = 2 * ttft_ns;
    record.expected_cached_tokens = 32;
    record.cached_tokens = side == Side::a ? 32 : 16;
    return record;
}

std::vector<Record> some_records() {
    Record failed = answered(3, Side::b, 1100, 0);
    failed.outcome = Outcome::truncated;
    failed.ttft_ns.reset();
    failed.cached_tokens.reset();
    return {answered(0, Side::a, 1010, 500), answered(0, Side::b, 1020, 520),  // a first: +20
            answered(1, Side::a, 1030, 500), answered(1, Side::b, 1020, 540),  // b first: +40
            answered(2, Side::b, 1010, 400), answered(2, Side::a, 1040, 500),  // b first: -100
            answered(3, Side::a, 1000, 600), failed};
}

TEST(SideFigures, CountEachSideAndPairRows) {
    std::vector<Record> records = some_records();
    std::sort(records.begin(), records.end(),
              [](const Record& a, const Record& b) { return a.row < b.row; });
    for (int order = 0; order < 2; ++order) {  // of the records: it does not matter
        BySide sides;
        for (const Record& record : records) {
            sides.add(record);
        }
        const std::optional<SideFigures> figures = sides.figures();
        ASSERT_TRUE(figures);
        EXPECT_EQ(figures->a.url, "http://a");
        EXPECT_EQ(figures->b.url, "http://b");
        EXPECT_EQ(figures->a.requests, 4u);
        EXPECT_EQ(figures->b.requests, 4u);
        EXPECT_EQ(figures->a.completed, 4u);
        EXPECT_EQ(figures->b.completed, 3u);
        EXPECT_EQ(figures->a.failed, 0u);
        EXPECT_EQ(figures->b.failed, 1u);
        EXPECT_EQ(figures->a.ttft.mean, 525);
        EXPECT_EQ(figures->b.ttft.max, 540);
        EXPECT_EQ(figures->a.drift.max, 40);
        EXPECT_EQ(figures->b.drift.max, 100);
        EXPECT_EQ(figures->b.cache_rows, 3u);
        EXPECT_EQ(figures->b.cached_tokens, 48u);
        EXPECT_EQ(figures->b.expected_cached_tokens, 96u);
        EXPECT_EQ(figures->pairs.ttft.count, 3u);
        EXPECT_EQ(figures->pairs.ttft.median(), 20);
        EXPECT_EQ(figures->pairs.a_first.count, 1u);
        EXPECT_EQ(figures->pairs.a_first.mean, 20);
        EXPECT_EQ(figures->pairs.b_first.count, 2u);
        EXPECT_EQ(figures->pairs.b_first.mean, -30);
        EXPECT_EQ(figures->pairs.unpaired, 1u);
        std::reverse(records.begin(), records.end());
    }
}

// Of a run that was killed: one side of a row has a record, the other has none yet.
TEST(SideFigures, RowsOfOneSideAloneAreUnpaired) {
    BySide sides;
    sides.add(answered(5, Side::b, 1010, 500));
    EXPECT_EQ(sides.figures()->pairs.unpaired, 1u);
    EXPECT_EQ(sides.figures()->pairs.ttft.count, 0u);
    EXPECT_EQ(sides.figures()->a.requests, 0u);
}

TEST(SideFigures, OtherRunsHaveNone) {
    BySide sides;
    sides.add(answered(5, Side::none, 1010, 500));
    EXPECT_FALSE(sides.figures());
}

// A drift that the user asked for is not told of.
TEST(SideFigures, LeaveWishesOut) {
    Record held = answered(1, Side::a, 9'000, 500);
    held.late_cause = LateCause::inflight;
    BySide sides;
    sides.add(held);
    EXPECT_EQ(sides.figures()->a.drift.count, 0u);
}

}  // namespace
}  // namespace driftless
