// Users play one tree each: as many are live as there are users, each to its end, in order, as
// often as they may.

#include "engine/plan/users.hpp"

#include "tests/unit/engine/plan/user_play.hpp"

namespace driftless {
namespace {

// Sessions of so many turns each, 1 ms apart, one wholly behind the other in the file.
UserCorpus corpus_of(const std::vector<std::uint32_t>& turns) {
    UserCorpus corpus;
    for (std::uint32_t session = 0; session < turns.size(); ++session) {
        corpus.chain(session, turns[session], one_ms);
    }
    return corpus;
}

UserRules rules(std::uint32_t users, bool recycle = false,
                std::optional<std::int64_t> for_ns = std::nullopt) {
    return {.users = users, .recycle = recycle, .for_ns = for_ns};
}

std::uint32_t session_of(const UserCorpus& corpus, const Sent& one) {
    return corpus.trace.rows[one.due.row].session;
}

TEST(Users, PlayOneTreeEach) {
    const UserCorpus corpus = corpus_of({3, 2, 1, 4, 1});
    const std::vector<Sent> sent = play_users(corpus, rules(2)).sent;
    ASSERT_EQ(sent.size(), 11u);
    std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> lives;  // [session] from, to
    for (const Sent& one : sent) {
        const auto [life, is_new] =
            lives.try_emplace(session_of(corpus, one), one.due.due_ns, one.end_ns);
        life->second.second = std::max(life->second.second, one.end_ns);
        EXPECT_LT(one.due.user, 2u);
        EXPECT_EQ(one.due.pass, 0u);
    }
    ASSERT_EQ(lives.size(), 5u);
    for (const auto& [session, life] : lives) {
        const auto live = std::count_if(lives.begin(), lives.end(), [&](const auto& other) {
            return other.second.first <= life.first && life.first < other.second.second;
        });
        EXPECT_LE(live, 2) << session;
    }
    EXPECT_EQ(std::tuple(lives[0].first, lives[1].first), std::tuple(0, 0));
    EXPECT_EQ(lives[2].first, lives[1].second) << "the next begins when one has ended";
    EXPECT_EQ(lives[3].first, lives[2].second);
    EXPECT_EQ(lives[4].first, lives[0].second);
}

TEST(Users, BeginWithinTheRampWithNextTreesArmed) {
    UserRules some = rules(4);
    some.ramp_ns = 4'000;
    some.seed = 7;
    const std::vector<Sent> sent = play_users(corpus_of({1, 1, 1, 1}), some).sent;
    ASSERT_EQ(sent.size(), 4u);
    EXPECT_EQ(sent[0].due.due_ns, 0);
    for (int user = 1; user < 4; ++user) {
        EXPECT_GE(sent[user].due.due_ns, 1'000 * user);
        EXPECT_LT(sent[user].due.due_ns, 1'000 * (user + 1));
    }
    // Its first request is armed while the last answer of the tree before still comes.
    const UserCorpus other_corpus = corpus_of({1, 1});
    Schedule schedule = other_corpus.schedule(rules(1));
    const Due first = schedule.take();
    schedule.pass(Lookahead::arming, first);
    EXPECT_FALSE(schedule.within(Lookahead::arming, INT64_MAX));
    schedule.fired(first, 0);
    EXPECT_EQ(schedule.within(Lookahead::arming, INT64_MAX).value().row, 1u);
    EXPECT_EQ(schedule.peek(), nullptr);
    schedule.ended(first, 500, true);
    ASSERT_NE(schedule.peek(), nullptr);
    EXPECT_EQ(schedule.peek()->due_ns, 500);
}

// One playing of a tree.
struct Play {
    std::int64_t drawn_ns = 0;  ///< or later: nothing of the user's tree before had still to leave
    std::int64_t end_ns = 0;
    std::uint32_t turns = 0;
};
using Plays = std::map<std::pair<std::uint32_t, std::uint32_t>, Play>;  // [pass, session]

Plays plays_of(const UserCorpus& corpus, const std::vector<Sent>& sent) {
    Plays plays;
    std::map<std::uint32_t, std::int64_t> left_ns;  // [user]
    for (const Sent& one : sent) {
        const auto [play, is_new] = plays.try_emplace({one.due.pass, session_of(corpus, one)});
        play->second.drawn_ns = is_new ? left_ns[one.due.user] : play->second.drawn_ns;
        play->second.end_ns = std::max(play->second.end_ns, one.end_ns);
        ++play->second.turns;
        left_ns[one.due.user] = one.due.due_ns;
    }
    return plays;
}

// How many of that session, of passes before, had not ended when the next tree behind it was drawn.
std::uint32_t played_beside(const Plays& plays, std::uint32_t pass, std::uint32_t session) {
    const std::int64_t drawn_ns = plays.upper_bound({pass, session})->second.drawn_ns;
    std::uint32_t count = 0;
    for (const auto& [which, play] : plays) {
        const bool before = which.first < pass && which.second == session;
        count += before && play.end_ns >= drawn_ns ? 1 : 0;
    }
    return count;
}

// Every pass plays every tree once, but one whose copies are all still being played.
TEST(Users, BeginTheCorpusAnew) {
    for (const std::uint32_t users : {1u, 2u, 3u, 5u, 7u}) {
        const UserCorpus corpus = corpus_of({3, 2, 1});
        const std::vector<Sent> sent = play_users(corpus, rules(users, true, 200 * one_ms)).sent;
        std::set<std::pair<std::uint32_t, std::uint32_t>> rows;  // pass, row
        for (const Sent& one : sent) {
            EXPECT_LT(one.due.due_ns, 200 * one_ms);
            EXPECT_TRUE(rows.emplace(one.due.pass, one.due.row).second);
        }
        const Plays plays = plays_of(corpus, sent);
        const std::uint32_t last_pass = plays.rbegin()->first.first;
        const std::uint32_t copies = 1 + (users + 2) / 3;
        EXPECT_GT(last_pass, 10u);
        std::uint32_t passed_over = 0;
        for (std::uint32_t pass = 0; pass + 10 < last_pass; ++pass) {
            for (const std::uint32_t session : {0u, 1u, 2u}) {
                const auto found = plays.find({pass, session});
                if (found != plays.end()) {
                    EXPECT_EQ(found->second.turns, 3 - session) << pass;
                    continue;
                }
                ++passed_over;
                EXPECT_GE(played_beside(plays, pass, session), copies)
                    << users << " users, pass " << pass << ", session " << session;
            }
        }
        EXPECT_EQ(passed_over > 0, users > 3) << users;
    }
}

TEST(Users, PlayInTheOrderThatIsAskedUntilTheTimeIsUp) {
    const UserCorpus corpus = corpus_of(std::vector<std::uint32_t>(20, 1));
    const auto order = [&](TreeRule rule, std::uint64_t seed) {
        UserRules some = rules(1);
        some.order = rule;
        some.seed = seed;
        return members_of(play_users(corpus, some).sent,
                          [](const Sent& one) { return one.due.row; });
    };
    const std::vector<std::uint32_t> file = order(TreeRule::file, 1);
    EXPECT_TRUE(std::is_sorted(file.begin(), file.end()));
    std::vector<std::uint32_t> shuffled = order(TreeRule::shuffle, 1);
    EXPECT_NE(shuffled, file);
    EXPECT_EQ(shuffled, order(TreeRule::shuffle, 1));
    EXPECT_NE(shuffled, order(TreeRule::shuffle, 2));
    std::sort(shuffled.begin(), shuffled.end());
    EXPECT_EQ(shuffled, file);
    // Nothing is due from then on: what would be is not told of, and what is open ends.
    for (std::int64_t for_ns = 1; for_ns < 15 * one_ms; for_ns += 70'000) {
        const UserCorpus other_corpus = corpus_of({3, 2, 4});
        const std::vector<Sent> whole = play_users(other_corpus, rules(2)).sent;
        const std::vector<Sent> sent = play_users(other_corpus, rules(2, false, for_ns)).sent;
        const auto before = std::count_if(whole.begin(), whole.end(), [for_ns](const Sent& one) {
            return one.due.due_ns < for_ns;
        });
        EXPECT_EQ(sent.size(), static_cast<std::size_t>(before)) << for_ns;
    }
}

// A turn without an answer ends its tree; the user goes on with the next one.
TEST(Users, GoOnBehindATreeThatFailsUntilAStop) {
    const UserCorpus corpus = corpus_of({3, 1});
    Schedule schedule = corpus.schedule(rules(1));
    const Due first = schedule.take();
    schedule.fired(first, 0);
    schedule.ended(first, 50, false);
    std::uint32_t dropped = 0;
    while (const std::optional<Due> due = schedule.dropped()) {
        EXPECT_EQ(schedule.peek(), nullptr) << "the tree has not ended yet";
        EXPECT_EQ(std::tuple(due->failed_row, due->user), std::tuple(0u, 0u));
        schedule.take_dropped();
        schedule.ended(*due, 60, false);
        ++dropped;
    }
    EXPECT_EQ(dropped, 2u);
    ASSERT_NE(schedule.peek(), nullptr);
    const std::int64_t begin_ns = 50 + failure_pause_ns(1);
    EXPECT_EQ(schedule.peek()->due_ns, begin_ns) << "a pause behind the last request's failure";
    const Due last = schedule.take();
    EXPECT_EQ(last.row, 3u);
    schedule.fired(last, begin_ns);
    EXPECT_FALSE(schedule.over());
    schedule.ended(last, begin_ns + 10, true);
    EXPECT_TRUE(schedule.over());
    EXPECT_EQ(schedule.left(), 0u);
    // What is known then is to get its end; what waits is forgotten.
    const UserCorpus other_corpus = corpus_of({3, 2, 1});
    schedule = other_corpus.schedule(rules(2));
    const Due other_first = schedule.take();
    schedule.fired(other_first, 0);
    schedule.stop();
    EXPECT_FALSE(schedule.dropped());
    EXPECT_GT(schedule.left(), 0u);
    const Due second = schedule.take();
    EXPECT_EQ(schedule.peek(), nullptr);
    schedule.ended(second, 10, false);
    EXPECT_FALSE(schedule.over());
    schedule.ended(other_first, 20, true);
    EXPECT_EQ(schedule.peek(), nullptr);
    EXPECT_TRUE(schedule.over());
}

TEST(RowTrees, AreSessionsAndWhatWaitsForThem) {
    UserCorpus corpus = corpus_of({2, 1, 2, 1});
    corpus.trace.dependencies.push_back({5, 2, Trigger::completion, 0});  // session 3 for 1
    corpus.trace.rows.push_back({.index = 6});
    corpus.plan.rows.push_back({9'000'000, 6, 0});
    const RowTrees trees(corpus.trace, corpus.plan);
    ASSERT_EQ(trees.count(), 4u);
    const auto rows = [&trees](std::uint32_t tree) {
        return std::vector<std::uint32_t>(trees.rows_of(tree).begin(), trees.rows_of(tree).end());
    };
    EXPECT_EQ(rows(0), (std::vector<std::uint32_t>{0, 1}));
    EXPECT_EQ(rows(1), (std::vector<std::uint32_t>{2, 5}));
    EXPECT_EQ(rows(2), (std::vector<std::uint32_t>{3, 4}));
    EXPECT_EQ(rows(3), std::vector<std::uint32_t>{6});
    EXPECT_EQ(trees.tree_of(5), 1u);
}

TEST(Rehearsal, PlaysWhatARunWould) {
    const UserCorpus corpus = corpus_of({3, 2, 4});
    const std::vector<Sent> sent = play_users(corpus, rules(2)).sent;
    const Plan rehearsed =
        rehearse(corpus.trace, corpus.plan, corpus.schedule(rules(2)), one_ms / 10, 10'000);
    ASSERT_EQ(rehearsed.rows.size(), sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i) {
        EXPECT_EQ(rehearsed.rows[i].due_ns, sent[i].due.due_ns);
        EXPECT_EQ(rehearsed.rows[i].row, sent[i].due.row);
    }
    EXPECT_EQ(rehearsed.burst_rows_max, 2u);
    EXPECT_EQ(rehearsed.last_due_ns, sent.back().due.due_ns);
    EXPECT_EQ(
        rehearse(corpus.trace, corpus.plan, corpus.schedule(rules(2)), one_ms / 10, 4).rows.size(),
        4u);
}

// Users that are added while a run goes on: when they begin, and when nobody is added any more.

constexpr std::int64_t lead_ns = Users::grow_lead_ns;
constexpr std::int64_t spacing_ns = Users::grow_spacing_ns;

/// So many sessions of one row each.
UserCorpus single_turns(std::uint32_t count) {
    return corpus_of(std::vector<std::uint32_t>(count, 1));
}

UserRules growing_rules(std::uint32_t first, std::uint32_t most) {
    return {.users = most, .users_first = first};
}

TEST(Growing, UsersBeginALittleLater) {
    const UserCorpus sessions = single_turns(10);
    Schedule schedule = sessions.schedule(growing_rules(1, 4));
    Due due = schedule.take();
    EXPECT_EQ(due.user, 0u);
    EXPECT_EQ(schedule.peek(), nullptr);  // the others are not there yet
    schedule.fired(due, 0);
    schedule.grow(1, 5);
    EXPECT_EQ(schedule.peek(), nullptr);
    schedule.grow(3, 5);
    schedule.grow(3, 6);  // told again
    schedule.grow(2, 7);  // never fewer
    for (const std::uint32_t user : {1U, 2U}) {
        ASSERT_NE(schedule.peek(), nullptr);
        due = schedule.take();
        EXPECT_EQ(due.user, user);
        EXPECT_EQ(due.due_ns, 5 + lead_ns + (user - 1) * spacing_ns);
    }
    EXPECT_EQ(schedule.peek(), nullptr);
}

// Nobody begins behind the end of the run's time, behind its last tree, or after a stop.
TEST(Growing, EndsWithTheRunAndPlaysWhatIsLeft) {
    const UserCorpus sessions = single_turns(4);
    UserRules timed = growing_rules(1, 2);
    timed.for_ns = lead_ns + 10;
    for (const std::int64_t at_ns : {9, 10}) {
        Schedule schedule = sessions.schedule(timed);
        schedule.fired(schedule.take(), 0);
        schedule.grow(2, at_ns);
        EXPECT_EQ(schedule.peek() != nullptr, at_ns < 10);
    }
    Schedule stopped = sessions.schedule(growing_rules(1, 2));
    stopped.fired(stopped.take(), 0);
    stopped.stop();
    stopped.grow(2, 5);
    EXPECT_EQ(stopped.peek(), nullptr);

    const UserCorpus one = single_turns(1);
    Schedule over = one.schedule(growing_rules(1, 2));
    const Due last = over.take();
    over.fired(last, 0);
    over.grow(2, 5);  // no tree is left
    EXPECT_EQ(over.peek(), nullptr);
    over.ended(last, 10, true);
    over.grow(2, 15);
    EXPECT_TRUE(over.over());
    // Together they play each tree once.
    const UserCorpus other_sessions = single_turns(20);
    Schedule schedule = other_sessions.schedule(growing_rules(2, 5));
    std::set<std::uint32_t> rows;
    std::set<std::uint32_t> users;
    std::int64_t now_ns = 0;
    while (schedule.peek() != nullptr) {
        const Due due = schedule.take();
        now_ns = due.due_ns;
        schedule.fired(due, now_ns);
        schedule.grow(std::min<std::uint32_t>(5, 2 + static_cast<std::uint32_t>(rows.size()) / 3),
                      now_ns);
        schedule.ended(due, now_ns + spacing_ns, true);
        EXPECT_TRUE(rows.insert(due.row).second);
        users.insert(due.user);
    }
    EXPECT_TRUE(schedule.over());
    EXPECT_EQ(std::tuple(rows.size(), users.size()), std::tuple(20u, 5u));
}

// `--concurrency`: so many rows are open, the next one of the file is due at the instant at which
// any of them ends, whatever its session waited for.

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
    return {.users = count, .single_rows = true};
}

// All take 1 ms: three at 0, three at 1 ms, ..
TEST(SingleRows, AreTakenByWhoeverIsFree) {
    const UserPlay play = play_users(rows_of_sessions(8), open_rows(3));
    ASSERT_EQ(play.sent.size(), 8u);
    for (std::uint32_t row = 0; row < 8; ++row) {
        EXPECT_EQ(play.sent[row].due.row, row);
        EXPECT_EQ(play.due_ns(row), one_ms * (row / 3));
    }
    // One answer takes long: the others are not held up by it, and no row waits for its place.
    const UserCorpus corpus = rows_of_sessions(6);
    Schedule schedule = corpus.schedule(open_rows(2));
    const Due slow = schedule.take();
    schedule.fired(slow, 0);
    std::int64_t now_ns = 0;
    for (std::uint32_t row = 1; row < 6; ++row) {
        const Due due = schedule.take();
        EXPECT_EQ(std::tuple(due.row, due.due_ns), std::tuple(row, now_ns));
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
TEST(SingleRows, PauseBehindAFailure) {
    const UserPlay few = play_users(rows_of_sessions(3), open_rows(8));
    EXPECT_EQ(std::tuple(few.sent.size(), few.due_ns(2)), std::tuple(3u, 0));
    // The place of a row that failed pauses; a row that is sent again keeps its place.
    UserRules rules = open_rows(1);
    const auto fails = [](const Due& due) { return TurnEnd(due.row != 0 || due.attempt > 0); };
    EXPECT_EQ(play_users(rows_of_sessions(2), rules, fails).due_ns(1), one_ms * 101);
    rules.failures = {FailureRule::retry, 1, false};
    const UserPlay again = play_users(rows_of_sessions(2), rules, fails);
    ASSERT_EQ(again.of(0).size(), 2u);
    EXPECT_EQ(again.of(0)[1].due.due_ns, one_ms * 101);
    EXPECT_EQ(again.due_ns(1), one_ms * 102);
    // The file begins anew, as another pass, until the time is up.
    UserRules recycling = open_rows(2);
    recycling.recycle = true;
    recycling.for_ns = 10 * one_ms;
    const UserPlay play = play_users(rows_of_sessions(3), recycling);
    ASSERT_EQ(play.sent.size(), 20u);
    for (const Sent& one : play.sent) {  // those of one instant go in any order
        const std::uint32_t number = one.due.pass * 3 + one.due.row;
        EXPECT_EQ(one.due.due_ns, one_ms * (number / 2)) << number;
    }
}

}  // namespace
}  // namespace driftless
