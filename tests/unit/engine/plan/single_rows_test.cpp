// `--concurrency`: so many rows are open, the next one of the file is due at the instant at which
// any of them ends, whatever its session waited for.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/engine/plan/user_play.hpp"

namespace driftless {
namespace {

UserCorpus rows_of_sessions(std::uint32_t rows) {
    UserCorpus corpus;
    for (std::uint32_t row = 0; row < rows; ++row) {
        corpus.row(row % 2, 1'000 * one_ms * row);
    }
    for (Planned& planned : corpus.plan.rows) {
        planned.due_ns = 0;
    }
    return corpus;
}

UserRules open_rows(std::uint32_t count) {
    UserRules rules = some_users(count);
    rules.single_rows = true;
    return rules;
}

// All take 1 ms: three at 0, three at 1 ms, ..
TEST(SingleRows, AreDueWhenOneHasEnded) {
    const UserPlay play = play_users(rows_of_sessions(8), open_rows(3));
    ASSERT_EQ(play.sent.size(), 8u);
    for (std::uint32_t row = 0; row < 8; ++row) {
        EXPECT_EQ(play.sent[row].due.row, row);
        EXPECT_EQ(play.due_ns(row), one_ms * (row / 3));
    }
}

// One answer takes long: the others are not held up by it, and no row waits for its place.
TEST(SingleRows, AreTakenByWhoeverIsFree) {
    const UserCorpus corpus = rows_of_sessions(6);
    Schedule schedule(corpus.trace, corpus.plan, {}, open_rows(2));
    const Due slow = schedule.take();
    schedule.fired(slow, 0);
    std::int64_t now_ns = 0;
    for (std::uint32_t row = 1; row < 6; ++row) {
        const Due due = schedule.take();
        EXPECT_EQ(due.row, row);
        EXPECT_EQ(due.due_ns, now_ns);
        schedule.fired(due, now_ns);
        EXPECT_EQ(schedule.peek(), nullptr);
        now_ns += one_ms;
        schedule.ended(due, now_ns, true);
    }
    EXPECT_FALSE(schedule.over());
    schedule.ended(slow, now_ns, true);
    EXPECT_TRUE(schedule.over());
}

// More places than rows: all at once.
TEST(SingleRows, MayBeFewerThanPlaces) {
    const UserPlay play = play_users(rows_of_sessions(3), open_rows(8));
    EXPECT_EQ(play.sent.size(), 3u);
    EXPECT_EQ(play.due_ns(2), 0);
}

// The place of a row that failed pauses; a row that is sent again keeps its place.
TEST(SingleRows, PauseBehindAFailure) {
    UserRules rules = open_rows(1);
    const auto fails = [](const Due& due) { return TurnEnd(due.row != 0 || due.attempt > 0); };
    EXPECT_EQ(play_users(rows_of_sessions(2), rules, fails).due_ns(1), one_ms * 101);
    rules.failures = {FailureRule::retry, 1, false};
    const UserPlay again = play_users(rows_of_sessions(2), rules, fails);
    ASSERT_EQ(again.of(0).size(), 2u);
    EXPECT_EQ(again.of(0)[1].due.due_ns, one_ms * 101);
    EXPECT_EQ(again.due_ns(1), one_ms * 102);
}

// The file begins anew, as another pass, until the time is up.
TEST(SingleRows, Recycle) {
    UserRules rules = open_rows(2);
    rules.recycle = true;
    rules.for_ns = 10 * one_ms;
    const UserPlay play = play_users(rows_of_sessions(3), rules);
    ASSERT_EQ(play.sent.size(), 20u);
    for (const Sent& one : play.sent) {  // those of one instant go in any order
        const std::uint32_t number = one.due.pass * 3 + one.due.row;
        EXPECT_EQ(one.due.due_ns, one_ms * (number / 2)) << number;
    }
}

}  // namespace
}  // namespace driftless
