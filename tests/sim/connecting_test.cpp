// How a connection comes to stand: its time limit, the steps of its handshake, and what is noted
// where it fails; and how it ends.

#include "engine/replay/exchanges.hpp"
#include "tests/sim/by_hand.hpp"
#include "tests/sim/lawful.hpp"
#include "tests/sim/swarm.hpp"

namespace driftless::sim {

namespace {

struct Connects : ByHand {
    explicit Connects(const Options& options = {}) : ByHand(std::vector<SmallRow>(1), options) {}

    /// Begins a connect.
    void begin() {
        CHECK(lanes.pool.open_one(0));
        (void)loop.ready().run(64);
    }
    /// A turn without a step of a handshake.
    void turn_idly() {
        (void)driver.turn({driver.now() + milliseconds(1), 16, Wait::sleep, true});
        (void)driver.collect_stamps(16, nullptr);
        (void)loop.ready().run(64);
        loop.jobs().reap();
    }
    /// Until a handshake waits for its first step.
    void wait_for_handshake() {
        for (int i = 0; i < 100 && lanes.connecting.handshake_wanted() == never; ++i) {
            turn_idly();
        }
        CHECK(lanes.connecting.handshake_wanted() != never);
    }
    void turn_until_empty() {
        for (int i = 0; i < 10'000 && lanes.pool.in_use() > 0; ++i) {
            turn();
        }
    }

    LaneTarget& target = lanes.parts.targets[0];
    LaneCounts& counts = lanes.parts.counts;
};

Connects::Options in(const Weather& weather) {
    return Connects::Options{.weather = weather};
}

void expect_failed(Connects& connects) {
    EXPECT_EQ(std::tuple(connects.target.connecting, connects.target.open), std::tuple(0u, 0u));
    EXPECT_EQ(connects.target.failures, 1u);
    EXPECT_EQ(connects.counts.connect_failures, 1u);
    EXPECT_EQ(connects.lanes.pool.in_use(), 0u);
    EXPECT_EQ(connects.driver.in_flight(), 0u);
    EXPECT_EQ(connects.driver.sockets_open(), 0u);
    EXPECT_EQ(connects.loop.timers().next(), never);
}

TEST(Connecting, ConnectsThatTakeLongOrFailAreNoted) {
    Connects::Options options = in(Weather{.hang_connect = 1});
    options.settings.timeouts.connect = seconds(3);
    Connects connects(options);
    const Instant began = connects.driver.now();
    connects.begin();
    const Instant limit = connects.loop.timers().next();
    EXPECT_GE(limit, began + seconds(3));
    EXPECT_LT(limit, began + seconds(3) + microseconds(1));
    connects.pass(seconds(4));
    EXPECT_EQ(connects.loop.timers().expire(limit - Duration{1}, 32), 0u);
    connects.turn();
    EXPECT_EQ(connects.target.connecting, 1u);
    EXPECT_EQ(connects.loop.timers().expire(limit, 32), 1u);
    connects.turn_until_empty();
    expect_failed(connects);
    EXPECT_TRUE(connects.target.failure_timed_out);
    EXPECT_EQ(connects.target.failure_errno, ECANCELED);
    Connects other_connects(in(Weather{.refuse_connect = 1}));
    other_connects.begin();
    other_connects.turn_until_empty();
    expect_failed(other_connects);
    EXPECT_EQ(other_connects.target.failure_errno, ECONNREFUSED);
    EXPECT_FALSE(other_connects.target.failure_is_tls || other_connects.target.failure_timed_out);
    const Duration quiet = other_connects.target.quiet_until - other_connects.driver.now();
    EXPECT_LE(quiet, Connecting::failure_quiet);
    EXPECT_GT(quiet, Connecting::failure_quiet - milliseconds(2));
    Connects third_connects(in(Weather{.no_socket = 1}));
    third_connects.begin();
    third_connects.turn_until_empty();
    expect_failed(third_connects);
    EXPECT_EQ(third_connects.target.failure_errno, EMFILE);
}

// What stands has no time limit, is read from, and is asked for stamps.
TEST(Connecting, WhatStandsIsArmedAndNothingStaysBehind) {
    Connects connects;
    connects.open();
    const Lane& lane = *connects.lanes.shelf.oldest(0);
    EXPECT_EQ(connects.loop.timers().next(), never);
    EXPECT_TRUE(lane.receive.in_flight() && lane.stamps.in_flight());
    EXPECT_FALSE(lane.connect.in_flight());
    EXPECT_TRUE(lane.resent.has_value());
    EXPECT_EQ(connects.target.failures, 0u);
    EXPECT_EQ(connects.counts.slow_connects, 0);
    EXPECT_EQ(connects.counts.lanes_without_stamps, 0u);
    // A SYN was sent again.
    Connects other_connects(in(Weather{.slow_connect = 1}));
    other_connects.open();
    EXPECT_EQ(other_connects.counts.slow_connects, 1);
    EXPECT_EQ(other_connects.target.open, 1u);
    // It is cancelled; one that stood in the same moment is closed, too.
    for (const double too_late : {0.0, 1.0}) {
        Connects third_connects(in(Weather{.hang_connect = 1, .late_cancel = too_late}));
        third_connects.begin();
        third_connects.lanes.pool.close_all();
        third_connects.turn_until_empty();
        expect_failed(third_connects);
        EXPECT_FALSE(third_connects.target.failure_timed_out);
    }
    Connects third_connects;
    third_connects.open();
    EXPECT_EQ(third_connects.driver.in_flight(), 2u) << "its receive and its stamps";
    third_connects.lanes.pool.close_all();
    third_connects.turn_until_empty();
    EXPECT_EQ(third_connects.lanes.pool.in_use(), 0u);
    EXPECT_EQ(third_connects.driver.in_flight(), 0u);
    EXPECT_EQ(third_connects.driver.sockets_open(), 0u);
}

struct Secure {
    explicit Secure(const TlsWeather& weather = {}) : world(1, on(weather), 1) {}

    Connects::Options options() { return Connects::Options{.tls = &world}; }
    static TlsWeather on(TlsWeather weather) {
        weather.on = true;
        return weather;
    }

    TlsWorld world;
};

// Its arithmetic waits for whoever has time for it.
TEST(Connecting, AHandshakeWaitsForItsSteps) {
    Secure secure;
    Connects connects(secure.options());
    EXPECT_EQ(connects.lanes.connecting.handshake_wanted(), never);
    EXPECT_FALSE(connects.lanes.connecting.handshake_slice());
    connects.begin();
    EXPECT_EQ(connects.lanes.connecting.handshake_wanted(), never) << "the connect is under way";
    connects.wait_for_handshake();
    const Instant wanted = connects.lanes.connecting.handshake_wanted();
    EXPECT_LE(wanted, connects.driver.now());
    for (int i = 0; i < 100; ++i) {
        connects.turn_idly();
    }
    EXPECT_EQ(connects.lanes.connecting.handshake_wanted(), wanted);
    EXPECT_EQ(connects.target.connecting, 1u);
    EXPECT_TRUE(connects.lanes.connecting.handshake_slice());
    EXPECT_EQ(connects.lanes.connecting.handshake_wanted(), never) << "the server's turn";
    EXPECT_FALSE(connects.lanes.connecting.handshake_slice());
    for (int i = 0; i < 100 && connects.target.connecting > 0; ++i) {
        connects.turn();
    }
    EXPECT_EQ(connects.target.open, 1u);
    EXPECT_EQ(secure.world.handshakes(), 1u);
    const Lane& lane = *connects.lanes.shelf.oldest(0);
    EXPECT_EQ(lane.tls->own_bytes, lane.bytes_accepted);
    EXPECT_GT(lane.tls->own_bytes, 0u);
    EXPECT_GT(lane.idle_since, wanted) << "it stands since its handshake is over";
}

TEST(Connecting, TheHandshakeThatHasWaitedLongestGoesFirst) {
    Secure secure;
    Connects connects(secure.options());
    std::vector<int> said;
    connects.driver.tell_sends(
        [&](const Op& op, Instant) { said.push_back(op.spec.socket.number); });
    connects.begin();
    connects.wait_for_handshake();
    const Instant first = connects.lanes.connecting.handshake_wanted();
    connects.begin();
    for (int i = 0; i < 100; ++i) {
        connects.turn_idly();
    }
    EXPECT_EQ(connects.lanes.connecting.handshake_wanted(), first);
    for (const std::size_t lanes : {1u, 2u}) {
        EXPECT_TRUE(connects.lanes.connecting.handshake_slice());
        (void)connects.loop.ready().run(64);
        (void)connects.driver.flush();
        ASSERT_EQ(said.size(), lanes);
        EXPECT_EQ(said.back(), static_cast<int>(lanes));
    }
}

// The limit is of both, the connect and the handshake.
TEST(Connecting, AHandshakeEndsAtTheTimeLimitOfTheConnect) {
    TlsWeather weather{.deaf = 1};
    Secure secure(weather);
    Connects connects(secure.options());
    connects.begin();
    const Instant limit = connects.loop.timers().next();
    for (int i = 0; i < 100; ++i) {
        connects.turn();
    }
    EXPECT_EQ(connects.target.connecting, 1u);
    const Instant moved = connects.loop.timers().next();
    EXPECT_GE(moved, limit);
    EXPECT_LT(moved - limit, milliseconds(5)) << "what it waited for us";
    EXPECT_EQ(connects.loop.timers().expire(moved, 32), 1u);
    connects.turn_until_empty();
    expect_failed(connects);
    EXPECT_TRUE(connects.target.failure_timed_out);
}

// What waits for a step of ours does not: it gets that step, and as much longer.
TEST(Connecting, AHandshakeHasAsMuchLongerAsItWaitsForUs) {
    Secure secure;
    Connects connects(secure.options());
    connects.begin();
    const Instant limit = connects.loop.timers().next();
    connects.wait_for_handshake();
    const Instant wanted = connects.lanes.connecting.handshake_wanted();
    connects.driver.stand_still(seconds(60));
    EXPECT_EQ(connects.loop.timers().expire(connects.driver.now(), 32), 1u);
    connects.turn_idly();
    EXPECT_EQ(connects.target.connecting, 1u);
    const Instant now = connects.driver.now();
    EXPECT_TRUE(connects.lanes.connecting.handshake_slice());
    const Instant longer = limit + (now - wanted);
    EXPECT_GE(connects.loop.timers().next(), longer);
    EXPECT_LT(connects.loop.timers().next(), longer + microseconds(1));
    while (connects.target.connecting > 0) {
        connects.turn();
    }
    EXPECT_EQ(connects.target.failures, 0u);
    EXPECT_EQ(connects.lanes.shelf.count(), 1u);
    // The server's time is not that in which nobody looked; without TLS the kernel did all the
    // work.
    for (const bool tls : {true, false}) {
        Connects other_connects(tls ? secure.options() : Connects::Options{});
        other_connects.begin();
        const Instant other_limit = other_connects.loop.timers().next();
        other_connects.lanes.pool.for_each(LaneState::connecting, [&other_connects](Lane& lane) {
            other_connects.lanes.connecting.was_away(lane, seconds(5));
        });
        EXPECT_EQ(other_connects.loop.timers().next(), other_limit + seconds(tls ? 5 : 0));
        while (other_connects.target.connecting > 0) {
            other_connects.turn();
        }
        EXPECT_EQ(other_connects.loop.timers().next(), never);
    }
}

TEST(Connecting, AHandshakeThatFailsIsNotedOrSaysGoodbye) {
    for (const bool alert : {true, false}) {
        TlsWeather weather;
        (alert ? weather.alert : weather.no_tls) = 1;
        Secure secure(weather);
        Connects connects(secure.options());
        connects.begin();
        connects.turn_until_empty();
        expect_failed(connects);
        EXPECT_TRUE(connects.target.failure_is_tls);
        EXPECT_NE(connects.target.failure_errno, 0);
        EXPECT_FALSE(connects.target.failure_timed_out);
    }
    Secure secure;
    Connects connects(secure.options());
    connects.open();
    std::size_t said = 0;
    connects.driver.tell_sends([&](const Op&, Instant) { ++said; });
    connects.lanes.pool.close_all();
    connects.turn_until_empty();
    EXPECT_EQ(std::tuple(said, connects.driver.sockets_open()), std::tuple(1u, 0u));
}

// `--connection`: each row on one of its own, or each session on one of its own, and on time.

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
    SimResult result = run(trace, SimOptions{.seed = 8, .weather = weather, .connection = rule});
    EXPECT_EQ(broken_laws(result), "");
    std::sort(result.records.begin(), result.records.end(),
              [](const Record& a, const Record& b) { return a.row < b.row; });
    return result;
}

// Each row has a connection that stood before it was due, and that no other row has had.
TEST(ConnectionRule, FreshIsOneForEachRowStickyForEachSession) {
    const SimResult result = run_with(make_trace(8, rows), ConnectionRule::fresh);
    std::set<std::pair<std::uint32_t, std::int64_t>> connections;
    for (const Record& record : result.records) {
        EXPECT_EQ(values_of(record, "outcome, connection_state, reused"), "ok, fresh, false");
        EXPECT_NE(record.late_cause, LateCause::lane) << "row " << record.row;
        EXPECT_EQ(record.connection_age_ns, *record.fired_ns - *record.connect_ns);
        EXPECT_TRUE(connections.emplace(*record.connection, *record.connect_ns).second);
    }
    // Where turns do not overlap, a session has one connection from its first row to its last,
    // which no other session gets in between.
    constexpr std::uint32_t sessions = 5;
    const SimResult other_result = run_with(slow_trace(sessions), ConnectionRule::sticky);
    std::map<std::string, std::uint32_t> homes;
    for (const Record& record : other_result.records) {
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
    // A connection that ends takes no session with it.
    Weather weather{.cut = 0.3};
    const SimResult result =
        run_with(with_sessions(make_trace(8, rows), 9), ConnectionRule::sticky, weather);
    EXPECT_GT(std::count_if(result.records.begin(), result.records.end(),
                            [](const Record& record) { return record.outcome == Outcome::ok; }),
              rows / 2);
}

// Sessions go to servers in turn, each to one; every server has lanes for its own instants.
TEST(Balance, KeepsSessionsAndLanesWhereTheRowsGo) {
    SimOptions options{.seed = 8, .targets = 3, .balance = Balance::session, .inflight_max = 512};
    const SimResult result = lawful(run(with_sessions(make_trace(8, rows), 12), options));
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
    // One server gets nearly all rows of every instant: it has the lanes for them.
    options = {.seed = 8, .targets = 3, .balance = Balance::session, .inflight_max = 512};
    Trace trace = with_sessions(make_trace(8, rows), 3);
    for (TraceRow& row : trace.rows) {
        row.session = row.session == no_session ? no_session : 1;
        row.at_ns = row.at_ns / 20'000'000 * 20'000'000;
    }
    for (const Record& record : run(trace, options).records) {
        EXPECT_NE(record.late_cause, LateCause::lane) << "row " << record.row;
    }
}

// Servers close connections that stand idle. Whether they say when, or let it be seen, a row that
// comes later finds another connection standing; and one that meets the close itself is sent again.

constexpr std::uint32_t bursts = 12;
constexpr std::uint32_t burst_rows = 4;

/// Bursts so far apart, each of some rows at one instant.
Trace bursts_apart(Duration apart) {
    Trace trace = make_trace(4, bursts * burst_rows);
    for (std::uint32_t i = 0; i < trace.rows.size(); ++i) {
        trace.rows[i].at_ns = std::int64_t{i / burst_rows} * apart.ns;
        trace.rows[i].output_length = 2;
    }
    return trace;
}

Trace rows_apart(Duration apart) {
    Trace trace = bursts_apart(apart);
    for (std::uint32_t i = 0; i < trace.rows.size(); ++i) {
        trace.rows[i].at_ns = std::int64_t{i} * apart.ns;
    }
    return trace;
}

SimOptions server_with(Duration timeout, bool says_so) {
    return {.seed = 4, .server = {.keep_alive_timeout = timeout, .announce_keep_alive = says_so}};
}

std::uint32_t rows_without_lane(const SimResult& result) {
    return static_cast<std::uint32_t>(
        std::count_if(result.records.begin(), result.records.end(),
                      [](const Record& record) { return record.late_cause == LateCause::lane; }));
}

// A server that says its limit never gets to close a connection that has carried an answer, and no
// row finds none standing.
TEST(KeepAliveLimits, AreKnownOrLearned) {
    for (const Duration apart : {milliseconds(600), milliseconds(1000), milliseconds(2900)}) {
        const SimResult result = all_ok(run(bursts_apart(apart), server_with(seconds(1), true)));
        EXPECT_EQ(result.stale_retries, 0u) << apart.ns;
        EXPECT_EQ(result.closed_idle, 0u) << apart.ns;
        EXPECT_EQ(rows_without_lane(result), 0u) << apart.ns;
        EXPECT_GT(result.retired_idle, 0u) << apart.ns;
    }
    // A silent one closes the connections of two bursts. From then on it is known.
    const SimResult result =
        all_ok(run(bursts_apart(milliseconds(2900)), server_with(seconds(1), false)));
    EXPECT_GT(result.closed_idle, 0u);
    EXPECT_LE(result.closed_idle, 3 * burst_rows);  // of 48
    EXPECT_GT(result.retired_idle, 0u);
    EXPECT_EQ(rows_without_lane(result), 0u);
}

// A close that crosses the request costs one counted retry, and the row keeps its instant.
TEST(KeepAliveLimits, CrossedClosesAndGapsCostNothing) {
    std::uint64_t retries = 0;
    for (int around_us = -300; around_us <= 300; around_us += 20) {
        const Duration limit =
            milliseconds(600);  // the answer is complete 15 ms after its row left
        const Duration apart = limit + milliseconds(15) + microseconds(around_us);
        SimOptions options = server_with(limit, false);
        options.connections_fixed = 1;
        const SimResult result = all_ok(run(rows_apart(apart), options));
        for (const Record& record : result.records) {
            EXPECT_LE(record.stale_retries, 1u);
        }
        retries += result.stale_retries;
    }
    EXPECT_GT(retries, 0u);
    // The last connection that is allowed gives way to its successor between two rows.
    SimOptions options = server_with(seconds(1), true);
    options.connections_fixed = 1;
    const SimResult result = all_ok(run(rows_apart(milliseconds(1300)), options));
    EXPECT_EQ(result.stale_retries, 0u);
    EXPECT_EQ(rows_without_lane(result), 0u);
    // Nor is the number of answers exceeded that a server names, as one that counts down or not.
    SimOptions counting = server_with(Duration{0}, true);
    counting.server.keep_alive_requests = 3;
    const SimResult counted = all_ok(run(bursts_apart(milliseconds(100)), counting));
    EXPECT_EQ(counted.stale_retries, 0u);
    EXPECT_EQ(rows_without_lane(counted), 0u);
}

}  // namespace
}  // namespace driftless::sim
