// Rules of users: caps on idle time, what follows a failure, and the end of the time.
#include "engine/schedule/user_rules.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/engine/schedule/user_play.hpp"

namespace driftless {
namespace {

constexpr std::int64_t second_ns = 1'000 * one_ms;

TEST(FailurePause, DoublesFromATenthToHalfAMinute) {
    EXPECT_EQ(failure_pause_ns(1), 100 * one_ms);
    for (std::uint32_t failures = 1; failures < 9; ++failures) {
        EXPECT_EQ(failure_pause_ns(failures + 1), 2 * failure_pause_ns(failures));
    }
    EXPECT_EQ(failure_pause_ns(9), 25'600 * one_ms);
    EXPECT_EQ(failure_pause_ns(10), 30 * second_ns);
    EXPECT_EQ(failure_pause_ns(11), 30 * second_ns);
    EXPECT_EQ(failure_pause_ns(UINT32_MAX), 30 * second_ns);
}

// The idle time of a tree, at the cap - 1, the cap, and the cap + 1.
TEST(IdleCaps, OfATree) {
    for (const std::int64_t gap_ns : {5 * second_ns - 1, 5 * second_ns, 5 * second_ns + 1}) {
        UserCorpus corpus;
        corpus.chain(0, 3, gap_ns);
        UserRules rules = some_users(1);
        rules.idle.tree_ns = 5 * second_ns;
        const UserPlay play = play_users(corpus, rules);
        const std::int64_t wanted_ns = std::min(gap_ns, 5 * second_ns);
        EXPECT_EQ(play.due_ns(1), one_ms + wanted_ns);
        EXPECT_EQ(play.due_ns(2), 2 * (one_ms + wanted_ns));
        EXPECT_EQ(play.idle.tree_jumps, gap_ns > wanted_ns ? 2u : 0u);
        EXPECT_EQ(play.idle.tree_skipped_ns, 2 * (gap_ns - wanted_ns));
    }
}

// All of the tree moves by one amount: neither order nor distances change, and what is in flight
// counts as not idle.
TEST(IdleCaps, MoveATreeAsAWhole) {
    UserCorpus corpus;
    corpus.row(0, 0);
    corpus.row(1, 20 * second_ns, {0}, 20 * second_ns);
    corpus.row(2, 23 * second_ns, {0}, 23 * second_ns);
    corpus.row(3, 23 * second_ns, {0}, 23 * second_ns);
    corpus.row(4, 40 * second_ns, {0}, 40 * second_ns);
    UserRules rules = some_users(1);
    rules.idle.tree_ns = 5 * second_ns;
    const UserPlay play = play_users(corpus, rules);
    EXPECT_EQ(play.due_ns(1), one_ms + 5 * second_ns);
    EXPECT_EQ(play.due_ns(2), one_ms + 8 * second_ns);
    EXPECT_EQ(play.due_ns(3), one_ms + 8 * second_ns);
    EXPECT_EQ(play.due_ns(4), 2 * one_ms + 13 * second_ns);
    EXPECT_EQ(play.idle.tree_jumps, 2u);
}

// The other tree is not touched, and keeps the whole from being idle.
TEST(IdleCaps, OfOneTreeLeaveTheOthers) {
    UserCorpus corpus;
    corpus.chain(0, 2, 20 * second_ns).chain(1, 2, 4 * second_ns);
    UserRules rules = some_users(2);
    rules.idle.tree_ns = 5 * second_ns;
    const UserPlay play = play_users(corpus, rules);
    EXPECT_EQ(play.due_ns(1), one_ms + 5 * second_ns);
    EXPECT_EQ(play.due_ns(3), one_ms + 4 * second_ns);
}

// Nothing at all is in flight: all move by the same, of whatever tree.
TEST(IdleCaps, OfTheSystem) {
    UserCorpus corpus;
    corpus.chain(0, 2, 20 * second_ns).chain(1, 2, 33 * second_ns);
    UserRules rules = some_users(2);
    rules.idle.system_ns = 10 * second_ns;
    const UserPlay play = play_users(corpus, rules);
    EXPECT_EQ(play.due_ns(1), one_ms + 10 * second_ns);
    EXPECT_EQ(play.due_ns(3), 2 * one_ms + 20 * second_ns) << "13 s behind, cut again";
    EXPECT_EQ(play.idle.system_jumps, 2u);
    EXPECT_EQ(play.idle.tree_jumps, 0u);
}

// First each tree is capped, then the system: 30 and 12 become 8 and 8, and 5 and 5.
TEST(IdleCaps, OfTreesComeFirst) {
    UserCorpus corpus;
    corpus.chain(0, 2, 30 * second_ns).chain(1, 2, 12 * second_ns);
    UserRules rules = some_users(2);
    rules.idle.tree_ns = 8 * second_ns;
    rules.idle.system_ns = 5 * second_ns;
    const UserPlay play = play_users(corpus, rules);
    EXPECT_EQ(play.due_ns(1), one_ms + 5 * second_ns);
    EXPECT_EQ(play.due_ns(3), one_ms + 5 * second_ns);
    EXPECT_EQ(play.idle.tree_skipped_ns, (30 - 8 + 12 - 8) * second_ns);
    EXPECT_EQ(play.idle.system_skipped_ns, 3 * second_ns);
}

// Fails the first attempts of that row.
Answers failing(std::uint32_t row, std::uint32_t times) {
    return [=](const Due& due) { return TurnEnd(due.row != row || due.attempt >= times); };
}

UserRules retrying(std::uint32_t times) {
    UserRules rules = some_users(1);
    rules.failures.rule = FailureRule::retry;
    rules.failures.retries_max = times;
    return rules;
}

// A pause is no idle time of the trace.
TEST(IdleCaps, ShortenNoPause) {
    UserCorpus corpus;
    corpus.chain(0, 2, second_ns);
    UserRules rules = retrying(5);
    rules.idle.tree_ns = rules.idle.system_ns = 10 * one_ms;
    const UserPlay play = play_users(corpus, rules, failing(0, 3));
    const std::vector<Sent> first = play.of(0);
    ASSERT_EQ(first.size(), 4u);
    EXPECT_EQ(first[1].due.due_ns, 101 * one_ms);
    EXPECT_EQ(first[2].due.due_ns, 302 * one_ms);
    EXPECT_EQ(first[3].due.due_ns, 703 * one_ms);
    EXPECT_EQ(play.due_ns(1), 714 * one_ms);
}

// What is sent again within the cap ends the idle time: the rest need not move for it.
TEST(IdleCaps, CountUntilWhatIsSentAgain) {
    for (const bool of_tree : {true, false}) {
        UserCorpus corpus;
        corpus.row(0, 0);
        corpus.row(1, 1'050 * one_ms);
        UserRules rules = retrying(1);
        corpus.trace.dependencies.push_back({1, 0, Trigger::dispatch, 1'050 * one_ms});
        (of_tree ? rules.idle.tree_ns : rules.idle.system_ns) = second_ns;
        const UserPlay play = play_users(corpus, rules, failing(0, 1));
        ASSERT_EQ(play.of(0).size(), 2u);
        EXPECT_EQ(play.of(0)[1].due.due_ns, 101 * one_ms);
        EXPECT_EQ(play.due_ns(1), 1'050 * one_ms) << of_tree;
    }
}

// Hidden behind --for, and moved into it by a cap.
TEST(IdleCaps, MoveIntoTheTime) {
    UserCorpus corpus;
    corpus.chain(0, 3, 20 * second_ns);
    UserRules rules = some_users(1);
    rules.for_ns = 15 * second_ns;
    EXPECT_EQ(play_users(corpus, rules).sent.size(), 1u);
    for (const bool of_tree : {true, false}) {
        UserRules capped = rules;
        (of_tree ? capped.idle.tree_ns : capped.idle.system_ns) = 6 * second_ns;
        const UserPlay play = play_users(corpus, capped);
        EXPECT_EQ(play.sent.size(), 3u) << of_tree;
        EXPECT_EQ(play.due_ns(2), 2 * (6 * second_ns + one_ms)) << of_tree;
        capped.for_ns = play.due_ns(2);
        EXPECT_EQ(play_users(corpus, capped).sent.size(), 2u) << of_tree;
        capped.for_ns = play.due_ns(2) + 1;
        EXPECT_EQ(play_users(corpus, capped).sent.size(), 3u) << of_tree;
    }
}

// The turns behind a failed one fall with it; what does not wait for it goes on.
TEST(Failures, EndTheTree) {
    UserCorpus corpus;
    corpus.row(0, 0);
    corpus.row(0, 10 * one_ms, {0}, 5 * one_ms);
    corpus.row(1, 10 * one_ms, {0}, 5 * one_ms);
    corpus.row(0, 20 * one_ms, {1});
    corpus.row(1, 20 * one_ms, {2});
    const UserPlay play = play_users(corpus, some_users(1), failing(1, 99));
    EXPECT_EQ(play.sent.size(), 4u);
    ASSERT_EQ(play.dropped.size(), 1u);
    EXPECT_EQ(play.dropped[0].row, 3u);
    EXPECT_EQ(play.dropped[0].failed_row, 1u);
    EXPECT_EQ(play.due_ns(4), 7 * one_ms);
}

TEST(Failures, AreContinuedBehind) {
    UserCorpus corpus;
    corpus.chain(0, 3, 5 * one_ms);
    UserRules rules = some_users(1);
    rules.failures.rule = FailureRule::go_on;
    const UserPlay play = play_users(corpus, rules, [](const Due&) { return TurnEnd(false); });
    EXPECT_TRUE(play.dropped.empty());
    ASSERT_EQ(play.sent.size(), 3u);
    EXPECT_EQ(play.due_ns(1), 6 * one_ms);
    EXPECT_EQ(play.due_ns(2), 12 * one_ms);
}

// N attempts more at most, each behind a longer pause; then as a tree that ends.
TEST(Failures, AreSentAgain) {
    for (const std::uint32_t times : {1u, 2u, 30u}) {
        UserCorpus corpus;
        corpus.chain(0, 2, 5 * one_ms);
        const UserPlay play = play_users(corpus, retrying(times), failing(0, times));
        const std::vector<Sent> first = play.of(0);
        ASSERT_EQ(first.size(), times + 1);
        for (std::uint32_t attempt = 0; attempt < first.size(); ++attempt) {
            EXPECT_EQ(first[attempt].due.attempt, attempt);
            if (attempt > 0) {
                EXPECT_EQ(first[attempt].due.due_ns,
                          first[attempt - 1].end_ns + failure_pause_ns(attempt));
            }
        }
        EXPECT_EQ(play.due_ns(1), first.back().end_ns + 5 * one_ms);
        const UserPlay failed = play_users(corpus, retrying(times), failing(0, times + 1));
        EXPECT_EQ(failed.of(0).size(), times + 1);
        EXPECT_TRUE(failed.of(1).empty());
        ASSERT_EQ(failed.dropped.size(), 1u);
    }
}

// After a 429 when its server says, or behind the pause of any failure; 31 times at most.
TEST(Failures, WaitFor429) {
    UserCorpus corpus;
    corpus.chain(0, 2, 5 * one_ms);
    UserRules rules = some_users(1);
    rules.failures.waits_for_429 = true;
    for (const std::int64_t said_ns : {std::int64_t{0}, 3 * second_ns, TurnEnd::unknown}) {
        const auto busy = [said_ns](std::uint32_t times) {
            return [=](const Due& due) {
                TurnEnd end(due.row != 0 || due.attempt >= times);
                end.is_429 = !end.answered;
                end.retry_after_ns = end.answered ? TurnEnd::unknown : said_ns;
                return end;
            };
        };
        const UserPlay play = play_users(corpus, rules, busy(3));
        const std::vector<Sent> first = play.of(0);
        ASSERT_EQ(first.size(), 4u);
        for (std::uint32_t attempt = 1; attempt < 4; ++attempt) {
            EXPECT_EQ(first[attempt].due.due_ns - first[attempt - 1].end_ns,
                      said_ns == TurnEnd::unknown ? failure_pause_ns(attempt) : said_ns);
        }
        EXPECT_EQ(play.sent.size(), 5u);
        EXPECT_EQ(play_users(corpus, rules, busy(31)).of(0).size(), 32u);
        EXPECT_EQ(play_users(corpus, rules, busy(32)).dropped.size(), 1u);
    }
    EXPECT_EQ(play_users(corpus, rules, failing(0, 1)).sent.size(), 1u) << "another failure";
}

// A further attempt that would be due when the time is up does not exist.
TEST(Failures, AreNotSentAgainBehindTheTime) {
    UserCorpus corpus;
    corpus.chain(0, 2, 5 * one_ms);
    for (const std::int64_t for_ns : {100 * one_ms, 101 * one_ms, 101 * one_ms + 1}) {
        UserRules rules = retrying(3);
        rules.for_ns = for_ns;
        const UserPlay play = play_users(corpus, rules, failing(0, 1));
        EXPECT_EQ(play.of(0).size(), for_ns > 101 * one_ms ? 2u : 1u) << for_ns;
        EXPECT_TRUE(play.dropped.empty());
    }
}

// Trees in which nothing is answered: each begins behind a longer pause, until one is answered.
TEST(Failures, PauseBetweenTreesInVain) {
    UserCorpus corpus;
    for (std::uint32_t session = 0; session < 6; ++session) {
        corpus.chain(session, 1, 0);
    }
    const UserPlay play =
        play_users(corpus, some_users(1), [](const Due& due) { return TurnEnd(due.row >= 3); });
    ASSERT_EQ(play.sent.size(), 6u);
    EXPECT_EQ(play.due_ns(1), 101 * one_ms);
    EXPECT_EQ(play.due_ns(2), 302 * one_ms);
    EXPECT_EQ(play.due_ns(3), 703 * one_ms);
    EXPECT_EQ(play.due_ns(4), 704 * one_ms);
    EXPECT_EQ(play.due_ns(5), 705 * one_ms);
}

// Behind the warm-up nothing is due in time; with no primers, not even before it.
TEST(EndOfTheTime, WithNothingDueInIt) {
    UserCorpus corpus;
    corpus.row(0, 0);
    corpus.row(0, 100 * one_ms, {0});
    UserRules rules = some_users(1);
    rules.start.from = rules.start.to = 0.5;
    for (const std::int64_t for_ns : {std::int64_t{1}, 50 * one_ms, 50 * one_ms + 1}) {
        rules.for_ns = for_ns;
        const UserPlay play = play_users(corpus, rules);
        EXPECT_EQ(play.sent.size(), for_ns > 50 * one_ms ? 2u : 1u);
        EXPECT_EQ(play.measured_from_ns, 50 * one_ms);
    }
    UserCorpus other;  // a parent that is over, and its agent that has not begun
    other.row(0, 0);
    other.row(1, 100 * one_ms, {0});
    rules.for_ns = 50 * one_ms;
    const UserPlay none = play_users(other, rules);
    EXPECT_TRUE(none.sent.empty());
    EXPECT_EQ(none.measured_from_ns, 0);
    rules.for_ns = 50 * one_ms + 1;
    EXPECT_EQ(play_users(other, rules).sent.size(), 1u);
    rules.for_ns = one_ms;
    rules.idle.tree_ns = 0;
    EXPECT_EQ(play_users(other, rules).sent.size(), 1u) << "moved to the begin";
}

// The time counts from the begin of the measurement, not from time 0.
TEST(EndOfTheTime, CountsBehindTheWarmUp) {
    UserCorpus corpus;
    corpus.chain(0, 6, 9 * one_ms);
    UserRules rules = some_users(1);
    rules.start.warmup_requests = 2;
    for (const auto& [for_ns, sent] : {std::pair(9 * one_ms, 2u),
                                       {9 * one_ms + 1, 3u},
                                       {19 * one_ms, 3u},
                                       {19 * one_ms + 1, 4u}}) {
        rules.for_ns = for_ns;
        EXPECT_EQ(play_users(corpus, rules).sent.size(), sent) << for_ns;
    }
}

// However often turns are sent again before anybody arms them, what is told of them is bounded.
TEST(UserRules, TellOnceWhatIsToBeArmed) {
    UserCorpus corpus;
    for (std::uint32_t session = 0; session < 3; ++session) {
        corpus.chain(session, 2, one_ms);
    }
    UserRules rules;
    rules.users = 3;
    rules.failures.waits_for_429 = true;
    Schedule schedule(corpus.trace, corpus.plan, Speed(), rules);
    TurnEnd refused = false;
    refused.is_429 = true;
    std::uint32_t sent = 0;
    while (schedule.peek() != nullptr) {
        const Due due = schedule.take();
        schedule.fired(due, due.due_ns);
        schedule.ended(due, due.due_ns + one_ms, refused);
        ++sent;
        while (const std::optional<Due> dropped = schedule.dropped()) {
            schedule.take_dropped();
            schedule.ended(*dropped, due.due_ns + one_ms, false);
        }
    }
    EXPECT_EQ(sent, 3 * (Due::attempts_max + 1U));
    EXPECT_TRUE(schedule.over());
}

}  // namespace
}  // namespace driftless
