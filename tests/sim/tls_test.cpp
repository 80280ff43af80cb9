// The replay over TLS in a simulated world: what fair weather gives, and what one kind of trouble
// at a time does. Mixes of them are in laws_test.cpp.

#include "engine/io/tls.hpp"

#include "engine/replay/lanes.hpp"
#include "tests/sim/lawful.hpp"
#include "tests/sim/small_world.hpp"
#include "tests/sim/swarm.hpp"
#include "tests/unit/texts.hpp"

namespace driftless::sim {

namespace {

constexpr std::uint32_t rows = 200;

SimOptions secure(std::uint64_t seed) {
    return SimOptions{.seed = seed, .tls = {.on = true}, .server = {.overhead = {5, 3}}};
}

using Outcomes = std::map<Outcome, std::uint32_t>;

Outcomes outcomes_of(const SimResult& result) {
    Outcomes outcomes;
    for (const Record& record : result.records) {
        ++outcomes[record.outcome];
    }
    return outcomes;
}

std::uint32_t late_by(LateCause cause, const SimResult& result) {
    return static_cast<std::uint32_t>(
        std::count_if(result.records.begin(), result.records.end(),
                      [&](const Record& record) { return record.late_cause == cause; }));
}

// In fair weather every row is ok and exact in both lengths, and later connections take up the
// sessions of earlier ones.
TEST(Tls, FairWeatherAndEqualSeeds) {
    for (const bool old : {false, true}) {
        SimOptions options = secure(1);
        options.tls.old = old;
        options.connection = ConnectionRule::fresh;
        const SimResult result = lawful(run(make_trace(1, rows), options));
        EXPECT_EQ(outcomes_of(result), (Outcomes{{Outcome::ok, rows}}));
        EXPECT_GT(result.resumed, rows / 4);
        EXPECT_LT(result.resumed, result.handshakes);
        for (const Record& record : result.records) {
            EXPECT_TRUE(record.wire_ns.has_value()) << "row " << record.row;
        }
    }
    // Same seed: the same bytes, though OpenSSL has random integers of many lengths to send.
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        SimOptions options = secure(seed);
        options.weather.cut = 0.3;
        options.tls.corrupt = 0.3;
        options.tls.murmur = options.tls.interrupt = 0.3;
        options.tls.old = seed % 2 == 0;
        const SimResult first = run(make_trace(seed, rows), options);
        const SimResult again = run(make_trace(seed, rows), options);
        EXPECT_EQ(broken_laws(first), "") << seed;
        ASSERT_TRUE(first.jsonl == again.jsonl) << "seed " << seed;
        ASSERT_EQ(first.bytes_delivered, again.bytes_delivered) << "seed " << seed;
    }
    // Some URLs are https, others http.
    SimOptions options = secure(2);
    options.targets = 3;
    options.tls.only_first = true;
    const SimResult result = lawful(run(make_trace(2, rows), options));
    EXPECT_EQ(outcomes_of(result), (Outcomes{{Outcome::ok, rows}}));
}

// A handshake that comes to nothing is the end of a row that waits for it, by its name.
TEST(Tls, FailedHandshakesAreNamed) {
    struct Failure {
        double TlsWeather::* what;
        Outcome outcome;
        const char* error;
    };
    for (const Failure& failure : {
             Failure{&TlsWeather::no_tls, Outcome::tls_failed, "wrong version number"},
             Failure{&TlsWeather::alert, Outcome::tls_failed, "handshake failure"},
             Failure{&TlsWeather::hang_up, Outcome::tls_failed, "unexpected eof"},
             Failure{&TlsWeather::wrong_name, Outcome::tls_failed, "hostname mismatch"},
             Failure{&TlsWeather::deaf, Outcome::timeout_connect, ""},
         }) {
        for (const bool old : {false, true}) {
            SimOptions options = secure(3);
            options.tls.old = old;
            options.tls.*failure.what = 1;
            const SimResult result = lawful(run(make_trace(3, 20), options));
            EXPECT_EQ(outcomes_of(result), (Outcomes{{failure.outcome, 20}})) << failure.error;
            const std::string error = result.records[0].error.value_or("");
            EXPECT_TRUE(says(error, failure.error));
            options.tls.*failure.what = 0.3;
            EXPECT_GT(outcomes_of(lawful(run(make_trace(3, rows), options)))[Outcome::ok], 0u);
        }
    }
}

// Sessions that are refused, tickets and new keys at any time: no row sees any of it.
TEST(Tls, TicketsFlippedBitsAndStaleBytesHarmNobody) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        SimOptions options = secure(seed);
        options.tls.old = seed == 4;
        options.tls.tickets = static_cast<std::uint32_t>(seed % 3);
        options.tls.forget = 0.5;
        options.tls.murmur = 1;
        options.tls.interrupt = 0.5;
        options.server.keep_alive_requests = 3;
        const SimResult result = run(make_trace(seed, rows), options);
        EXPECT_EQ(broken_laws(result), "") << seed;
        EXPECT_EQ(outcomes_of(result), (Outcomes{{Outcome::ok, rows}})) << seed;
        EXPECT_GT(result.handshakes, result.resumed) << seed;
    }
    // A bit that flips on the way is noticed: no row takes what it made for an answer.
    for (const bool old : {false, true}) {
        SimOptions options = secure(5);
        options.tls.old = old;
        options.tls.corrupt = 0.5;
        const SimResult result = lawful(run(make_trace(5, rows), options));
        for (const auto& [outcome, count] : outcomes_of(result)) {
            EXPECT_TRUE(outcome == Outcome::ok || outcome == Outcome::tls_failed ||
                        outcome == Outcome::truncated || outcome == Outcome::timeout_idle ||
                        outcome == Outcome::timeout_first_byte ||
                        outcome == Outcome::timeout_connect)
                << name_of(outcome);
        }
        EXPECT_GT(outcomes_of(result)[Outcome::tls_failed], 0u);
    }
    // What TLS said on a connection that then turned out to be stale belongs to no row.
    std::uint64_t retries = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        SimOptions options = secure(seed);
        options.connections_fixed = 1;
        options.weather.idle_close = milliseconds(8);
        options.weather.latency_max = milliseconds(5);
        const SimResult result = run(make_trace(seed, 20), options);
        EXPECT_EQ(broken_laws(result), "") << seed;
        EXPECT_EQ(outcomes_of(result), (Outcomes{{Outcome::ok, 20}})) << seed;
        retries += result.stale_retries;
    }
    EXPECT_GT(retries, 0u);
}

/// Bursts of four rows at one instant, so far apart.
Trace bursts_apart(Duration apart) {
    Trace trace = make_trace(4, 48);
    for (std::uint32_t i = 0; i < trace.rows.size(); ++i) {
        trace.rows[i].at_ns = std::int64_t{i / 4} * apart.ns;
    }
    return trace;
}

// A close_notify is the close of an idle connection, too: what servers do not say is learned from
// it (connecting_test.cpp has the same of a plain close).
TEST(Tls, IdleLimitsAreLearnedFromGoodbyes) {
    for (const double no_goodbye : {0.0, 1.0}) {
        SimOptions options = secure(4);
        options.server.keep_alive_timeout = seconds(1);
        options.server.announce_keep_alive = false;
        options.tls.no_goodbye = no_goodbye;
        const SimResult result = lawful(run(bursts_apart(milliseconds(2900)), options));
        EXPECT_EQ(outcomes_of(result), (Outcomes{{Outcome::ok, 48}}));
        EXPECT_GT(result.closed_idle, 0u);
        EXPECT_LE(result.closed_idle, 12u) << no_goodbye;
    }
}

/// Rows of 24,000 tokens, all at one instant a second after the start.
Trace large_rows(std::uint32_t count) {
    Trace trace = make_trace(6, count + 1);
    trace.ids.truncate(0);
    for (TraceRow& row : trace.rows) {
        row.at_ns = row.index == 0 ? 0 : 1'000'000'000;
        row.input_length = row.index == 0 ? 100 : 24'000;
        row.ids_begin = trace.ids.size();
        row.ids_count = (row.input_length + 511) / 512;
        trace.ids.append(std::vector<std::uint64_t>(row.ids_count, row.index));
    }
    return trace;
}

// Where records cost more than the time that is left for them, rows are due while they are made
// into records: they leave as soon as they are, and say that we were late.
TEST(Tls, RowsAreSealedBeforeTimeZeroOrLeaveLate) {
    SimOptions options = secure(6);
    options.body_bytes = 32 << 20;
    options.tls.record_max = milliseconds(2);
    const SimResult result = lawful(run(large_rows(60), options));
    EXPECT_EQ(outcomes_of(result), (Outcomes{{Outcome::ok, 61}}));
    EXPECT_GT(late_by(LateCause::prepare, result), 10u);
    for (const Record& record : result.records) {
        EXPECT_GE(record.drift_ns, 0);
        if (record.late_cause == LateCause::prepare) {
            EXPECT_GT(record.armed_ns, record.due_ns) << "row " << record.row;
        }
    }
    // Records of the first rows are made while the run warms up, wherever on the run's timeline
    // these stand: what is resumed begins far from its time 0.
    options = secure(6);
    options.tls.record_max = milliseconds(20);  // too long for the time before time 0
    options.timeouts = Timeouts{};
    const Trace trace = make_trace(6, 60);
    for (const std::int64_t begin_s : {0, 1000}) {
        Plan plan;
        for (std::uint32_t row = 0; row < trace.rows.size(); ++row) {
            plan.rows.push_back({begin_s * 1'000'000'000, row, 0});
        }
        SimDisk disk;
        SimMachine machine;
        const SimResult other_result = run_segment(trace, options, {disk, machine, plan, {}});
        EXPECT_EQ(late_by(LateCause::prepare, other_result), 0u) << begin_s;
        EXPECT_EQ(outcomes_of(other_result), (Outcomes{{Outcome::ok, 60}})) << begin_s;
    }
}

// A run that is stopped meanwhile sends none of them, and each has its end.
TEST(Tls, AStopMeetsRowsAtEveryStep) {
    for (std::int64_t stop_at_ns = 750'000'000; stop_at_ns < 1'000'000'000;
         stop_at_ns += 25'000'000) {
        SimOptions options = secure(6);
        options.body_bytes = 32 << 20;
        options.tls.record_max = milliseconds(2);
        options.stop_at_ns = stop_at_ns;
        const SimResult result = run(large_rows(60), options);
        EXPECT_EQ(broken_laws(result), "") << stop_at_ns;
        EXPECT_EQ(outcomes_of(result), (Outcomes{{Outcome::ok, 1}, {Outcome::not_sent, 60}}));
    }
    // So do those that are late, wait for a connection, or are built again when it is stopped: no
    // memory is lost on the way, and none is sent.
    for (std::int64_t stop_at_ns = 5'000'000; stop_at_ns < 500'000'000; stop_at_ns += 5'000'000) {
        SimOptions options = secure(8);
        options.inflight_max = 2;
        options.connections_fixed = 4;
        options.tls.record_max = milliseconds(2);
        options.weather.idle_close = milliseconds(15);
        options.weather.latency_max = milliseconds(5);
        options.stop_at_ns = stop_at_ns;
        options.stop_again_ns = stop_at_ns + 20'000'000;
        const SimResult result = run(make_trace(8, 40), options);
        ASSERT_EQ(broken_laws(result), "") << stop_at_ns;
        for (const auto& [outcome, count] : outcomes_of(result)) {
            EXPECT_TRUE(outcome == Outcome::ok || outcome == Outcome::not_sent ||
                        outcome == Outcome::cancelled || outcome == Outcome::send_failed)
                << name_of(outcome);
        }
    }
}

// A connection that is bound to a row which may not leave grows old like any other: the row leaves
// on another one.
TEST(Tls, BoundConnectionsGrowOldAndRowsKeepTheirMemory) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        SimOptions options = secure(seed);
        options.inflight_max = 1;
        options.connections_fixed = 2;
        options.server.keep_alive_timeout = seconds(1);
        options.server.pace.first = milliseconds(1500);
        options.timeouts = {seconds(1), seconds(10), seconds(10), seconds(20)};
        options.weather.stall = 0.1;  // the close, too
        const SimResult result = run(make_trace(7, 10), options);
        EXPECT_EQ(broken_laws(result), "") << seed;
        EXPECT_GT(outcomes_of(result)[Outcome::ok], 0u) << seed;
        EXPECT_GT(result.retired_idle, 0u) << seed;
    }
    // Rows that lose their connections keep the memory of their bytes: those behind them, which
    // cannot leave before them, took it once, and the run had no end.
    constexpr std::uint64_t seed = 280;
    SimOptions options = swarm_options(seed);
    options.tls.on = true;
    EXPECT_GT(outcomes_of(lawful(run(swarm_trace(seed, rows), options)))[Outcome::ok], rows / 2);
}

// Lanes with TLS, driven by hand: a row on its way from being bound to being fired, and what
// becomes of it at each step when nothing more is to be sent.

class SecureLane : public testing::Test {
  protected:
    /// The server closes what has been idle for so long.
    explicit SecureLane(Duration keep_alive = seconds(2))
        : driver_{1, Weather{}, server(keep_alive), {}, {}, &world_} {
        CHECK(static_cast<bool>(bodies_.open(4 << 20)));
        (void)lanes_.pool.open_one(0);
        while (lanes_.shelf.count() == 0) {
            turn();
        }
    }
    ~SecureLane() override {
        lanes_.pool.close_all();
        while (lanes_.pool.in_use() > 0) {
            turn();
        }
        loop_.jobs().reap();
        EXPECT_EQ(bodies_.used_bytes(), 0u);
        EXPECT_EQ(driver_.misread(), 0u);
    }

    void turn() {
        (void)driver_.turn({driver_.now() + milliseconds(1), 16, Wait::sleep, true});
        (void)driver_.collect_stamps(16, nullptr);
        (void)lanes_.connecting.handshake_slice();
        (void)loop_.ready().run(64);
    }

    /// A connection stands.
    void stand() {
        while (lanes_.shelf.count() == 0) {
            (void)lanes_.pool.open_one(0);
            while (lanes_.parts.targets[0].connecting > 0) {
                turn();
            }
        }
    }
    /// The server closes what stands idle.
    void lose() {
        while (lanes_.pool.in_use() > 0) {
            turn();
        }
    }

    /// A row of this many records, bound to the lane; connections have been lost under it before,
    /// or it has been sent on them.
    RowUnderway& bind(std::uint32_t number, std::size_t records, bool late,
                      std::uint16_t losses = 0, std::uint16_t tries = 0) {
        const std::size_t bytes = (records - 1) * record_bytes_max + 1000;
        std::string request = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ";
        request += std::to_string(bytes) + "\r\n\r\n" + std::string(bytes, 'x');
        const std::size_t room = seal_room(request.size());
        RowUnderway& row = rows_.emplace_back();
        row.due.request = number;
        row.taken = true;
        row.stage = RowStage::armed;
        row.losses = losses;
        row.tries = tries;
        row.storage = bodies_.take(room + request.size());
        std::memcpy(row.storage + room, request.data(), request.size());
        row.bytes = {row.storage + room, request.size()};
        CHECK(lanes_.pool.bind(0, row, {}, late) != nullptr);
        return row;
    }

    void fire(Lane& lane, RowUnderway& row) {
        lanes_.exchanges.prepare(lane, row, {100, 1 << 20});
        driver_.flush();
        lanes_.exchanges.fired(lane, driver_.now());
        while (lane.state == LaneState::busy) {
            turn();
            (void)lanes_.exchanges.send_rest_slice();
        }
    }

    /// What is to be built again has kept its storage.
    void give_back_what_is_left() {
        while (RowUnderway* row = lanes_.parts.again.pop_front()) {
            ASSERT_NE(row->storage, nullptr);
            bodies_.give(row->storage);
        }
    }

    /// What became of the rows that have ended.
    std::vector<Outcome> ends() {
        std::vector<Outcome> outcomes;
        for (const Event* event = ring_.front(); event != nullptr; event = ring_.front()) {
            if (event->kind == EventKind::end) {
                outcomes.push_back(event->end.outcome);
            }
            ring_.pop();
        }
        return outcomes;
    }

    static mock::CoreOptions server(Duration keep_alive) {
        return mock::CoreOptions{.keep_alive_timeout = keep_alive};
    }

    TlsWorld world_{1, fair_tls(), 1};
    SimDriver driver_;
    Loop loop_{driver_, 8};
    ReplaySettings settings_;
    std::deque<RowUnderway> rows_;
    BodyPool bodies_;
    EventRing ring_{1 << 16, 4};
    Lanes lanes_{loop_, world_.endpoints(), settings_, bodies_, ring_};
};

// A row that is all records when it is due leaves at once.
TEST_F(SecureLane, ARowThatIsReadyIsTaken) {
    RowUnderway& row = bind(0, 3, false);
    EXPECT_EQ(lanes_.pool.take_ready(row), nullptr);
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(lanes_.pool.seal_slice());
    }
    EXPECT_FALSE(lanes_.pool.seal_slice());
    Lane* lane = lanes_.pool.take_ready(row);
    ASSERT_NE(lane, nullptr);
    fire(*lane, row);
    EXPECT_EQ(lanes_.shelf.count(), 1u);  // it was answered, and the connection is kept
}

// One that is not is late: it goes before what is not due, and comes out when it is ready, with
// what has kept it.
TEST_F(SecureLane, ARowThatIsNotReadyIsLate) {
    (void)lanes_.pool.open_one(0);
    while (lanes_.shelf.count() < 2) {
        turn();
    }
    RowUnderway& other = bind(0, 3, false);
    RowUnderway& row = bind(1, 3, false);
    EXPECT_TRUE(lanes_.pool.seal_slice());  // of the other row, which is the first
    EXPECT_FALSE(lanes_.sealing.next_is_late());
    row.cause = LateCause::prepare;
    row.held_ns = 7;
    lanes_.pool.now_late(row);
    EXPECT_TRUE(lanes_.sealing.next_is_late());
    EXPECT_EQ(lanes_.sealing.late_count(), 1u);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(lanes_.sealing.late_front(), nullptr);
        EXPECT_TRUE(lanes_.pool.seal_slice());
    }
    EXPECT_FALSE(lanes_.sealing.next_is_late());
    ASSERT_NE(lanes_.sealing.late_front(), nullptr);
    RowUnderway& late = *lanes_.sealing.late_front()->tls->row;
    Lane& lane = *lanes_.pool.take_ready(late);
    EXPECT_EQ(std::tuple(late.due.request, late.cause, late.held_ns, lanes_.sealing.late_count()),
              std::tuple(1u, LateCause::prepare, 7, 0u));
    fire(lane, late);
    EXPECT_EQ(lanes_.pool.take_ready(other), nullptr);
    lanes_.pool.unbind_all();
}

// Of rows that are late the first to be ready leaves first.
TEST_F(SecureLane, LateRowsLeaveInTheirOrder) {
    (void)lanes_.pool.open_one(0);
    while (lanes_.shelf.count() < 2) {
        turn();
    }
    (void)bind(0, 1, true);
    (void)bind(1, 1, true);
    EXPECT_TRUE(lanes_.pool.seal_slice() && lanes_.pool.seal_slice());
    ASSERT_NE(lanes_.sealing.late_front(), nullptr);
    EXPECT_EQ(lanes_.sealing.late_front()->tls->row->due.request, 0u);
    lanes_.pool.unbind_all();
    give_back_what_is_left();
}

// A row that is in flight already, because it is sent again, is the first of those that are late:
// the others may have to wait for its end.
TEST_F(SecureLane, ARetryGoesBeforeRowsThatMayWaitForItsEnd) {
    (void)lanes_.pool.open_one(0);
    while (lanes_.shelf.count() < 2) {
        turn();
    }
    (void)bind(0, 1, true);
    (void)bind(1, 1, true, 0, 1);
    EXPECT_TRUE(lanes_.pool.seal_slice());
    ASSERT_NE(lanes_.sealing.late_front(), nullptr);
    EXPECT_EQ(lanes_.sealing.late_front()->tls->row->due.request, 0u);
    EXPECT_TRUE(lanes_.pool.seal_slice());
    EXPECT_EQ(lanes_.sealing.late_front()->tls->row->due.request, 1u);
    EXPECT_EQ(lanes_.sealing.late_count(), 2u);
    lanes_.pool.unbind_all();
    EXPECT_EQ(lanes_.parts.again.count, 2u);
    give_back_what_is_left();
}

class ConnectionsThatEndYoung : public SecureLane {
  protected:
    ConnectionsThatEndYoung() : SecureLane(milliseconds(300)) {}
};

// A connection that ends under a row is made good by another one, a few times; a row that is due
// ends then, one that is not has time.
TEST_F(ConnectionsThatEndYoung, EndARowThatIsDue) {
    for (const bool late : {false, true}) {
        for (const std::uint16_t losses : {Sealing::losses_max - 1, Sealing::losses_max + 0}) {
            stand();
            (void)bind(5, 3, late, losses);
            EXPECT_TRUE(lanes_.pool.seal_slice());
            lose();
            const bool over = late && losses == Sealing::losses_max;
            EXPECT_EQ(lanes_.parts.again.count, over ? 0u : 1u);
            EXPECT_EQ(ends(),
                      over ? std::vector<Outcome>{Outcome::send_failed} : std::vector<Outcome>{});
            give_back_what_is_left();
            EXPECT_EQ(bodies_.used_bytes(), 0u);
        }
    }
}

// One that ends of its age, because the row was held back, is none of those.
TEST_F(SecureLane, ConnectionsThatEndOfTheirAgeEndNoRow) {
    (void)bind(5, 3, true, Sealing::losses_max);
    lose();
    ASSERT_EQ(lanes_.parts.again.count, 1u);
    EXPECT_EQ(lanes_.parts.again.first->losses, Sealing::losses_max);
    EXPECT_TRUE(ends().empty());
    give_back_what_is_left();
}

// When nothing more is to be sent, a row that was due is handed back, one that was not is its
// armer's; no memory is lost, whatever there is of its records, and the lane ends.
TEST_F(SecureLane, NothingIsLeftBoundAfterAStop) {
    for (const bool late : {false, true}) {
        for (int sealed = 0; sealed <= 3; ++sealed) {
            stand();
            (void)bind(5, 3, late);
            for (int i = 0; i < sealed; ++i) {
                EXPECT_TRUE(lanes_.pool.seal_slice());
            }
            lanes_.pool.unbind_all();
            EXPECT_EQ(lanes_.parts.again.count, late ? 1u : 0u);
            EXPECT_EQ(lanes_.sealing.late_count(), 0u);
            EXPECT_EQ(lanes_.sealing.late_front(), nullptr);
            EXPECT_FALSE(lanes_.pool.seal_slice());
            EXPECT_EQ(lanes_.parts.targets[0].bound, 0u);
            give_back_what_is_left();
            EXPECT_EQ(bodies_.used_bytes(), 0u);
            while (lanes_.pool.in_use() > 0) {
                turn();
            }
        }
    }
}

}  // namespace
}  // namespace driftless::sim
