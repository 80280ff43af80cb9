// The warm-up of users: primers first, all places coincide, then further requests of one token; and
// what goes on behind it.
#include "engine/schedule/warm_up.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/engine/schedule/user_play.hpp"

namespace driftless {
namespace {

UserRules entered(std::uint32_t users, double share) {
    UserRules rules = some_users(users);
    rules.start.from = rules.start.to = share;
    return rules;
}

// Two sessions of different lengths, entered in their middles: 0..40 at 20, 0..400 at 200.
UserCorpus two_sessions() {
    UserCorpus corpus;
    for (const std::int64_t step : {std::int64_t{10}, std::int64_t{100}}) {
        const auto session = static_cast<std::uint32_t>(step == 10 ? 0 : 1);
        const auto first = static_cast<std::uint32_t>(corpus.trace.rows.size());
        for (std::uint32_t turn = 0; turn < 5; ++turn) {
            corpus.row(session, 1'000 * one_ms * session + turn * step * one_ms,
                       turn > 0 ? std::vector<std::uint32_t>{first + turn - 1}
                                : std::vector<std::uint32_t>{},
                       step * one_ms);
        }
    }
    return corpus;
}

// Places at 25 ms and 250 ms: primers are 5 ms and 50 ms before them.
TEST(WarmStart, PlacesCoincideBehindAllPrimers) {
    const UserPlay play = play_users(two_sessions(), entered(2, 0.625));
    EXPECT_EQ(play.measured_from_ns, 50 * one_ms);
    EXPECT_EQ(play.sent.size(), 6u);
    EXPECT_EQ(play.due_ns(7), 0);
    EXPECT_EQ(play.due_ns(2), 45 * one_ms);
    EXPECT_EQ(play.due_ns(3), 55 * one_ms);
    EXPECT_EQ(play.due_ns(8), 100 * one_ms);
    EXPECT_EQ(play.due_ns(4), 66 * one_ms) << "by its gap";
    for (const Sent& one : play.sent) {
        const bool primes = one.due.row == 2 || one.due.row == 7;
        EXPECT_EQ(one.due.phase, primes ? Phase::warmup : Phase::profile);
        EXPECT_FALSE(one.due.one_token);
    }
}

TEST(WarmStart, PrimersMayAskForOneToken) {
    UserRules rules = entered(2, 0.625);
    rules.start.prime_one_token = true;
    for (const Sent& one : play_users(two_sessions(), rules).sent) {
        EXPECT_EQ(one.due.one_token, one.due.phase == Phase::warmup);
    }
}

// Caps bound the way from the primer; that of the gap bounds what follows, too.
TEST(WarmStart, CapsBoundTheWayToThePlace) {
    for (const int which : {0, 1, 2}) {
        UserRules rules = entered(2, 0.625);
        std::optional<std::int64_t>& cap_ns = which == 0   ? rules.start.gap_cap_ns
                                              : which == 1 ? rules.idle.tree_ns
                                                           : rules.idle.system_ns;
        cap_ns = 20 * one_ms;
        const UserPlay play = play_users(two_sessions(), rules);
        EXPECT_EQ(play.measured_from_ns, 20 * one_ms) << which;
        EXPECT_EQ(play.due_ns(7), 0) << which;
        EXPECT_EQ(play.due_ns(2), 15 * one_ms) << which;
        EXPECT_EQ(play.due_ns(3), 25 * one_ms) << which;
    }
}

// A primer that is late moves the begin for all.
TEST(WarmStart, BeginsBehindTheLastPrimer) {
    UserRules rules = entered(2, 0.625);
    rules.start.gap_cap_ns = 0;
    const UserPlay play = play_users(two_sessions(), rules);
    EXPECT_EQ(play.measured_from_ns, one_ms);
    EXPECT_EQ(play.due_ns(3), one_ms);
    EXPECT_EQ(play.due_ns(8), one_ms);
}

// What waits for a primer that has failed is not sent; the user continues its next tree, behind
// the begin of the measurement.
TEST(WarmStart, OfAPrimerThatFails) {
    UserCorpus corpus = two_sessions();
    corpus.row(2, 9'000 * one_ms);
    const auto fails = [](const Due& due) { return TurnEnd(due.row != 7); };
    const UserPlay play = play_users(corpus, entered(2, 0.625), fails);
    ASSERT_EQ(play.dropped.size(), 2u);
    EXPECT_EQ(play.dropped[0].row, 8u);
    EXPECT_EQ(play.dropped[0].failed_row, 7u);
    EXPECT_EQ(play.dropped[1].row, 9u);
    EXPECT_EQ(play.measured_from_ns, 50 * one_ms);
    EXPECT_EQ(play.of(10).front().due.phase, Phase::profile);
    EXPECT_GE(play.due_ns(10), 50 * one_ms);
    EXPECT_EQ(play.due_ns(3), 55 * one_ms) << "the other goes on as it would";

    UserRules goes_on = entered(2, 0.625);
    goes_on.failures.rule = FailureRule::go_on;
    EXPECT_TRUE(play_users(corpus, goes_on, fails).dropped.empty());
}

// More users than trees: the same tree is entered in its next pass.
TEST(WarmStart, EntersATreeOncePerPass) {
    UserRules rules = entered(3, 0.625);
    rules.recycle = true;
    rules.for_ns = 200 * one_ms;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> times;  // [pass, row]
    for (const Sent& one : play_users(two_sessions(), rules).sent) {
        EXPECT_EQ(++times[std::pair(one.due.pass, one.due.row)], 1u)
            << "pass " << one.due.pass << ", row " << one.due.row;
    }
}

// N of each user go out at once behind each other, of one token; the next has its gap behind the
// begin.
TEST(WarmupRequests, AreSoManyOfEachUser) {
    for (std::uint32_t requests = 1; requests <= 4; ++requests) {
        UserCorpus corpus;
        corpus.chain(0, 6, 30 * one_ms).chain(1, 6, 30 * one_ms);
        UserRules rules = some_users(2);
        rules.start.warmup_requests = requests;
        const UserPlay play = play_users(corpus, rules);
        EXPECT_EQ(play.sent.size(), 12u);
        EXPECT_EQ(play.measured_from_ns, requests * one_ms);
        for (std::uint32_t turn = 0; turn < 6; ++turn) {
            const bool warms_up = turn < requests;
            const std::int64_t due_ns =
                warms_up ? turn * one_ms
                         : requests * one_ms + (turn - requests) * 31 * one_ms + 30 * one_ms;
            for (const std::uint32_t row : {turn, turn + 6}) {
                EXPECT_EQ(play.due_ns(row), due_ns) << row;
                EXPECT_EQ(play.of(row).front().due.one_token, warms_up) << row;
                EXPECT_EQ(play.of(row).front().due.phase,
                          warms_up ? Phase::warmup : Phase::profile);
            }
        }
    }
}

// More than a tree has: the next trees warm up, too.
TEST(WarmupRequests, GoOnInTheNextTree) {
    UserCorpus corpus;
    corpus.chain(0, 2, 30 * one_ms).chain(1, 3, 30 * one_ms);
    UserRules rules = some_users(1);
    rules.start.warmup_requests = 3;
    const UserPlay play = play_users(corpus, rules);
    ASSERT_EQ(play.sent.size(), 5u);
    EXPECT_EQ(play.due_ns(2), 2 * one_ms);
    EXPECT_EQ(play.measured_from_ns, 3 * one_ms);
    EXPECT_EQ(play.due_ns(3), 33 * one_ms);
    rules.start.warmup_requests = 9;
    const UserPlay all = play_users(corpus, rules);
    EXPECT_EQ(all.sent.size(), 5u);
    EXPECT_EQ(all.measured_from_ns, 5 * one_ms) << "nothing is left to measure";
}

// A turn that joins a sub-agent: the gap behind the turn before it had been known for long, and
// is none in the warm-up.
TEST(WarmupRequests, HaveNoGapsBehindSeveralParents) {
    UserCorpus corpus;
    corpus.row(0, 0);                                // 0
    corpus.row(1, 10 * one_ms, {0});                 // 1
    corpus.row(1, 20 * one_ms, {1});                 // 2
    corpus.row(0, 900 * one_ms, {0}, 800 * one_ms);  // 3 joins 2
    corpus.trace.dependencies.push_back({3, 2, Trigger::completion, 0});
    UserRules rules = some_users(1);
    rules.start.warmup_requests = 4;
    const UserPlay play = play_users(corpus, rules);
    ASSERT_EQ(play.sent.size(), 4u);
    EXPECT_EQ(play.due_ns(3), 3 * one_ms);
    EXPECT_TRUE(play.of(3).front().due.one_token);
}

// Primers do not count, and have all ended before.
TEST(WarmupRequests, ComeBehindThePrimers) {
    UserRules rules = entered(2, 0.625);
    rules.start.warmup_requests = 1;
    const UserPlay play = play_users(two_sessions(), rules);
    ASSERT_EQ(play.sent.size(), 6u);
    EXPECT_EQ(play.due_ns(3), 50 * one_ms);
    EXPECT_EQ(play.due_ns(8), 50 * one_ms);
    EXPECT_TRUE(play.of(3).front().due.one_token);
    EXPECT_FALSE(play.of(2).front().due.one_token);
    EXPECT_EQ(play.measured_from_ns, 51 * one_ms);
    EXPECT_EQ(play.due_ns(4), 61 * one_ms);
    EXPECT_EQ(play.due_ns(9), 151 * one_ms);
}

// Whatever it is stopped in, what is open ends and nothing more goes out.
TEST(WarmupRequests, AStopInTheWarmUp) {
    for (std::uint32_t sent_before = 1; sent_before <= 6; ++sent_before) {
        UserRules rules = entered(2, 0.625);
        rules.start.warmup_requests = 1;
        const UserCorpus corpus = two_sessions();
        Schedule schedule(corpus.trace, corpus.plan, {}, rules);
        std::vector<Due> open;
        std::uint32_t sent = 0;
        while (sent < sent_before) {
            if (schedule.peek() == nullptr || open.size() == 2) {
                schedule.ended(open.front(), open.front().due_ns + one_ms, true);
                open.erase(open.begin());
                continue;
            }
            open.push_back(schedule.take());
            schedule.fired(open.back(), open.back().due_ns);
            ++sent;
        }
        schedule.stop();
        while (schedule.peek() != nullptr) {  // known ones are told of
            open.push_back(schedule.take());
        }
        for (const Due& due : open) {
            EXPECT_FALSE(schedule.over());
            schedule.ended(due, due.due_ns + one_ms, false);
        }
        EXPECT_EQ(schedule.peek(), nullptr);
        EXPECT_FALSE(schedule.dropped());
        EXPECT_TRUE(schedule.over()) << sent_before;
    }
}

}  // namespace
}  // namespace driftless
