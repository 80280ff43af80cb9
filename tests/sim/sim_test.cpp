// The replay in a simulated world: what fair weather gives, and what one kind of trouble at a time
// does. Mixes of them are in laws_test.cpp.

#include "engine/plan/load.hpp"
#include "engine/replay/between_fires.hpp"
#include "tests/sim/by_hand.hpp"
#include "tests/sim/effort.hpp"
#include "tests/sim/lawful.hpp"
#include "tests/sim/swarm.hpp"
#include "tests/unit/engine/io/turned.hpp"

namespace driftless::sim {

namespace {

constexpr std::uint32_t rows = 200;

// The simulated driver keeps what those of this host keep.
TEST(SimDriver, IsADriverAsOthersAre) {
    SimDriver driver(1, Weather{}, mock::CoreOptions{});
    expect_sleeps_until(driver);
    expect_nothing_to_cancel(driver);
    expect_cancel_ends(driver, SimDriver::spared_address());
}

// In fair weather every row is ok, on time to the microsecond, and exact in both lengths.
TEST(Simulation, FairWeatherFiresInFileOrder) {
    SimOptions options{.seed = 1, .server = {.overhead = {5, 3}}};
    const SimResult result = lawful(run(make_trace(1, rows), options));
    for (const Record& record : result.records) {
        EXPECT_EQ(record.outcome, Outcome::ok) << "row " << record.row;
        EXPECT_TRUE(record.wire_ns.has_value() && record.receive_delay_ns.has_value());
        EXPECT_EQ(record.prompt_tokens, std::int64_t{record.input_length.value()});
        EXPECT_EQ(record.output_tokens, std::int64_t{record.output_length.value()});
    }
    EXPECT_EQ(result.bytes_stray, 0u);
    // Rows of one instant leave in file order, each with its own stamp.
    SimResult other_result = run(make_trace(5, rows), SimOptions{.seed = 5});
    std::sort(other_result.records.begin(), other_result.records.end(),
              [](const Record& a, const Record& b) { return a.row < b.row; });
    for (std::size_t i = 1; i < other_result.records.size(); ++i) {
        ASSERT_LT(other_result.records[i - 1].fired_ns, other_result.records[i].fired_ns)
            << "row " << i;
    }
}

// Under --max-inflight never more are open, nothing is dropped, and rows say what held them back.
TEST(Simulation, InflightLimitHoldsRowsBackAndSaysSo) {
    const SimResult result =
        lawful(run(make_trace(6, rows), SimOptions{.seed = 6, .inflight_max = 3}));
    std::uint32_t held = 0;
    for (const Record& record : result.records) {
        EXPECT_EQ(record.outcome, Outcome::ok);
        EXPECT_LT(record.inflight.value_or(99), 3u);
        EXPECT_EQ(record.late_cause == LateCause::inflight, record.held_ns > 0);
        held += record.held_ns > 0 ? 1 : 0;
    }
    EXPECT_GT(held, 0u);
    // Servers that end each connection with its answer: rows that may leave wait for a new one, and
    // there the rest of the queue fills the places in flight before them. `--max-inflight` holds
    // them, but not while a place is free and a connection is made for it: that is late, and
    // nobody's wish.
    for (const bool secure : {false, true}) {
        SimOptions options{.seed = 6,
                           .weather = {.latency_max = milliseconds(5)},
                           .tls = {.on = secure},
                           .server = {.keep_alive_requests = 1},
                           .inflight_max = 3};
        const SimResult other_result = lawful(run(make_trace(6, rows), options));
        std::uint32_t other_held = 0;
        for (const Record& record : other_result.records) {
            EXPECT_EQ(record.outcome, Outcome::ok);
            const bool by_cap = record.late_cause == LateCause::inflight;
            EXPECT_TRUE(!by_cap || record.held_ns > 0);
            EXPECT_TRUE(by_cap || record.drift_ns >= 2 * record.held_ns);  // for a connection
            EXPECT_LE(record.held_ns, record.drift_ns);
            other_held += record.held_ns > 0 ? 1 : 0;
        }
        EXPECT_GT(other_held, rows / 2);
    }
}

// Tokens come faster than they are read, so that no turn finds nothing to receive: the run is
// stopped when it is told to be, all the same.
TEST(Simulation, BacklogsHideNothingAndFullRingsHoldRowsBack) {
    SimOptions options{.seed = 3};
    options.weather.bytewise = true;
    options.weather.latency_max = Duration{1};
    options.server.pace.first = microseconds(100);
    options.server.pace.between = microseconds(1);
    options.stop_at_ns = 1'000'000;
    options.overload = true;
    Trace trace = make_trace(3, 60);
    for (std::uint32_t i = 0; i < trace.rows.size(); ++i) {
        trace.rows[i].at_ns = i < 40 ? 0 : std::int64_t{i - 39} * 300'000;
        trace.rows[i].output_length = 60;
    }
    const SimResult result = lawful(run(trace, options));
    for (const Record& record : result.records) {
        EXPECT_LT(record.fired_ns.value_or(0), options.stop_at_ns + 100'000) << record.row;
        EXPECT_EQ(record.outcome, record.row < 43 ? Outcome::ok : Outcome::not_sent) << record.row;
    }
    // Where the writer comes so seldom that the ring is full, rows wait for it and name it, those
    // that stand behind the first one too: that lateness is ours, and not one of `--max-inflight`.
    options = {.seed = 8, .ring_bytes = 1, .drain_share = 0.00005};
    const SimResult other_result = lawful(run(make_trace(8, 20 * rows), options));
    std::uint32_t held = 0;
    for (const Record& record : other_result.records) {
        EXPECT_EQ(record.outcome, Outcome::ok);
        EXPECT_NE(record.late_cause, LateCause::inflight);
        EXPECT_EQ(record.late_cause == LateCause::writer, record.held_ns > 0);
        EXPECT_LE(record.held_ns, record.drift_ns);
        held += record.held_ns > 0 ? 1 : 0;
    }
    EXPECT_GT(held, 1u);
    // Rows that must be built once more find the memory full of rows behind them, which cannot
    // leave before them: they are built in the spare block, one after the other.
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        SimOptions other_options{.seed = seed,
                                 .targets = 3,
                                 .inflight_max = 10,
                                 .connections_fixed = 1,
                                 .body_bytes = 512 << 10};
        other_options.server.keep_alive_timeout = microseconds(200);
        const SimResult repeated = run(make_trace(seed, rows), other_options);
        EXPECT_EQ(broken_laws(repeated), "") << seed;
    }
}

// Warm sends go before rows that come alone, one each at most, and make none of them late.
TEST(Simulation, WarmSendsAndFewConnectionsSaySo) {
    SimOptions options{.seed = 4};
    const Trace trace = make_trace(4, rows);
    const SimResult without = run(trace, options);
    options.warm_sends = true;
    const SimResult with = lawful(run(trace, options));
    EXPECT_EQ(without.warm_sends, 0u);
    EXPECT_GT(with.warm_sends, 0u);
    EXPECT_LE(with.warm_sends, with.records.size());
    const auto worst = [](const SimResult& result) {
        std::int64_t drift = 0;
        for (const Record& record : result.records) {
            drift = std::max(drift, record.drift_ns.value_or(INT64_MAX));
        }
        return drift;
    };
    EXPECT_LE(worst(with), worst(without) + 1000);
    // With too few connections rows wait for one, leave late, and name the lane as the cause.
    options = {.seed = 7, .connections_fixed = 2};
    const SimResult result = lawful(run(make_trace(7, rows), options));
    std::uint32_t waited = 0;
    for (const Record& record : result.records) {
        EXPECT_EQ(record.outcome, Outcome::ok);
        EXPECT_LT(record.connection.value_or(99), 2u);
        waited += record.late_cause == LateCause::lane ? 1 : 0;
    }
    EXPECT_GT(waited, 0u);
}

// Copies of a trace are rows like any other: one record each, exact, and blind to each other's
// blocks, as the server's cache agrees.
TEST(Simulation, CopiesShareNothingWithEachOther) {
    SimOptions options{.seed = 9};
    const Trace once = make_trace(9, rows);
    Trace copies = once;
    ASSERT_TRUE(apply_load(LoadOptions{.copies = {4}, .seed = 9}, copies));
    const auto expected = [](const SimResult& result) {
        std::int64_t tokens = 0;
        for (const Record& record : result.records) {
            tokens += record.expected_cached_tokens.value();
            EXPECT_LE(record.cached_tokens.value_or(0), record.input_length);
        }
        return tokens;
    };
    const SimResult result = lawful(run(copies, options));
    EXPECT_EQ(result.records.size(), 4 * rows);
    EXPECT_EQ(expected(result), 4 * expected(run(once, options)));
    for (const Record& record : result.records) {
        EXPECT_EQ(record.outcome, Outcome::ok);
        EXPECT_EQ(record.prompt_tokens, std::int64_t{record.input_length.value()});
    }
}

SimResult run_in(const Weather& weather) {
    return all_ok(run(make_trace(10, rows), SimOptions{.seed = 10, .weather = weather}));
}

std::size_t with_wire(const SimResult& result) {
    return static_cast<std::size_t>(
        std::count_if(result.records.begin(), result.records.end(),
                      [](const Record& record) { return record.wire_ns.has_value(); }));
}

// Stamps that never come, or of bytes that nobody sent, leave `wire_ns` unknown and all else as it
// is; so does a kernel without stamps.
TEST(Simulation, LostLateOrSteppedStampsAreNobodys) {
    Weather weather{.lose_stamp = 1};
    const SimResult lost = run_in(weather);
    EXPECT_EQ(with_wire(lost), 0u);
    EXPECT_TRUE(lost.records[0].receive_delay_ns.has_value());
    weather.lose_stamp = 0.3;
    const std::size_t some = with_wire(run_in(weather));
    EXPECT_GT(some, rows / 2);
    EXPECT_LT(some, rows);
    weather.stamps = false;
    const SimResult none = run_in(weather);
    EXPECT_EQ(with_wire(none), 0u);
    EXPECT_TRUE(none.records[0].receive_delay_ns.has_value());  // by our own looks
    // A stamp that comes after the end of its exchange is nobody's, also where the next exchange is
    // on the same connection: no row is on the wire at another one's instant.
    const SimResult result = run_in(Weather{.late_stamp = 0.5});
    EXPECT_LT(with_wire(result), rows);
    for (const Record& record : result.records) {
        if (record.wire_ns) {
            // Far more than a fire costs here, far less than stamps come late (up to 200 ms).
            EXPECT_LE(*record.wire_ns - *record.fired_ns, 1'000'000) << "row " << record.row;
        }
    }
    // When somebody sets the clock, stamps between the jump and our next look at the clocks are out
    // of what is possible, and unknown; never absurd.
    const SimResult other_result = run_in(Weather{.step_clock = 0.0005});
    EXPECT_GT(with_wire(other_result), 0u);
    EXPECT_LT(with_wire(other_result), rows);
    for (const Record& record : other_result.records) {
        EXPECT_LE(record.wire_ns.value_or(0), record.ended_ns.value_or(0));
        EXPECT_GE(record.receive_delay_ns.value_or(0), 0);
    }
}

// A writer that stalls while rows wait for a connection, or fail to get one, holds them back: no
// place in the ring that an open row needs for its end is taken by another one's fire or end.
TEST(Simulation, WaitingRowsRetriesAndSharedConnections) {
    const auto many = static_cast<std::uint32_t>(repeats(20) * rows);
    for (const double refuse : {0.0, 0.5, 1.0}) {
        EXPECT_EQ(
            broken_laws(run(make_trace(11, many), SimOptions{.seed = 11,
                                                             .weather = {.refuse_connect = refuse},
                                                             .connections_fixed = 2,
                                                             .ring_bytes = 1,
                                                             .drain_share = 0.00002})),
            "")
            << refuse;
    }
    // A row whose stale connection asks for a fresh one gets it, also where every connection that
    // is allowed stands idle and used: one of them makes room.
    std::uint32_t retries = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        SimOptions options{
            .seed = seed,
            .weather = {.latency_max = milliseconds(2), .idle_close = milliseconds(10)},
            .connections_fixed = 1};
        const SimResult result = run(make_trace(seed, 20), options);
        ASSERT_EQ(broken_laws(result), "") << "seed " << seed;
        for (const Record& record : result.records) {
            EXPECT_EQ(record.outcome, Outcome::ok) << "seed " << seed << " row " << record.row;
            retries += record.stale_retries;
        }
    }
    EXPECT_GT(retries, 0u);
    // Fewer connections than URLs: those that stand idle make room for the others.
    for (const std::uint32_t connections : {1u, 2u}) {
        SimOptions options{.seed = 13, .targets = 3, .connections_fixed = connections};
        const SimResult result = all_ok(run(make_trace(13, rows), options));
    }
}

// A writer that comes too seldom costs payloads, never a row: such rows are tainted and not blamed.
TEST(Simulation, FullRingsTaintRowsAndRunsEnd) {
    std::uint32_t tainted = 0;
    for (std::uint64_t seed = 8; seed < 16; ++seed) {
        SimOptions options{.seed = seed, .inflight_max = 64};
        options.ring_bytes = 1;  // rounded up to what the reserves need
        options.drain_share = 0.00001;
        const SimResult result = lawful(run(make_trace(seed, rows), options));
        for (const Record& record : result.records) {
            EXPECT_NE(record.outcome, Outcome::short_output);
            tainted += record.tainted.empty() ? 0 : 1;
        }
    }
    EXPECT_GT(tainted, 0u);
    // A run that cannot end, because nobody empties its ring, is taken down all the same, with the
    // rows that wait for a connection: it opens none for them any more.
    EXPECT_FALSE(
        run(make_trace(8, 20 * rows),
            SimOptions{.seed = 8, .connections_fixed = 2, .ring_bytes = 1, .drain_share = 0})
            .ended);
    // Each time that run.json took too long, time 0 is moved away twice as far.
    for (const Duration written : {milliseconds(99), milliseconds(101), seconds(3)}) {
        SimOptions options{.run_json_synced = seconds(5), .run_json_written = written};
        const SimResult result = lawful(run(make_trace(3, 40), options));
        EXPECT_LT(result.lead_ns, 2 * written.ns + milliseconds(200).ns);
    }
}

// What has come is read in slices: before what is due where it has waited for long, and never so
// that nothing else gets a turn.

constexpr Duration long_wait = microseconds(100);

struct Reads : ByHand {
    explicit Reads(std::uint32_t count = 1, const Options& options = {})
        : ByHand(std::vector<SmallRow>(count), options) {}
    explicit Reads(const Options& options) : Reads(1, options) {}

    /// A connect has ended, and nobody has looked for so long.
    void leave_unread(Duration length) {
        while (reading.slice()) {
        }
        CHECK(lanes.pool.open_one(0));
        (void)loop.ready().run(64);
        pass(milliseconds(1));  // it has come within this
        (void)driver.unread_since(driver.now());
        pass(length);
    }

    /// A turn of the loop that only reads.
    bool read() {
        (void)reading.is_overdue(driver.now());
        return reading.slice();
    }
    /// Requests have left on connections of their own, and their answers are there, unread.
    void leave_answers(int count) {
        arm();
        for (int i = 0; i < count; ++i) {
            open();
        }
        for (int i = 0; i < count; ++i) {
            Lane& lane = *lanes.pool.take_idle(0, {});
            lanes.exchanges.prepare(lane, take(), {100, 1 << 20});
            (void)driver.flush();
            lanes.exchanges.fired(lane, driver.now());
            while (lane.unsent() > 0) {
                turn();
            }
        }
        driver.stand_still(seconds(1));
    }

    Reading reading{driver, loop, lanes};
};

// A timer that notes when it was called.
struct Deadline {
    Timer timer;
    Instant called = never;
    explicit Deadline(Loop& loop, Instant at) {
        timer.owner = this;
        timer.handler = [](Timer& self, Instant now) {
            static_cast<Deadline*>(self.owner)->called = now;
        };
        loop.timers().set(timer, at);
    }
};

TEST(Reading, WhatHasWaitedIsReadInItsShareOfTime) {
    Reads idle;
    idle.pass(seconds(1));
    EXPECT_FALSE(idle.reading.is_overdue(idle.driver.now()) || idle.reading.slice());
    Reads reads;
    reads.leave_unread(long_wait);
    EXPECT_TRUE(reads.reading.is_overdue(reads.driver.now()) && reads.reading.slice());
    EXPECT_FALSE(reads.reading.is_overdue(reads.driver.now()));
    // A slice that went first took 1 ms: all else gets a turn, and what is due gets as much time.
    Reads other_reads;
    other_reads.leave_unread(long_wait);
    const Instant to = other_reads.driver.now();
    other_reads.reading.note_first(to - milliseconds(1), to);
    EXPECT_FALSE(other_reads.reading.is_overdue(to + milliseconds(2))) << "one turn is not its";
    EXPECT_FALSE(other_reads.reading.is_overdue(to + milliseconds(1) - Duration{1}));
    EXPECT_TRUE(other_reads.reading.is_overdue(to + milliseconds(1)));
    // A deadline comes when all is read that came before it: those bytes keep to it.
    Reads third_reads;
    third_reads.leave_unread(long_wait);
    const Instant now = third_reads.driver.now();
    const Deadline deadline(third_reads.loop, now - microseconds(50));
    const Deadline before(third_reads.loop, now - milliseconds(1));
    EXPECT_TRUE(third_reads.reading.step(now, never, Duration{0}));
    EXPECT_EQ(deadline.called, never);
    for (int i = 0; i < 100 && deadline.called == never; ++i) {
        (void)third_reads.reading.step(third_reads.driver.now(), never, Duration{0});
    }
    EXPECT_NE(deadline.called, never);
    EXPECT_NE(before.called, never) << "nothing had come by then";
}

// The process was stopped right behind an entry of the kernel that had brought nothing: the next
// look does not enter, and what came meanwhile is not seen by it.
TEST(Reading, DeadlinesOfAStopComeBehindWhatWasRead) {
    for (int looks = 0; looks < 4; ++looks) {
        Reads reads(ByHand::Options{.weather = {.stuck_flag = 1}});
        reads.open();
        CHECK(reads.lanes.pool.open_one(0));
        (void)reads.loop.ready().run(64);
        (void)reads.driver.flush();
        for (int i = 0; i < looks; ++i) {
            (void)reads.reading.slice();
        }
        const Deadline deadline(reads.loop, reads.driver.now() + seconds(1));
        reads.driver.stand_still(seconds(2));
        for (int i = 0; i < 10 && reads.lanes.shelf.count() < 2; ++i) {
            EXPECT_EQ(deadline.called, never) << "after " << looks << " looks";
            (void)reads.reading.step(reads.driver.now(), never, Duration{0});
        }
        EXPECT_EQ(reads.lanes.shelf.count(), 2u);
        for (int i = 0; i < 10 && deadline.called == never; ++i) {
            (void)reads.reading.step(reads.driver.now(), never, Duration{0});
        }
        EXPECT_NE(deadline.called, never);
    }
}

// The rest of a large body takes 20 us: it goes where that is free before the guard of a row.
TEST(Reading, TheRestOfABodyGoesWhereThereIsTimeForIt) {
    Reads reads;
    reads.open();
    reads.arm();
    const std::string request =
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + std::string(100'000, 'x');
    Lane& lane = *reads.lanes.pool.take_idle(0, {});
    RowUnderway& row = reads.take();
    reads.armer.give_back(row);
    row.bytes = request;
    reads.lanes.exchanges.prepare(lane, row, {100, 1 << 20});
    (void)reads.driver.flush();
    reads.lanes.exchanges.fired(lane, reads.driver.now());
    for (int i = 0; i < 100 && !lane.rest_queued; ++i) {
        reads.turn();
    }
    ASSERT_TRUE(lane.rest_queued);
    const std::size_t first = lane.exchange.accepted;
    const Duration guard = microseconds(50);
    const Instant now = reads.driver.now();
    EXPECT_FALSE(reads.reading.step(now, now + guard + microseconds(20), guard));
    EXPECT_TRUE(lane.rest_queued);
    const Instant later = reads.driver.now();
    EXPECT_TRUE(reads.reading.step(later, later + guard + microseconds(20) + Duration{1}, guard));
    EXPECT_FALSE(lane.rest_queued);
    for (int i = 0; i < 100 && lane.exchange.accepted == first; ++i) {
        reads.turn();
    }
    EXPECT_GT(lane.exchange.accepted, first);
}

// A backlog without end must not hide all else: that gets a turn behind every 16th read. Where
// nothing was left to read it had one, and the count begins anew.
TEST(Reading, GivesWayAndTakesStampsWhereThereIsTime) {
    Reads reads;
    for (const std::uint32_t last : {10u, 33u}) {
        for (int i = 0; i < 100 && reads.reading.slice(); ++i) {
            reads.pass(milliseconds(1));
        }
        EXPECT_FALSE(reads.reading.slice());
        for (std::uint32_t read = 1; read <= last; ++read) {
            CHECK(reads.lanes.pool.open_one(0));
            reads.pass(milliseconds(1));  // its connect has ended within this
            EXPECT_TRUE(reads.reading.slice());
            EXPECT_EQ(reads.reading.gives_way(), read % 16 == 0) << read;
        }
        reads.pass(milliseconds(1));
    }
    // 16 stamps take 20 us: they are taken where that is free before the guard of a row.
    Reads other_reads;
    other_reads.open();
    other_reads.arm();
    Lane& lane = *other_reads.lanes.pool.take_idle(0, {});
    RowUnderway& row = other_reads.take();
    other_reads.armer.give_back(row);
    row.bytes = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n";
    other_reads.lanes.exchanges.prepare(lane, row, {100, 1 << 20});
    (void)other_reads.driver.flush();
    other_reads.lanes.exchanges.fired(lane, other_reads.driver.now());
    other_reads.pass(milliseconds(1));
    const Duration guard = microseconds(50);
    const Instant now = other_reads.driver.now();
    EXPECT_FALSE(other_reads.reading.collect_stamps(now, now + guard + microseconds(20), guard));
    EXPECT_FALSE(lane.exchange.wire_known);
    const Instant due = now + guard + microseconds(20) + Duration{1};
    EXPECT_TRUE(other_reads.reading.collect_stamps(now, due, guard));
    EXPECT_TRUE(lane.exchange.wire_known);
    EXPECT_FALSE(other_reads.reading.collect_stamps(now, never, guard)) << "there are no more";
}

// Three answers are there. What waits for the first may leave before its lane is done with, and
// before the next is read.
TEST(Reading, AnAnswerEndsItsSlice) {
    Reads reads(3);
    reads.leave_answers(3);
    for (std::uint32_t done = 0; done < 3; ++done) {
        EXPECT_FALSE(reads.reading.settle());
        while (reads.lanes.in_flight.answered().empty()) {
            ASSERT_TRUE(reads.reading.slice());
        }
        EXPECT_EQ(reads.lanes.in_flight.answered().count, 1u);
        EXPECT_EQ(reads.lanes.in_flight.settling(), 1u);
        EXPECT_EQ(reads.lanes.shelf.count(0), done);
        reads.lanes.in_flight.answered().pop_front()->told = true;
        EXPECT_TRUE(reads.reading.settle());
        EXPECT_EQ(reads.lanes.in_flight.settling(), 0u);
        EXPECT_EQ(reads.lanes.in_flight.ended().count, done + 1);
        EXPECT_EQ(reads.lanes.shelf.count(0), done + 1);
    }
}

// The host sleeps before each of three answers is read: the last one has waited for all sleeps.
// Behind the backlog the count begins anew.
TEST(Reading, SleepsOfOneBacklogAddUp) {
    Reads reads(3);
    reads.leave_answers(3);
    const HostSleep& sleep = reads.lanes.parts.sleep;
    Duration slept{0};
    for (std::int64_t answer = 1; answer <= 3; ++answer) {
        reads.driver.suspend(seconds(answer));
        slept = slept + seconds(answer);
        while (reads.lanes.in_flight.answered().empty()) {
            ASSERT_TRUE(reads.read());
        }
        EXPECT_EQ(sleep.length, slept);
        reads.lanes.in_flight.answered().pop_front()->told = true;
        EXPECT_TRUE(reads.reading.settle());
    }
    std::vector<std::int64_t> waited;
    for (const Event& event : reads.drain()) {
        if (event.kind == EventKind::end) {
            waited.push_back(event.waited_ns);
        }
    }
    ASSERT_EQ(waited.size(), 3u);
    EXPECT_GE(waited.front(), seconds(1).ns);
    EXPECT_LT(waited.front(), seconds(3).ns);
    EXPECT_GE(waited.back(), slept.ns);

    reads.pass(milliseconds(1));
    EXPECT_FALSE(reads.read()) << "all was read";
    reads.pass(milliseconds(1));
    reads.driver.suspend(seconds(1));
    (void)reads.read();
    EXPECT_EQ(sleep.length, seconds(1));
}

// Once a second a run says what it has done since it last said so, and how it stands now.

struct Sampling : ByHand {
    Sampling() : ByHand(std::vector<SmallRow>(2)) {
        health.begin(driver.now());
        sampler.begin();
    }
    /// The sample of the second that ends now.
    ClientSample report() {
        (void)drain();
        const Instant now = driver.now();
        sampler.report(now, {});
        const Event* event = ring.front();
        CHECK(event != nullptr && event->kind == EventKind::sample && event->stamp_ns == now.ns);
        ClientSample sample;
        const std::string_view payload = EventRing::payload_of(*event);
        CHECK(payload.size() == sizeof(sample));
        std::memcpy(&sample, payload.data(), sizeof(sample));
        ring.pop();
        return sample;
    }

    Health health;
    Sampler sampler{driver, nullptr, ring, bodies, lanes, health};
};

TEST(Sampler, CountsWhatHappenedSinceTheLastReport) {
    Sampling run;
    run.lanes.parts.counts.bytes_sent = 7;
    run.lanes.parts.counts.rows_ended = 2;
    run.lanes.parts.counts.slow_connects = 1;
    run.lanes.parts.counts.wire_stamps = 5;
    run.lanes.parts.counts.wire_delay_sum_ns = 50;
    run.lanes.exchanges.receive_counts().receives = 3;
    run.health.note_fire(10, 20);
    const ClientSample first = run.report();
    EXPECT_EQ(std::tuple(first.bytes_sent, first.rows_ended), std::tuple(7, 2));
    EXPECT_EQ(std::tuple(first.slow_connects, first.wire_stamps), std::tuple(1, 5));
    EXPECT_EQ(std::tuple(first.wire_delay_sum_ns, first.receives), std::tuple(50, 3));
    EXPECT_EQ(first.rows_fired, 1);
    run.lanes.parts.counts.wire_stamps += 1;
    const ClientSample second = run.report();
    EXPECT_EQ(second.from_ns, first.to_ns);
    EXPECT_EQ(std::tuple(second.bytes_sent, second.rows_ended), std::tuple(0, 0));
    EXPECT_EQ(std::tuple(second.slow_connects, second.wire_stamps), std::tuple(0, 1));
    EXPECT_EQ(std::tuple(second.wire_delay_sum_ns, second.receives), std::tuple(0, 0));
    EXPECT_EQ(second.rows_fired, 0);
}

// What connections cost before time 0 is not the first second's.
TEST(Sampler, SaysHowTheRunStandsAsFarAsItIsKnown) {
    Sampling run;
    run.open();
    run.sampler.begin();
    EXPECT_EQ(run.report().operations, 0);
    run.open();
    EXPECT_GT(run.report().operations, 0);
    EXPECT_EQ(run.report().operations, 0);
    Sampling other_run;
    other_run.arm();
    other_run.open();
    (void)other_run.leave();
    const ClientSample sample = other_run.report();
    EXPECT_EQ(std::tuple(sample.inflight, sample.lanes_open, sample.lanes_idle, sample.armed_bytes),
              std::tuple(1, 1, 1, static_cast<std::int64_t>(other_run.bodies.used_bytes())));
    EXPECT_GT(sample.armed_bytes, 0);
    // Nobody asked the kernel: that is not the same as none.
    Sampling third_run;
    EXPECT_EQ(third_run.report().user_ns, -1);
    EXPECT_EQ(third_run.report().instructions, -1);
    // The writer hangs: a sample is lost, and the rows keep their places in the ring.
    Sampling fourth_run;
    fourth_run.fill_ring();
    fourth_run.sampler.report(fourth_run.driver.now(), {});
    for (const Event& event : fourth_run.drain()) {
        EXPECT_NE(event.kind, EventKind::sample);
    }
}

}  // namespace
}  // namespace driftless::sim
