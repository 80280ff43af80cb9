// Durations, answers and gaps of trees that are worked out by hand.
#include "engine/stats/tree_figures.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

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
    Record unsent;
    unsent.row = 5;
    unsent.session = "waits";
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
