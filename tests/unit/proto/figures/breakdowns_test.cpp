// Which URL's prompts are off, where a run has several.

#include "proto/figures/breakdowns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "proto/figures/summary.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

/// Six rows over two servers that count so many tokens more than the trace does.
std::string explanation(std::int64_t first_off, std::int64_t second_off) {
    Summary summary;
    for (std::uint32_t row = 0; row < 6; ++row) {
        Record record{.row = row, .fired_ns = 1000, .input_length = 100, .outcome = Outcome::ok};
        record.expected_cached_tokens = 0;  // it is not recorded text
        record.url = row % 2 == 0 ? "http://a" : "http://b";
        record.prompt_tokens = 100 + (row % 2 == 0 ? first_off : second_off);
        record.prompt_tokens_off = row % 2 == 0 ? first_off : second_off;
        summary.add(record);
    }
    return summary.figures().prompts.explanation;
}

// One of two servers adds 8 tokens to each prompt.
TEST(ByUrl, NamesTheUrlWhosePromptsAreOff) {
    const std::string text = explanation(0, 8);
    EXPECT_EQ(text.find("at http://b 3 of 3 prompts are off by up to +8 tokens, elsewhere none: "
                        "serve"),
              0u)
        << text;
}

// All servers alike: the cause is that of all of them, and --overhead is its remedy.
TEST(ByUrl, NamesNoUrlWhereAllAreOffAlike) {
    const std::string text = explanation(8, 8);
    EXPECT_TRUE(says(text, "--overhead"));
}

// The two sides of a run beside each other, by hand: what each did, and the differences of the rows
// that both have answered, by who went first.

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

// Durations, answers and gaps of trees that are worked out by hand.

constexpr std::int64_t second = 1'000'000'000;

Record turn_of(const char* tree, std::uint32_t row, std::int64_t from_s, std::int64_t to_s) {
    Record record;
    record.row = row;
    record.session = tree;
    record.tree = tree;
    record.fired_ns = from_s * second;
    record.ended_ns = to_s * second;
    record.prompt_tokens = 100;
    record.cached_tokens = 40;
    record.output_tokens = 10;
    record.outcome = Outcome::ok;
    return record;
}

TEST(TreeFigures, OfOneTree) {
    TreeFigures trees;
    trees.add(turn_of("a", 0, 0, 10));
    trees.add(turn_of("a", 2, 8, 12));   // beside it: an agent
    trees.add(turn_of("a", 1, 15, 20));  // after a gap of 3 s
    const TreeTotals totals = trees.totals(1800 * second);
    EXPECT_EQ(totals.trees, 1U);
    EXPECT_EQ(totals.finished, 1U);
    EXPECT_EQ(totals.duration_s.max, 20);
    EXPECT_EQ(totals.answer_s.max, 17);
    EXPECT_EQ(totals.gap_s.max, 3);
    EXPECT_EQ(totals.turns.max, 3);
    EXPECT_EQ(totals.computed.max, 180);
    EXPECT_EQ(totals.cached.max, 120);
    EXPECT_EQ(totals.output.max, 30);
    EXPECT_EQ(totals.jobs_per_hour, 2);
    EXPECT_FALSE(totals.jobs_per_hour_per_user.has_value());
}

TEST(TreeFigures, OnlyFinishedOnesAreJobs) {
    TreeFigures trees;
    trees.add(turn_of("good", 0, 0, 1));
    trees.add(turn_of("bad", 1, 0, 1));
    Record failed = turn_of("bad", 2, 2, 3);
    failed.outcome = Outcome::http_5xx;
    trees.add(failed);
    Record cut = turn_of("cut", 3, 0, 1);
    cut.outcome = Outcome::cancelled;
    cut.censored = true;
    trees.add(cut);
    Record unsent{.row = 5, .session = "waits"};
    trees.add(unsent);
    Record alone = turn_of("x", 6, 0, 1);
    alone.session.reset();
    alone.tree.reset();
    trees.add(alone);
    Record warm = turn_of("warm", 7, 0, 1);
    warm.phase = Phase::warmup;
    trees.add(warm);
    const TreeTotals totals = trees.totals(3600 * second);
    EXPECT_EQ(totals.trees, 4U);
    EXPECT_EQ(totals.finished, 1U);
    EXPECT_EQ(totals.failed, 1U);
    EXPECT_EQ(totals.unfinished, 2U);
    EXPECT_EQ(totals.rows_alone, 1U);
    EXPECT_EQ(totals.jobs_per_hour, 1);
}

// It failed once, was sent again, and is a job all the same.
TEST(TreeFigures, ARetryCountsByItsLastTry) {
    TreeFigures trees;
    Record failed = turn_of("a", 0, 0, 1);
    failed.outcome = Outcome::http_5xx;
    trees.add(failed);
    Record again = turn_of("a", 0, 2, 3);
    again.attempt = 1;
    trees.add(again);
    EXPECT_EQ(trees.totals(second).finished, 1U);
    EXPECT_EQ(trees.totals(second).turns.max, 1);
}

// Passes and users are trees of their own; the jobs of all users are shared out among them.
TEST(TreeFigures, UsersPlayTreesOfTheirOwn) {
    TreeFigures trees;
    for (std::uint32_t user = 0; user < 4; ++user) {
        for (std::uint32_t pass = 0; pass < 2; ++pass) {
            Record record = turn_of("a", 0, 2 * pass, 2 * pass + 1);
            record.user = user;
            record.pass = pass;
            record.cached_tokens.reset();
            trees.add(record);
        }
    }
    const TreeTotals totals = trees.totals(3600 * second);
    EXPECT_EQ(totals.finished, 8U);
    EXPECT_EQ(totals.users, 4U);
    EXPECT_EQ(totals.jobs_per_hour_per_user, 2);
    EXPECT_EQ(totals.computed.count, 0U) << "no server told what it had computed";
    EXPECT_FALSE(TreeFigures().totals(0).jobs_per_hour.has_value());
}

}  // namespace

}  // namespace driftless
