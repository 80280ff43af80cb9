// What waits for answers.

#include "engine/plan/releases.hpp"

#include "tests/unit/engine/plan/user_play.hpp"

namespace driftless {

// Closed sessions: what waits is due so long after the last of those that it waits for, and what
// waits for a row without an answer never is.

namespace {

using Requests = std::vector<std::uint32_t>;

struct Session {
    Trace trace;
    Plan plan;
    Session(const std::vector<std::int64_t>& dues, const std::vector<Dependency>& dependencies) {
        for (const std::int64_t due_ns : dues) {
            const auto index = static_cast<std::uint32_t>(trace.rows.size());
            append_row(trace, {.at_ns = due_ns});
            plan.rows.push_back({due_ns, index, 0});
        }
        trace.dependencies = dependencies;
    }
    Schedule schedule(Speed speed = {}) const { return {trace, plan, speed}; }
};

// Of a schedule that has one.
Due take(Schedule& schedule, std::uint32_t request) {
    EXPECT_NE(schedule.peek(), nullptr);
    const Due due = schedule.take();
    EXPECT_EQ(due.request, request);
    return due;
}

Requests take_dropped(Schedule& schedule) {
    Requests requests;
    while (const std::optional<Due> due = schedule.dropped()) {
        requests.push_back(due->request);
        schedule.take_dropped();
        schedule.ended(*due, 0, false);
    }
    return requests;
}

std::optional<std::uint32_t> to_arm(Schedule& schedule, std::int64_t horizon_ns) {
    const std::optional<Due> due = schedule.within(Lookahead::arming, horizon_ns);
    if (!due) {
        return std::nullopt;
    }
    schedule.pass(Lookahead::arming, *due);
    return due->request;
}

TEST(Releases, AreDueBehindTheirParentsAmongRecordedInstants) {
    const Session session({0, 1'000}, {{1, 0, Trigger::completion, 600}});
    Schedule schedule = session.schedule({2, 1});
    const Due first = take(schedule, 0);
    EXPECT_EQ(schedule.peek(), nullptr) << "not at its recorded instant";
    EXPECT_EQ(schedule.left(), 1u);
    schedule.fired(first, 10);
    EXPECT_EQ(schedule.peek(), nullptr);
    schedule.ended(first, 5'000, true);
    const Due second = take(schedule, 1);
    EXPECT_EQ(second.due_ns, 5'300) << "the gap, twice as fast";
    schedule.fired(second, 5'300);
    schedule.ended(second, 6'000, true);
    EXPECT_TRUE(schedule.over());
    // Recorded instants and released ones go by due; those of one instant by number, with their
    // ranks.
    const Session other_session({0, 20, 30, 40}, {{3, 0, Trigger::completion, 5}});
    schedule = other_session.schedule();
    const Due other_first = take(schedule, 0);
    schedule.fired(other_first, 0);
    EXPECT_EQ(schedule.peek()->request, 1u);
    schedule.ended(other_first, 15, true);
    EXPECT_EQ(schedule.peek()->request, 1u);
    EXPECT_EQ(take(schedule, 1).rank, 0u);
    const Due released = take(schedule, 3);
    EXPECT_EQ(released.due_ns, 20);
    EXPECT_EQ(released.rank, 1u) << "of the same instant";
    EXPECT_EQ(take(schedule, 2).rank, 0u);
}

// Bytes are made when all parents have left; what is next goes before that.
TEST(Releases, AreArmedInTime) {
    const Session session({0, 0, 0, 0},
                          {{1, 0, Trigger::completion, 0}, {2, 0, Trigger::completion, 0}});
    Schedule schedule = session.schedule();
    EXPECT_EQ(to_arm(schedule, 0), 0u);
    EXPECT_EQ(to_arm(schedule, 0), 3u);
    EXPECT_EQ(to_arm(schedule, INT64_MAX), std::nullopt) << "its parent has not left";
    const Due first = take(schedule, 0);
    schedule.fired(first, 1);
    EXPECT_EQ(to_arm(schedule, 0), 1u);
    (void)take(schedule, 3);
    schedule.ended(first, 2, true);
    EXPECT_EQ(take(schedule, 1).due_ns, 2);
    EXPECT_EQ(to_arm(schedule, 2), 2u);
    EXPECT_EQ(to_arm(schedule, 2), std::nullopt);
    // A turn with a gap makes room for those that an answer may release at once.
    const Session other_session({0, 0, 0, 0}, {{1, 0, Trigger::completion, 1'000'000},
                                               {2, 0, Trigger::completion, 0},
                                               {3, 0, Trigger::completion, 0}});
    schedule = other_session.schedule();
    const Due other_first = take(schedule, 0);
    EXPECT_FALSE(schedule.arms_soon()) << "its parent has not left";
    schedule.fired(other_first, 1);
    for (const std::uint32_t request : {2, 3}) {
        EXPECT_TRUE(schedule.arms_soon());
        EXPECT_EQ(to_arm(schedule, 0), request);
    }
    EXPECT_FALSE(schedule.arms_soon());
    EXPECT_EQ(to_arm(schedule, 0), 1u);
}

TEST(Releases, AreSeenOnceTheyAreKnownOrDropped) {
    const Session session({0, 50}, {{1, 0, Trigger::completion, 100}});
    Schedule schedule = session.schedule();
    const Due first = take(schedule, 0);
    schedule.fired(first, 0);
    EXPECT_FALSE(schedule.within(Lookahead::guarding, INT64_MAX));
    schedule.ended(first, 10, true);
    EXPECT_FALSE(schedule.within(Lookahead::guarding, 109));
    const Due seen = schedule.within(Lookahead::guarding, 110).value();
    EXPECT_EQ(seen.due_ns, 110);
    schedule.pass(Lookahead::guarding, seen);
    EXPECT_FALSE(schedule.within(Lookahead::guarding, INT64_MAX));
    EXPECT_TRUE(schedule.has_passed(Lookahead::guarding, seen));
    EXPECT_FALSE(schedule.has_passed(Lookahead::connecting, seen));
    schedule.pass(Lookahead::binding, *schedule.within(Lookahead::binding, 110));
    schedule.go_back(Lookahead::binding, seen);
    EXPECT_EQ(schedule.within(Lookahead::binding, 110)->request, 1u);
    (void)take(schedule, 1);
    EXPECT_FALSE(schedule.within(Lookahead::binding, INT64_MAX)) << "it is taken";
    // Nobody goes on behind an answer that never came; all that wait for it get their end.
    const Session third_session({0, 10, 20, 30, 40}, {{1, 0, Trigger::completion, 0},
                                                      {2, 1, Trigger::dispatch, 0},
                                                      {3, 2, Trigger::completion, 0},
                                                      {3, 1, Trigger::completion, 0}});
    schedule = third_session.schedule();
    const Due third_first = take(schedule, 0);
    schedule.fired(third_first, 0);
    schedule.ended(third_first, 5, false);
    EXPECT_EQ(schedule.dropped()->due_ns, 10) << "the recorded instant";
    EXPECT_EQ(take_dropped(schedule), (Requests{1, 2, 3}));
    EXPECT_FALSE(schedule.within(Lookahead::arming, 39)) << "nothing is built for them";
    schedule.ended(take(schedule, 4), 50, false);
    EXPECT_TRUE(schedule.over());
    const Session other_session({0, 0, 0},
                                {{1, 0, Trigger::completion, 0}, {2, 0, Trigger::completion, 9}});
    schedule = other_session.schedule();
    const Due other_first = take(schedule, 0);
    schedule.fired(other_first, 0);
    schedule.stop();
    schedule.ended(other_first, 5, true);
    EXPECT_EQ(schedule.peek(), nullptr);
    EXPECT_EQ(take_dropped(schedule), (Requests{1, 2}));
    EXPECT_TRUE(schedule.over());
}

// What a window of the trace leaves out is over before the run begins.
TEST(Releases, NameTheParentsThatLetThemGoOrFailed) {
    Session session({0, 10, 20}, {{1, 0, Trigger::completion, 0}, {2, 1, Trigger::completion, 0}});
    session.plan.rows.erase(session.plan.rows.begin());
    Schedule schedule = session.schedule();
    EXPECT_EQ(schedule.first_due_ns(), 10);
    EXPECT_EQ(take(schedule, 0).row, 1u);
    EXPECT_EQ(std::tuple(schedule.peek(), schedule.left()), std::tuple(nullptr, 1u));
    // Who reads a record can tell our reaction from the gap: when the last parent let the turn go.
    const Session other_session({0, 0, 0, 5},
                                {{2, 0, Trigger::completion, 100}, {2, 1, Trigger::dispatch, 7}});
    schedule = other_session.schedule();
    EXPECT_EQ(schedule.releases()->count(), 1u);
    const Due first = take(schedule, 0);
    EXPECT_EQ(first.parent_end_ns, Due::no_parent);
    schedule.fired(first, 0);
    const Due second = take(schedule, 1);
    schedule.ended(first, 20, true);
    (void)take(schedule, 3);
    schedule.fired(second, 30);
    const Due turn = take(schedule, 2);
    EXPECT_EQ(std::tuple(turn.due_ns, turn.parent_end_ns), std::tuple(120, 30));
    // What is dropped names the row at which its tree ended, not the one before it.
    const Session third_session({0, 0, 0},
                                {{1, 0, Trigger::completion, 0}, {2, 1, Trigger::completion, 0}});
    schedule = third_session.schedule();
    const Due other_first = take(schedule, 0);
    schedule.fired(other_first, 0);
    schedule.ended(other_first, 5, false);
    for (int row = 0; row < 2; ++row) {
        ASSERT_TRUE(schedule.dropped().has_value());
        EXPECT_EQ(schedule.dropped()->failed_row, 0u);
        schedule.take_dropped();
    }
    Schedule stopped = third_session.schedule();
    stopped.stop();
    ASSERT_TRUE(stopped.dropped().has_value());
    EXPECT_EQ(stopped.dropped()->failed_row, Due::none_failed);
}

// A segment of a run: rows that ended before it release those that wait for them, and the segment
// begins with the earliest of all.
TEST(Releases, GoOnFromWhatEndedBeforeWithoutARoot) {
    Session session({0, 100, 200, 300, 400}, {{1, 0, Trigger::completion, 10},
                                              {2, 0, Trigger::dispatch, 500},
                                              {3, 0, Trigger::completion, 0},
                                              {3, 1, Trigger::completion, 20}});
    session.plan.rows.erase(session.plan.rows.begin());  // row 0 has a record
    EarlierRows earlier;
    earlier[0] = {40, 70};
    Schedule schedule(session.trace, session.plan, Speed(), earlier);
    EXPECT_EQ(schedule.first_due_ns(), 80);
    EXPECT_EQ(to_arm(schedule, INT64_MAX), 0u);
    const Due first = take(schedule, 0);
    EXPECT_EQ(first.parent_end_ns, 70);
    schedule.fired(first, 80);
    EXPECT_EQ(take(schedule, 3).due_ns, 400);  // a root, as recorded
    schedule.ended(first, 600, true);
    EXPECT_EQ(take(schedule, 1).due_ns, 540);  // by the end of row 0 and 500
    const Due last = take(schedule, 2);
    EXPECT_EQ(std::tuple(last.due_ns, last.parent_end_ns), std::tuple(620, 600));
    // A segment in which every row waits for one that ended before has a first row all the same.
    Session other_session({0, 100}, {{1, 0, Trigger::completion, 10}});
    other_session.plan.rows.erase(other_session.plan.rows.begin());
    EarlierRows other_earlier;
    other_earlier[0] = {40, 5'000'000};
    const Schedule other_schedule(other_session.trace, other_session.plan, Speed(), other_earlier);
    EXPECT_EQ(other_schedule.first_due_ns(), 5'000'010);
    // The same rows at their recorded instants, whatever waits for what.
    const Session waiting({0, 10}, {{1, 0, Trigger::completion, 0}});
    Schedule recorded = waiting.schedule().as_recorded();
    (void)take(recorded, 0);
    EXPECT_EQ(take(recorded, 1).due_ns, 10);
}

// The warm-up of users: primers first, all places coincide, then further requests of one token; and
// what goes on behind it.

UserRules entered(std::uint32_t users, double share) {
    return {.users = users, .start = {.from = share, .to = share}};
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
TEST(WarmStart, PlacesCoincideBehindAllPrimersWithinCaps) {
    const UserPlay play = play_users(two_sessions(), entered(2, 0.625));
    EXPECT_EQ(std::tuple(play.measured_from_ns, play.sent.size()), std::tuple(50 * one_ms, 6u));
    EXPECT_EQ(std::tuple(play.due_ns(7), play.due_ns(2)), std::tuple(0, 45 * one_ms));
    EXPECT_EQ(std::tuple(play.due_ns(3), play.due_ns(8)), std::tuple(55 * one_ms, 100 * one_ms));
    EXPECT_EQ(play.due_ns(4), 66 * one_ms) << "by its gap";
    for (const Sent& one : play.sent) {
        const bool primes = one.due.row == 2 || one.due.row == 7;
        EXPECT_EQ(one.due.phase, primes ? Phase::warmup : Phase::profile);
        EXPECT_FALSE(one.due.one_token);
    }
    UserRules rules = entered(2, 0.625);
    rules.start.prime_one_token = true;
    for (const Sent& one : play_users(two_sessions(), rules).sent) {
        EXPECT_EQ(one.due.one_token, one.due.phase == Phase::warmup);
    }
    // Caps bound the way from the primer; that of the gap bounds what follows, too.
    for (const int which : {0, 1, 2}) {
        UserRules other_rules = entered(2, 0.625);
        std::optional<std::int64_t>& cap_ns = which == 0   ? other_rules.start.gap_cap_ns
                                              : which == 1 ? other_rules.idle.tree_ns
                                                           : other_rules.idle.system_ns;
        cap_ns = 20 * one_ms;
        const UserPlay other_play = play_users(two_sessions(), other_rules);
        EXPECT_EQ(other_play.measured_from_ns, 20 * one_ms) << which;
        EXPECT_EQ(other_play.due_ns(7), 0) << which;
        EXPECT_EQ(other_play.due_ns(2), 15 * one_ms) << which;
        EXPECT_EQ(other_play.due_ns(3), 25 * one_ms) << which;
    }
    // A primer that is late moves the begin for all.
    rules = entered(2, 0.625);
    rules.start.gap_cap_ns = 0;
    const UserPlay other_play = play_users(two_sessions(), rules);
    EXPECT_EQ(other_play.measured_from_ns, one_ms);
    EXPECT_EQ(std::tuple(other_play.due_ns(3), other_play.due_ns(8)), std::tuple(one_ms, one_ms));
}

// What waits for a primer that has failed is not sent; the user continues its next tree, behind
// the begin of the measurement.
TEST(WarmStart, OfAPrimerThatFailsAndOfManyPasses) {
    UserCorpus corpus = two_sessions();
    corpus.row(2, 9'000 * one_ms);
    const auto fails = [](const Due& due) { return TurnEnd(due.row != 7); };
    const UserPlay play = play_users(corpus, entered(2, 0.625), fails);
    ASSERT_EQ(play.dropped.size(), 2u);
    EXPECT_EQ(std::tuple(play.dropped[0].row, play.dropped[0].failed_row), std::tuple(8u, 7u));
    EXPECT_EQ(std::tuple(play.dropped[1].row, play.measured_from_ns), std::tuple(9u, 50 * one_ms));
    EXPECT_EQ(play.of(10).front().due.phase, Phase::profile);
    EXPECT_GE(play.due_ns(10), 50 * one_ms);
    EXPECT_EQ(play.due_ns(3), 55 * one_ms) << "the other goes on as it would";

    UserRules goes_on = entered(2, 0.625);
    goes_on.failures.rule = FailureRule::go_on;
    EXPECT_TRUE(play_users(corpus, goes_on, fails).dropped.empty());
    // More users than trees: the same tree is entered in its next pass.
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
        const UserCorpus corpus = UserCorpus().chain(0, 6, 30 * one_ms).chain(1, 6, 30 * one_ms);
        const UserRules rules{.users = 2, .start = {.warmup_requests = requests}};
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
TEST(WarmupRequests, GoOnInTheNextTreeBehindThePrimers) {
    const UserCorpus corpus = UserCorpus().chain(0, 2, 30 * one_ms).chain(1, 3, 30 * one_ms);
    UserRules rules{.users = 1, .start = {.warmup_requests = 3}};
    const UserPlay play = play_users(corpus, rules);
    ASSERT_EQ(play.sent.size(), 5u);
    EXPECT_EQ(std::tuple(play.due_ns(2), play.measured_from_ns, play.due_ns(3)),
              std::tuple(2 * one_ms, 3 * one_ms, 33 * one_ms));
    rules.start.warmup_requests = 9;
    const UserPlay all = play_users(corpus, rules);
    EXPECT_EQ(all.sent.size(), 5u);
    EXPECT_EQ(all.measured_from_ns, 5 * one_ms) << "nothing is left to measure";
    // A turn that joins a sub-agent: the gap behind the turn before it had been known for long, and
    // is none in the warm-up.
    UserCorpus other_corpus;
    other_corpus.row(0, 0);                                // 0
    other_corpus.row(1, 10 * one_ms, {0});                 // 1
    other_corpus.row(1, 20 * one_ms, {1});                 // 2
    other_corpus.row(0, 900 * one_ms, {0}, 800 * one_ms);  // 3 joins 2
    other_corpus.trace.dependencies.push_back({3, 2, Trigger::completion, 0});
    rules = some_users(1);
    rules.start.warmup_requests = 4;
    const UserPlay other_play = play_users(other_corpus, rules);
    ASSERT_EQ(other_play.sent.size(), 4u);
    EXPECT_EQ(other_play.due_ns(3), 3 * one_ms);
    EXPECT_TRUE(other_play.of(3).front().due.one_token);
    // Primers do not count, and have all ended before.
    rules = entered(2, 0.625);
    rules.start.warmup_requests = 1;
    const UserPlay third_play = play_users(two_sessions(), rules);
    ASSERT_EQ(third_play.sent.size(), 6u);
    EXPECT_EQ(third_play.due_ns(3), 50 * one_ms);
    EXPECT_EQ(third_play.due_ns(8), 50 * one_ms);
    EXPECT_TRUE(third_play.of(3).front().due.one_token);
    EXPECT_FALSE(third_play.of(2).front().due.one_token);
    EXPECT_EQ(std::tuple(third_play.measured_from_ns, third_play.due_ns(4), third_play.due_ns(9)),
              std::tuple(51 * one_ms, 61 * one_ms, 151 * one_ms));
}

// Whatever it is stopped in, what is open ends and nothing more goes out.
TEST(WarmupRequests, AStopInTheWarmUp) {
    for (std::uint32_t sent_before = 1; sent_before <= 6; ++sent_before) {
        UserRules rules = entered(2, 0.625);
        rules.start.warmup_requests = 1;
        const UserCorpus corpus = two_sessions();
        Schedule schedule = corpus.schedule(rules);
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

// Turns that wait until others of their tree are over: any end of those will do, and the gap of a
// turn counts from its own parent all the same.

// Two streams behind row 0; the second turn of one also waits until the first of the other is over.
struct Streams {
    UserCorpus corpus;
    std::uint32_t slow = 0;   // 1 ms behind row 0
    std::uint32_t first = 0;  // at once
    std::uint32_t held = 0;   // behind `first`, and until `slow` is over

    explicit Streams(std::int64_t slow_gap_ns, std::int64_t held_gap_ns = 0) {
        corpus.row(0, 0);
        first = corpus.row(0, 2 * one_ms, {0});
        slow = corpus.row(1, 3 * one_ms, {0}, slow_gap_ns);
        held = corpus.row(0, 90 * one_ms, {first}, held_gap_ns);
        corpus.trace.dependencies.push_back({held, slow, Trigger::over, 0});
        corpus.row(0, 95 * one_ms, {held});
    }
};

TurnEnd failed() {
    return TurnEnd(false);
}

TEST(BarrierTurns, AreDueWhenTheLastIsOverHoweverItEnds) {
    // Row 0 ends at 1 ms, `first` at 2 ms, `slow` 1 ms after its gap.
    const Streams streams(20 * one_ms);
    const UserPlay play = play_users(streams.corpus, some_users(1));
    EXPECT_EQ(play.due_ns(streams.slow), 21 * one_ms);
    EXPECT_EQ(play.due_ns(streams.held), 22 * one_ms);
    EXPECT_EQ(play.of(streams.held).front().due.parent_end_ns, 22 * one_ms);
    EXPECT_EQ(play.sent.size(), 5u);
    // Its own gap is longer: the barrier changes nothing, and adds none of it.
    const Streams longer(20 * one_ms, 50 * one_ms);
    EXPECT_EQ(play_users(longer.corpus, some_users(1)).due_ns(longer.held), 52 * one_ms);
    for (const FailureRule rule : {FailureRule::end_tree, FailureRule::go_on, FailureRule::retry}) {
        const Streams other_streams(20 * one_ms);
        const UserRules rules{
            .users = 1,
            .failures = {.rule = rule, .retries_max = rule == FailureRule::retry ? 2u : 0u}};
        const UserPlay other_play = play_users(other_streams.corpus, rules, [&](const Due& due) {
            return due.row == other_streams.slow ? failed() : TurnEnd(true);
        });
        // Not before its last try.
        const std::int64_t end_ns = other_play.of(other_streams.slow).back().end_ns;
        EXPECT_EQ(other_play.of(other_streams.slow).size(), rule == FailureRule::retry ? 3u : 1u);
        EXPECT_EQ(other_play.due_ns(other_streams.held), end_ns);
        EXPECT_TRUE(other_play.dropped.empty());
    }
    // What waited for it is dropped with it, and over at that instant.
    UserCorpus corpus;
    corpus.row(0, 0);
    const std::uint32_t fails = corpus.row(1, 2 * one_ms, {0}, 30 * one_ms);
    const std::uint32_t dropped = corpus.row(1, 3 * one_ms, {fails}, 9 * one_ms);
    const std::uint32_t behind = corpus.row(1, 4 * one_ms, {dropped});
    const std::uint32_t held = corpus.row(0, 90 * one_ms, {0});
    corpus.trace.dependencies.push_back({held, behind, Trigger::over, 0});
    corpus.row(0, 95 * one_ms, {held});
    const UserPlay other_play = play_users(corpus, some_users(1), [&](const Due& due) {
        return due.row == fails ? failed() : TurnEnd(true);
    });
    EXPECT_EQ(other_play.dropped.size(), 2u);
    EXPECT_EQ(other_play.due_ns(held), other_play.of(fails).front().end_ns);
    EXPECT_EQ(other_play.due_ns(held + 1), other_play.of(held).front().end_ns);
}

// A row that only waits so begins with its tree: as long behind it as recorded, or when the other
// is over.
TEST(BarrierTurns, BeginWithTheirTree) {
    for (const std::int64_t at_ns : {5 * one_ms, 500 * one_ms}) {
        UserCorpus corpus;
        corpus.chain(0, 2, 100 * one_ms);  // the second turn ends at 102 ms
        const std::uint32_t other = corpus.row(0, at_ns);
        corpus.trace.dependencies.push_back({other, 1, Trigger::over, 0});
        std::stable_sort(corpus.plan.rows.begin(), corpus.plan.rows.end(),
                         [](const Planned& a, const Planned& b) { return a.due_ns < b.due_ns; });
        EXPECT_EQ(play_users(corpus, some_users(1)).due_ns(other), std::max(at_ns, 102 * one_ms));
    }
    // What was over where a tree was entered holds nobody, and moves nothing.
    const Streams streams(20 * one_ms);
    UserRules rules = some_users(1);
    rules.start.from = rules.start.to = 0.5;  // at 47.5 ms: `held` and what is behind it are left
    const UserPlay play = play_users(streams.corpus, rules);
    ASSERT_TRUE(play.measured_from_ns);
    EXPECT_TRUE(play.of(streams.slow).empty());
    EXPECT_EQ(play.of(streams.first).front().due.phase, Phase::warmup);
    EXPECT_EQ(play.due_ns(streams.held) - *play.measured_from_ns, 42 * one_ms + one_ms / 2);
}

// Further requests of the warm-up: what another of them has held goes out in it, too.
TEST(BarrierTurns, GoOutInTheWarmUpOfEachPassAlone) {
    UserCorpus corpus;
    corpus.row(0, 0);
    corpus.row(1, one_ms, {0});
    corpus.row(1, 60 * one_ms, {1}, 50 * one_ms);
    const std::uint32_t held = corpus.row(0, 70 * one_ms, {0}, 60 * one_ms);
    corpus.trace.dependencies.push_back({held, 2, Trigger::over, 0});
    corpus.row(0, 90 * one_ms, {held});
    UserRules rules{.users = 1, .start = {.from = 0.5, .to = 0.5, .warmup_requests = 2}};
    const UserPlay play = play_users(corpus, rules);
    EXPECT_EQ(play.of(held).front().due.phase, Phase::warmup);
    EXPECT_EQ(play.due_ns(held), play.of(2).front().end_ns);
    EXPECT_EQ(play.of(held + 1).front().due.phase, Phase::profile);
    EXPECT_EQ(play.measured_from_ns, play.of(held).front().end_ns);
    // Passes do not wait for each other, and the next tree begins when this one is over.
    const Streams streams(20 * one_ms);
    rules = some_users(1);
    rules.recycle = true;
    rules.for_ns = 100 * one_ms;
    const UserPlay other_play = play_users(streams.corpus, rules);
    const auto other_held = other_play.of(streams.held);
    ASSERT_GE(other_held.size(), 3u);
    for (std::size_t pass = 0; pass < other_held.size(); ++pass) {
        EXPECT_EQ(other_held[pass].due.due_ns, other_play.of(streams.slow)[pass].end_ns);
    }
}

}  // namespace
}  // namespace driftless
