// Users over whole runs: a corpus that is gone through again is another one for the server, and a
// run ends when its time is up.

#include "engine/plan/schedule.hpp"
#include "tests/sim/killed_laws.hpp"
#include "tests/sim/lawful.hpp"
#include "tests/sim/swarm.hpp"
#include "tests/sim/turned.hpp"

namespace driftless::sim {

namespace {

constexpr std::uint32_t rows = 60;

// Chains of three turns.
Trace chains(std::uint64_t seed) {
    Trace trace = make_trace(seed, rows);
    for (std::uint32_t row = 0; row < rows; ++row) {
        if (row % 3 == 0) {
            trace.sessions.push_back(std::to_string(row));
        } else {
            trace.dependencies.push_back({row, row - 1, Trigger::completion, 1'000'000});
        }
        trace.rows[row].session = row / 3;
    }
    return trace;
}

SimOptions played_by(std::uint32_t users) {
    return SimOptions{.seed = 5, .closed = true, .users = {.users = users}};
}

// The mock's cache is without bound: what a pass finds there is its own, and as foretold.
TEST(UsersRun, APassSharesNothingWithAnother) {
    for (const std::uint32_t users : {1u, 4u, 30u}) {
        SimOptions options = played_by(users);
        options.users.recycle = true;
        options.users.for_ns = seconds(users == 1 ? 20 : 3).ns;
        options.drain_ns = seconds(60).ns;
        options.inflight_max = 64;
        const SimResult result = run(chains(5), options);
        std::uint32_t passes = 0;
        std::set<std::pair<std::uint32_t, std::uint32_t>> sent;
        std::set<std::uint32_t> numbers;
        std::map<std::uint32_t, std::int64_t> hits;  // [pass] more than foretold
        std::map<std::uint32_t, std::uint32_t> sent_in;
        for (const Record& record : result.records) {
            EXPECT_EQ(record.outcome, Outcome::ok);
            EXPECT_TRUE(sent.emplace(record.pass, record.row).second);
            EXPECT_TRUE(numbers.insert(record.request).second);
            EXPECT_LT(*record.user, users);
            if (users == 1) {  // in the order of the file, which the forecast goes by
                EXPECT_EQ(record.cached_tokens, record.expected_cached_tokens) << record.row;
            }
            hits[record.pass] += *record.cached_tokens - *record.expected_cached_tokens;
            ++sent_in[record.pass];
            passes = std::max(passes, record.pass + 1);
        }
        EXPECT_GE(passes, 3u) << users;
        for (std::uint32_t pass = 0; pass < passes; ++pass) {
            EXPECT_TRUE(sent_in[pass] < rows || hits[pass] == 0) << users << ", pass " << pass;
        }
        EXPECT_EQ(*numbers.rbegin() + 1, result.records.size());
        EXPECT_EQ(std::tuple(result.body_bytes_held, result.sockets_open), std::tuple(0u, 0u));
    }
}

// Answers come as fast as they can be read, and each releases a row: its body is there before, but
// for the few that come while the time for bodies, a half of the time since the last look, is used
// up.
TEST(UsersRun, BodiesAreMadeInTimeAndLateAnswersCancelled) {
    SimOptions options = played_by(16);
    options.users.single_rows = true;
    options.server.pace.first = options.server.pace.between = Duration{0};
    options.weather.latency_max = Duration{1};
    options.weather.split = 0;
    Trace trace = make_trace(5, 20 * rows);
    for (TraceRow& row : trace.rows) {
        row.output_length = 1;
    }
    const SimResult result = run(trace, options);
    std::size_t late = 0;
    for (const Record& record : result.records) {
        ASSERT_EQ(record.outcome, Outcome::ok);
        late += *record.armed_ns > record.due_ns ? 1 : 0;
        EXPECT_LE(*record.armed_ns, record.due_ns + 10'000) << record.row;
    }
    EXPECT_LE(late, result.records.size() / 100);
    EXPECT_EQ(broken_laws(result), "");
    // What is open when the time for it is over is cancelled, and nothing is left behind.
    options = played_by(4);
    options.server.pace.between = milliseconds(40);
    options.users.for_ns = milliseconds(100).ns;
    options.drain_ns = milliseconds(50).ns;
    const SimResult other_result = run(chains(5), options);
    EXPECT_TRUE(other_result.stopped);
    std::uint32_t cancelled = 0;
    for (const Record& record : other_result.records) {
        EXPECT_LT(record.due_ns, *options.users.for_ns);
        cancelled += record.outcome == Outcome::cancelled ? 1 : 0;
        EXPECT_LT(record.ended_ns.value_or(0), milliseconds(160).ns);
    }
    EXPECT_GT(cancelled, 0u);
    EXPECT_EQ(broken_laws(other_result), "");
}

// Users are added while answers come fast enough, the same ones in every run of a seed; and nobody
// where they do not.
TEST(UsersRun, UsersAreAdded) {
    SimOptions options = played_by(4);
    options.users.users_first = 1;
    options.users.recycle = true;
    options.users.for_ns = seconds(2).ns;
    options.drain_ns = seconds(60).ns;
    options.period_ns = milliseconds(100).ns;
    options.grow.limit_ns = seconds(1).ns;
    const SimResult grown = run(chains(5), options);
    ASSERT_FALSE(grown.wanted.empty());
    EXPECT_EQ(grown.wanted.front().users, 1u);
    EXPECT_EQ(grown.wanted.back().users, 4u);
    std::map<std::uint32_t, std::int64_t> begun;  // [user]
    for (const Record& record : grown.records) {
        const std::int64_t due_ns = begun.try_emplace(*record.user, record.due_ns).first->second;
        begun[*record.user] = std::min(due_ns, record.due_ns);
        EXPECT_TRUE(record.tainted.empty()) << record.row;
    }
    ASSERT_EQ(begun.size(), 4u);
    EXPECT_GT(begun[1], Users::grow_lead_ns + options.period_ns);
    EXPECT_EQ(begun[2] - begun[1], Users::grow_spacing_ns);
    EXPECT_EQ(run(chains(5), options).jsonl, grown.jsonl);

    options.grow.limit_ns = 1;
    const SimResult same = run(chains(5), options);
    EXPECT_EQ(same.wanted.back().users, 1u);
    for (const Record& record : same.records) {
        EXPECT_EQ(record.user, 0u);
    }
}

// An hour of users who play a small corpus again and again: of each request the client keeps what
// its exact percentiles need, and nothing else.

constexpr std::uint32_t hour_rows = 200;
constexpr std::uint32_t hour_turns = 4;  // of a session
constexpr std::int64_t minute_ns = 60'000'000'000;
/// Of a request (proto/figures/summary.hpp: 152 without hits), and the pieces of its figures.
constexpr double bytes_of_a_request = 161;
/// Figures of each second and each period, and what the allocator and the simulated world gather.
constexpr double bytes_of_a_minute = 12 << 10;

SimOptions an_hour() {
    return {.seed = 11,
            .server = {.cache_blocks_max = 1000},
            .inflight_max = 64,
            .closed = true,
            .users = {.users = 64, .recycle = true, .for_ns = 61 * minute_ns},
            .drain_ns = minute_ns,
            .period_ns = minute_ns / 6,
            .unwatched = true,
            .weighed_at_ns = {10 * minute_ns, 30 * minute_ns, 60 * minute_ns}};
}

Trace sessions() {
    Trace trace = make_trace(11, hour_rows);
    for (std::uint32_t row = 0; row < hour_rows; ++row) {
        if (row % hour_turns == 0) {
            trace.sessions.push_back(std::to_string(row));
        } else {
            trace.dependencies.push_back({row, row - 1, Trigger::completion, minute_ns / 2});
        }
        trace.rows[row].session = row / hour_turns;
    }
    return trace;
}

TEST(UsersHour, KeepsItsFiguresAndNothingElse) {
    const SimResult result = run(sessions(), an_hour());
    ASSERT_TRUE(result.ended) << result.turns << " turns, " << result.records.size() << " records, "
                              << result.weights.size() << " weighed";
    ASSERT_EQ(result.weights.size(), 3u);
    if (result.weights[0].heap_bytes == 0) {
        GTEST_SKIP() << "this allocator does not say how much is in use";
    }
    EXPECT_GT(result.weights[2].records, 7'000u);
    const double minutes[] = {10, 30, 60};
    for (std::size_t i = 0; i < 3; ++i) {
        const SimResult::Weight& now = result.weights[i];
        RecordProperty("bytes" + std::to_string(i), std::to_string(now.heap_bytes));
        RecordProperty("records" + std::to_string(i), std::to_string(now.records));
        if (i > 0) {
            const SimResult::Weight& before = result.weights[i - 1];
            const auto grown =
                static_cast<double>(now.heap_bytes) - static_cast<double>(before.heap_bytes);
            const auto records = static_cast<double>(now.records - before.records);
            EXPECT_LE(grown, records * bytes_of_a_request +
                                 (minutes[i] - minutes[i - 1]) * bytes_of_a_minute)
                << grown / records << " bytes a request";
        }
    }
}

// Turns that wait for an answer leave as soon as it has been read, before anything else is done.

using Rows = std::vector<SmallRow>;

constexpr std::uint32_t turns = 6;

// Each row waits for the one before it.
Turned::Options chain(const Turned::Options& base = {}) {
    Turned::Options options = base;
    options.weather.merge = 0;
    for (std::uint32_t row = 1; row < turns; ++row) {
        options.rows.dependencies.push_back({row, row - 1, Trigger::completion, 0});
    }
    return options;
}

// When each request left and ended, and what was on the ring in which order.
struct Told {
    std::vector<std::int64_t> fired_ns;
    std::vector<std::int64_t> ended_ns;
    std::vector<std::uint32_t> lanes;
    std::uint32_t before_the_end = 0;  ///< requests that left before the one before them was told
    std::uint64_t connects = 0;
};

Told told_by(Turned& turned) {
    Told told{.connects = turned.run.lane_counts().connects};
    told.fired_ns.resize(turns);
    told.ended_ns.resize(turns);
    told.lanes.resize(turns);
    std::vector<bool> ended(turns);
    for (const Event* event = turned.ring.front(); event != nullptr; event = turned.ring.front()) {
        const std::uint32_t request = event->request;
        if (event->kind == EventKind::fired) {
            told.fired_ns[request] = event->stamp_ns;
            told.lanes[request] = event->lane;
            told.before_the_end += request > 0 && !ended[request - 1] ? 1 : 0;
        } else if (event->kind == EventKind::end) {
            told.ended_ns[request] = event->stamp_ns;
            ended[request] = true;
            EXPECT_EQ(event->end.outcome, Outcome::ok);
        }
        turned.ring.pop();
    }
    return told;
}

Told play(const Turned::Options& options) {
    Turned turned(Rows(turns), options);
    turned.warm();
    turned.begin(milliseconds(1));
    turned.turn_until_over();
    turned.expect_nothing_left();
    return told_by(turned);
}

// Its own connection comes free a moment later; the turn need not wait for that.
TEST(Turns, LeaveBeforeOrOnTheLaneOfTheAnswer) {
    const Told told = play(chain());
    EXPECT_EQ(std::tuple(told.before_the_end, told.connects), std::tuple(turns - 1, 2u));
    for (std::uint32_t turn = 1; turn < turns; ++turn) {
        EXPECT_NE(told.lanes[turn], told.lanes[turn - 1]);
        EXPECT_GE(told.fired_ns[turn], told.ended_ns[turn - 1]);
        EXPECT_LT(told.fired_ns[turn] - told.ended_ns[turn - 1], microseconds(10).ns);
    }
    // Where no other stands they leave on it, and nothing is opened for them.
    Turned::Options options = chain();
    options.settings.connections_fixed = 1;
    const Told other_told = play(options);
    EXPECT_EQ(std::tuple(other_told.before_the_end, other_told.connects), std::tuple(0u, 1u));
    for (std::uint32_t turn = 1; turn < turns; ++turn) {
        EXPECT_LT(other_told.fired_ns[turn] - other_told.ended_ns[turn - 1], microseconds(10).ns);
    }
    // The place in flight is the answer's until its lane is done with.
    options = chain();
    options.settings.connections_fixed = 2;
    options.settings.inflight_max = 1;
    EXPECT_EQ(play(options).before_the_end, 0u);
}

// A session's connection is the one that the answer came on.
TEST(Turns, StayOnTheirConnectionOrFindMany) {
    Turned::Options options = chain();
    options.settings.connections_fixed = 2;
    options.settings.connection = ConnectionRule::sticky;
    Turned turned(Rows(turns, {Duration{0}, 1}), options);
    turned.warm();
    turned.begin(milliseconds(1));
    turned.turn_until_over();
    const Told told = told_by(turned);
    EXPECT_EQ(told.before_the_end, 0u);
    EXPECT_EQ(told.lanes, std::vector<std::uint32_t>(turns, told.lanes[0]));
    // Over TLS a turn is made into records when it is due, on a connection that stands.
    TlsWorld world(1, fair_tls(), 1);
    EXPECT_EQ(play(chain(over_tls(world))).connects, 2u);
    // One answer that releases several wants as many connections, before it has come.
    Turned::Options other_options;
    for (std::uint32_t row = 1; row < turns; ++row) {
        other_options.rows.dependencies.push_back({row, 0, Trigger::completion, 0});
    }
    const Told other_told = play(other_options);
    EXPECT_EQ(other_told.connects, turns);
    for (std::uint32_t turn = 1; turn < turns; ++turn) {
        EXPECT_LT(other_told.fired_ns[turn] - other_told.ended_ns[0], microseconds(20).ns);
    }
}

// Trees with agents, played by users: however many agents a turn starts at once, they are of one
// tree; what nobody waits for holds nobody up; and a pass has each tree once.

constexpr std::uint32_t agents = 25;
constexpr std::uint32_t tree_rows =
    2 + 2 * agents + 1;  // before, agents of two turns, behind, one alone
constexpr std::uint32_t trees = 6;
constexpr std::uint32_t users = 3;

/// A turn starts 25 agents at once; the next one waits for all of them. One more, which has two
/// seconds to go, is waited for by nobody.
Trace fan_out() {
    Trace trace = make_trace(9, trees * tree_rows);
    for (std::uint32_t tree = 0; tree < trees; ++tree) {
        const std::uint32_t first = tree * tree_rows;
        trace.sessions.push_back("tree " + std::to_string(tree));
        for (std::uint32_t row = first; row < first + tree_rows; ++row) {
            trace.rows[row].session = tree;
            trace.rows[row].at_ns = trace.rows[first].at_ns;
        }
        const std::uint32_t behind = first + 1 + 2 * agents;
        for (std::uint32_t agent = 0; agent < agents; ++agent) {
            const std::uint32_t begin = first + 1 + 2 * agent;
            trace.dependencies.push_back({begin, first, Trigger::completion, 0});
            trace.dependencies.push_back({begin + 1, begin, Trigger::completion, 1'000'000});
        }
        for (std::uint32_t agent = 0; agent < agents; ++agent) {
            trace.dependencies.push_back({behind, first + 2 + 2 * agent, Trigger::completion, 0});
        }
        trace.dependencies.push_back({behind + 1, first, Trigger::dispatch, seconds(2).ns});
    }
    return trace;
}

SimOptions played() {
    return SimOptions{.seed = 9,
                      .inflight_max = 256,
                      .closed = true,
                      .users = {.users = users},
                      .body_bytes = 16 << 20};
}

// In each period no more trees are live than there are users, while far more requests are open.
TEST(AgentTrees, FanOutIsOfOneTree) {
    const SimResult result = lawful(run(fan_out(), played()));
    EXPECT_EQ(result.records.size(), trees * tree_rows);
    const auto periods = read_periods(result.periods_jsonl).value();
    std::uint64_t most_trees = 0;
    for (const Period& one : periods) {
        most_trees = std::max(most_trees, one.live_trees.value_or(0));
    }
    EXPECT_EQ(most_trees, users);
    std::vector<std::pair<std::int64_t, int>> steps;
    for (const Record& record : result.records) {
        EXPECT_EQ(record.outcome, Outcome::ok);
        steps.emplace_back(*record.fired_ns, 1);
        steps.emplace_back(*record.ended_ns, -1);
    }
    std::sort(steps.begin(), steps.end());
    int open = 0;
    int most = 0;
    for (const auto& [at_ns, change] : steps) {
        open += change;
        most = std::max(most, open);
    }
    EXPECT_GT(most, static_cast<int>(agents));
}

// It is sent two seconds behind its parent, when all others have ended; its tree is live until
// then.
TEST(AgentTrees, HoldNobodyUpAndComeOnceInAPass) {
    const SimResult result = run(fan_out(), played());
    std::map<std::uint32_t, const Record*> records;
    for (const Record& record : result.records) {
        records[record.row] = &record;
    }
    for (std::uint32_t tree = 0; tree < trees; ++tree) {
        const Record& behind = *records.at(tree * tree_rows + 1 + 2 * agents);
        const Record& alone = *records.at(tree * tree_rows + 2 + 2 * agents);
        EXPECT_EQ(alone.due_ns, *records.at(tree * tree_rows)->fired_ns + seconds(2).ns);
        EXPECT_LT(*behind.fired_ns, alone.due_ns);
    }
    // Each tree has all of its rows in each pass that was not cut off, and none of them twice.
    SimOptions options = played();
    options.users.recycle = true;
    options.users.for_ns = seconds(30).ns;
    options.drain_ns = seconds(60).ns;
    const SimResult other_result = lawful(run(fan_out(), options));
    std::map<std::uint32_t, std::uint32_t> rows_in;  // [pass]
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    for (const Record& record : other_result.records) {
        EXPECT_TRUE(seen.emplace(record.pass, record.row).second) << record.row;
        ++rows_in[record.pass];
    }
    ASSERT_GT(rows_in.size(), 4u);
    for (std::uint32_t pass = 0; pass + 2 < rows_in.size(); ++pass) {
        EXPECT_EQ(rows_in[pass], trees * tree_rows) << pass;
    }
}

// Gaps between starts: rows that wait for the end and for the start of one and the same other row
// keep every law, also where the run dies and goes on.

constexpr std::int64_t cap_ns = 20'000'000;

Trace timed_by_starts(std::uint64_t seed) {
    Trace trace = swarm_trace(seed, rows);
    close_sessions(trace, seed);
    const Result<Plan> plan = make_plan(trace, {});
    EXPECT_TRUE(plan);
    const std::size_t before = trace.dependencies.size();
    (void)retime({GapRule::start_to_start, cap_ns}, plan.value(), trace);
    EXPECT_GT(trace.dependencies.size(), before) << "no row waits twice for another";
    return trace;
}

TEST(SimGaps, BetweenStartsKeepTheLawsAndGoOn) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        EXPECT_EQ(broken_laws(run(timed_by_starts(seed), closed_options(seed))), "") << seed;
    }
    for (std::uint64_t seed = 0; seed < 15; ++seed) {
        const KilledRun killed =
            run_killed(timed_by_starts(seed), closed_options(seed), swarm_fates(seed));
        EXPECT_EQ(broken_laws(killed), "") << seed;
    }
}

}  // namespace
}  // namespace driftless::sim
