// `--connection`: each row on one of its own, or each session on one of its own, and on time.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/sim/laws.hpp"
#include "tests/sim/swarm.hpp"

namespace driftless::sim {
namespace {

constexpr std::uint32_t rows = 200;

/// Sessions take their turns in the order of rows; one row in seven belongs to none.
Trace with_sessions(Trace trace, std::uint32_t sessions) {
    for (std::uint32_t i = 0; i < sessions; ++i) {
        trace.sessions.push_back("s" + std::to_string(i));
    }
    for (std::uint32_t i = 0; i < trace.rows.size(); ++i) {
        trace.rows[i].session = i % 7 == 6 ? no_session : i % sessions;
    }
    return trace;
}

/// Time enough for every answer before the next row.
Trace slow_trace(std::uint32_t sessions) {
    Trace trace = with_sessions(make_trace(8, rows), sessions);
    for (std::uint32_t i = 0; i < rows; ++i) {
        trace.rows[i].at_ns = std::int64_t{i} * 400'000'000;
    }
    return trace;
}

SimResult run_with(const Trace& trace, ConnectionRule rule, Weather weather = {}) {
    SimOptions options{.seed = 8, .weather = weather, .connection = rule};
    SimResult result = run(trace, options);
    EXPECT_EQ(broken_laws(result), "");
    std::sort(result.records.begin(), result.records.end(),
              [](const Record& a, const Record& b) { return a.row < b.row; });
    return result;
}

// Each row has a connection that stood before it was due, and that no other row has had.
TEST(ConnectionRule, FreshGivesEachRowOneOfItsOwn) {
    const SimResult result = run_with(make_trace(8, rows), ConnectionRule::fresh);
    std::set<std::pair<std::uint32_t, std::int64_t>> connections;
    for (const Record& record : result.records) {
        EXPECT_EQ(record.outcome, Outcome::ok);
        EXPECT_EQ(record.connection_state, ConnectionState::fresh);
        EXPECT_FALSE(record.reused);
        EXPECT_NE(record.late_cause, LateCause::lane) << "row " << record.row;
        EXPECT_EQ(record.connection_age_ns, *record.fired_ns - *record.connect_ns);
        EXPECT_TRUE(connections.emplace(*record.connection, *record.connect_ns).second);
    }
}

// Where turns do not overlap, a session has one connection from its first row to its last, which no
// other session gets in between.
TEST(ConnectionRule, StickyKeepsASessionOnItsConnection) {
    constexpr std::uint32_t sessions = 5;
    const SimResult result = run_with(slow_trace(sessions), ConnectionRule::sticky);
    std::map<std::string, std::uint32_t> homes;
    for (const Record& record : result.records) {
        EXPECT_EQ(record.outcome, Outcome::ok);
        EXPECT_LE(record.drift_ns.value_or(INT64_MAX), 5'000) << "row " << record.row;
        if (!record.session) {
            EXPECT_TRUE(record.connection_state == ConnectionState::fresh ||
                        record.connection_state == ConnectionState::reused);
            continue;
        }
        const auto [home, first] = homes.emplace(*record.session, *record.connection);
        EXPECT_EQ(home->second, *record.connection) << "row " << record.row;
        EXPECT_EQ(record.connection_state == ConnectionState::sticky, !first);
    }
    std::set<std::uint32_t> distinct;
    for (const auto& [session, lane] : homes) {
        distinct.insert(lane);
    }
    EXPECT_EQ(distinct.size(), sessions);
}

// Turns that overlap cannot share a connection, and say so; under reuse nobody does.
TEST(ConnectionRule, StickySaysWhereItCouldNot) {
    Trace trace = with_sessions(make_trace(8, rows), 2);
    std::map<ConnectionState, std::uint32_t> states;
    for (const Record& record : run_with(trace, ConnectionRule::sticky).records) {
        EXPECT_EQ(record.outcome, Outcome::ok);
        ++states[record.connection_state.value()];
    }
    EXPECT_GT(states[ConnectionState::moved], 0u);
    EXPECT_GT(states[ConnectionState::sticky], 0u);
    for (const Record& record : run_with(trace, ConnectionRule::reuse).records) {
        EXPECT_EQ(record.connection_state,
                  record.reused ? ConnectionState::reused : ConnectionState::fresh);
    }
}

// A connection that ends takes no session with it.
TEST(ConnectionRule, StickySurvivesCuts) {
    Weather weather;
    weather.cut = 0.3;
    const SimResult result =
        run_with(with_sessions(make_trace(8, rows), 9), ConnectionRule::sticky, weather);
    EXPECT_GT(std::count_if(result.records.begin(), result.records.end(),
                            [](const Record& record) { return record.outcome == Outcome::ok; }),
              rows / 2);
}

// Sessions go to servers in turn, each to one; every server has lanes for its own instants.
TEST(Balance, SessionKeepsASessionOnItsServer) {
    SimOptions options{.seed = 8, .targets = 3, .balance = Balance::session, .inflight_max = 512};
    const SimResult result = run(with_sessions(make_trace(8, rows), 12), options);
    EXPECT_EQ(broken_laws(result), "");
    std::map<std::string, std::set<std::string>> sessions_of;
    for (const Record& record : result.records) {
        EXPECT_EQ(record.outcome, Outcome::ok);
        EXPECT_NE(record.late_cause, LateCause::lane) << "row " << record.row;
        if (record.session) {
            sessions_of[record.url].insert(*record.session);
        }
    }
    ASSERT_EQ(sessions_of.size(), 3u);
    for (const auto& [url, sessions] : sessions_of) {
        EXPECT_EQ(sessions.size(), 4u) << url;
    }
}

// One server gets nearly all rows of every instant: it has the lanes for them.
TEST(Balance, LanesStandWhereTheRowsGo) {
    SimOptions options{.seed = 8, .targets = 3, .balance = Balance::session, .inflight_max = 512};
    Trace trace = with_sessions(make_trace(8, rows), 3);
    for (TraceRow& row : trace.rows) {
        row.session = row.session == no_session ? no_session : 1;
        row.at_ns = row.at_ns / 20'000'000 * 20'000'000;
    }
    for (const Record& record : run(trace, options).records) {
        EXPECT_NE(record.late_cause, LateCause::lane) << "row " << record.row;
    }
}

}  // namespace
}  // namespace driftless::sim
