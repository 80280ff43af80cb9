// The turns of a run, one by one: what goes before what, how it begins, and how it ends.

#include "engine/replay/run.hpp"

#include "engine/machines/calibration_floor.hpp"
#include "engine/server/preflight.hpp"
#include "tests/sim/effort.hpp"
#include "tests/sim/lawful.hpp"
#include "tests/sim/planted_runs.hpp"
#include "tests/sim/swarm.hpp"
#include "tests/sim/turned.hpp"
#include "tests/unit/texts.hpp"

namespace driftless::sim {

namespace {

using Rows = std::vector<SmallRow>;

// Nothing waits unread for long, as it may for a sleep to end.
Turned::Options spinning() {
    return Turned::Options{.settings = {.wait = WaitPolicy::spin}};
}

// Two rows at once want two connections: one stands, the other's connect has just ended. Time 0 is
// next.
void stand_before_zero(Turned& turned) {
    for (int i = 0; i < 1000 && turned.run.lane_counts().connects < 2; ++i) {
        (void)turned.run.warm();
    }
    for (int i = 0; i < 100'000 && turned.read() == 0; ++i) {
        turned.turn();
    }
    ASSERT_EQ(turned.read(), 1u);
    turned.wait_for_arrival();
    ASSERT_EQ(turned.read(), 1u);
}

// A row that is due within the guard, and one that is late.
TEST(Run, FiresAndReadsInTurn) {
    for (const Duration late : {Duration{0}, microseconds(30)}) {
        Turned turned(Rows(2), spinning());
        stand_before_zero(turned);
        turned.begin(microseconds(1));
        turned.driver.stand_still(late);
        turned.turn();
        EXPECT_EQ(turned.run.rows_fired(), 1u);
        EXPECT_EQ(turned.read(), 1u);
        EXPECT_LT(turned.driver.now() - turned.zero, late + microseconds(1));
    }
    // The answer of the only connection is read so close before a row that nothing else begins: the
    // row has that connection all the same.
    Turned::Options options{.rows = {.dependencies = {{2, 1, Trigger::completion, 0}}},
                            .settings = {.lanes_max = 1}};
    const Duration due = milliseconds(100);
    Turned turned(Rows{{Duration{0}}, {due}, {due}}, options);
    turned.warm();
    turned.begin(milliseconds(1));
    turned.turn_until_fired(1);
    turned.driver.stand_still(turned.zero + due - microseconds(15) - turned.driver.now());
    turned.turn_until_fired(2);
    std::int64_t fired_ns = 0;
    for (const Event* event = turned.ring.front(); event != nullptr; event = turned.ring.front()) {
        fired_ns = event->kind == EventKind::fired ? event->stamp_ns : fired_ns;
        turned.ring.pop();
    }
    EXPECT_LE(fired_ns - (turned.zero + due).ns, 50) << "two looks at the clock";
    // ... but what has come is not left unread for longer than 0.1 ms; then the row has its turn.
    Turned other_turned(Rows(2), spinning());
    stand_before_zero(other_turned);
    other_turned.begin(microseconds(1));
    other_turned.driver.stand_still(microseconds(100));
    other_turned.turn();
    EXPECT_EQ(other_turned.run.rows_fired(), 0u);
    EXPECT_EQ(other_turned.read(), 2u);
    other_turned.turn();
    EXPECT_EQ(other_turned.run.rows_fired(), 1u);
}

// The first connection of several has just come to stand.
void open_one(Turned& turned) {
    for (int i = 0; i < 1000 && turned.run.lane_counts().connects == 0; ++i) {
        turned.turn();
    }
    turned.wait_for_arrival();
    ASSERT_EQ(turned.run.lane_counts().connects, 1u);
}

// Three connections are wanted; the second is opened when what has come is read.
TEST(Run, ReadsBeforeItPrepares) {
    Turned turned(Rows(1), Turned::Options{.settings = {.connections_fixed = 3}});
    open_one(turned);
    const std::uint64_t read = turned.read();
    turned.turn();
    EXPECT_GT(turned.read(), read);
    EXPECT_EQ(turned.run.lane_counts().connects, 1u);
    for (int i = 0; i < 100 && turned.run.lane_counts().connects < 3; ++i) {
        turned.turn();
    }
    EXPECT_EQ(turned.run.lane_counts().connects, 3u);
}

// The second row came due before its bytes were built, which takes many slices: they go before what
// has come.
TEST(Run, PreparesWhatIsLateAndNothingBeforeARow) {
    Turned::Options options;
    options.server.pace.first = milliseconds(3100);
    options.rows.pool_bytes = 8 << 20;
    Turned turned(Rows{{Duration{0}}, {seconds(3), no_session, 60'000}}, options);
    turned.warm();
    turned.begin(milliseconds(1));
    turned.turn_until_fired(1);
    turned.driver.stand_still(seconds(3));
    turned.turn();  // reads what came meanwhile
    const std::uint64_t read = turned.read();
    turned.turn();
    ASSERT_EQ(turned.read(), read);
    turned.wait_for_arrival();
    ASSERT_EQ(turned.armer.ready(turned.due(1)), nullptr);
    for (int i = 0; i < 20 && turned.armer.ready(turned.due(1)) == nullptr; ++i) {
        turned.turn();
        ASSERT_EQ(turned.read(), read);
    }
    EXPECT_NE(turned.armer.ready(turned.due(1)), nullptr);
    // Nothing is prepared within the guard of a row: it leaves at its instant.
    Turned other_turned(Rows(1), Turned::Options{.settings = {.connections_fixed = 3}});
    open_one(other_turned);
    other_turned.turn();
    ASSERT_EQ(other_turned.run.lane_counts().connects, 1u);
    other_turned.begin(guard_min);
    other_turned.turn();
    EXPECT_EQ(other_turned.run.rows_fired(), 1u);
    EXPECT_EQ(other_turned.run.lane_counts().connects, 1u);
    EXPECT_LT(other_turned.driver.now() - other_turned.zero, microseconds(1));
    // ... nor where it would still run when the guard begins: a slice takes 20 us.
    for (const Duration ahead : {microseconds(19), microseconds(22)}) {
        Turned third_turned(Rows(1), Turned::Options{.settings = {.connections_fixed = 3}});
        open_one(third_turned);
        third_turned.turn();
        third_turned.begin(guard_min + ahead);
        third_turned.turn();
        EXPECT_EQ(third_turned.run.lane_counts().connects, ahead < microseconds(20) ? 1u : 2u);
    }
}

TEST(Run, IsWarmWhenAllStandsOrFailsOrAfter10Seconds) {
    Turned turned(Rows(3));
    EXPECT_FALSE(turned.run.warm());
    turned.warm();
    EXPECT_EQ(turned.armer.armed_count(), 3u);
    EXPECT_EQ(turned.run.lane_counts().connects, 3u);
    EXPECT_EQ(turned.run.lane_counts().open_max, 3u);
    turned.run.abandon();
    turned.over = true;
    turned.expect_nothing_left();
    // A server that does not answer holds up the beginning for 10 s at most; or until the user
    // stops.
    Turned::Options options{.weather = {.hang_connect = 1}};
    options.settings.timeouts.connect = seconds(60);
    Turned other_turned(Rows(1), options);
    const Instant began = other_turned.driver.now();
    while (!other_turned.run.warm() && other_turned.driver.now() - began < seconds(20)) {
        other_turned.turn();
    }
    const Duration took = other_turned.driver.now() - began;
    EXPECT_GT(took, seconds(10));
    EXPECT_LT(took, seconds(10) + milliseconds(25));
    Turned stopped(Rows(1), options);
    for (int i = 0; i < 100; ++i) {
        EXPECT_FALSE(stopped.run.warm());
        stopped.turn();
    }
    stopped.stop_requests = 1;
    EXPECT_TRUE(stopped.run.warm());
    // A connect that cannot be had does not hold up the beginning.
    Turned third_turned(Rows(1), Turned::Options{.weather = {.refuse_connect = 1}});
    const Instant other_began = third_turned.driver.now();
    third_turned.warm();
    EXPECT_LT(third_turned.driver.now() - other_began, milliseconds(50));
    EXPECT_EQ(third_turned.run.lane_counts().connect_failures, 1u);
}

TEST(Run, IsOverWhenAllHasEndedAndIsClosed) {
    Turned turned(Rows{{Duration{0}}, {milliseconds(5)}});
    turned.warm();
    turned.begin(milliseconds(200));
    turned.turn_until_over();
    const std::vector<Event> ends = turned.ends();
    ASSERT_EQ(ends.size(), 2u);
    for (const Event& end : ends) {
        EXPECT_EQ(end.end.outcome, Outcome::ok);
    }
    EXPECT_FALSE(turned.run.interrupted());
    turned.expect_nothing_left();
}

// Servers whose first token takes a minute.
Turned::Options slow() {
    Turned::Options options;
    options.server.pace.first = seconds(60);
    options.settings.grace = seconds(4);
    return options;
}

// One row is out, the other would leave in 20 s.
void stop_in_flight(Turned& turned) {
    turned.warm();
    turned.begin(milliseconds(1));
    turned.turn_until_fired(1);
}

// What is out gets the grace to end by itself; what is not, ends at once.
TEST(Run, AStopGivesGraceUntilTheSecond) {
    Turned turned(Rows{{Duration{0}}, {seconds(20)}}, slow());
    stop_in_flight(turned);
    const Instant stopped = turned.driver.now();
    turned.stop_requests = 1;
    turned.turn_until_over();
    EXPECT_TRUE(turned.run.interrupted());
    const std::vector<Event> ends = turned.ends();
    ASSERT_EQ(ends.size(), 2u);
    EXPECT_EQ(ends[0].end.outcome, Outcome::not_sent);
    EXPECT_LT(ends[0].stamp_ns, (stopped + milliseconds(25)).ns);
    EXPECT_EQ(ends[1].end.outcome, Outcome::cancelled);
    EXPECT_GE(ends[1].stamp_ns, (stopped + seconds(4)).ns);
    EXPECT_LT(ends[1].stamp_ns, (stopped + seconds(4) + milliseconds(25)).ns);
    turned.expect_nothing_left();
    Turned::Options options = slow();
    options.server.pace.first = seconds(3);
    Turned other_turned(Rows{{Duration{0}}, {seconds(20)}}, options);
    stop_in_flight(other_turned);
    other_turned.stop_requests = 1;
    other_turned.turn_until_over();
    const std::vector<Event> other_ends = other_turned.ends();
    ASSERT_EQ(other_ends.size(), 2u);
    EXPECT_EQ(other_ends[1].end.outcome, Outcome::ok);
    Turned third_turned(Rows{{Duration{0}}, {seconds(20)}}, slow());
    stop_in_flight(third_turned);
    third_turned.stop_requests = 1;
    for (int i = 0; i < 10; ++i) {
        third_turned.turn();
    }
    const Instant again = third_turned.driver.now();
    third_turned.stop_requests = 2;
    third_turned.turn_until_over();
    const std::vector<Event> third_ends = third_turned.ends();
    ASSERT_EQ(third_ends.size(), 2u);
    EXPECT_EQ(third_ends[1].end.outcome, Outcome::cancelled);
    EXPECT_LT(third_ends[1].stamp_ns, (again + milliseconds(25)).ns);
}

// Connections that end during the grace have no successor.
TEST(Run, StopsByItselfAndBeforeItsBeginning) {
    Turned::Options options = slow();
    options.settings.connections_fixed = 3;
    options.server.keep_alive_timeout = seconds(1);
    Turned turned(Rows{{Duration{0}}, {seconds(20)}}, options);
    stop_in_flight(turned);
    turned.stop_requests = 1;
    turned.turn_until_over();
    EXPECT_EQ(turned.run.lane_counts().closed_idle, 2u);
    EXPECT_EQ(turned.run.lane_counts().connects, 3u);
    // A disk that is full is not the user's doing.
    Turned other_turned(Rows{{Duration{0}}, {seconds(20)}}, slow());
    stop_in_flight(other_turned);
    other_turned.run.stop();
    other_turned.turn_until_over();
    EXPECT_FALSE(other_turned.run.interrupted());
    EXPECT_EQ(other_turned.run.rows_fired(), 1u);
    EXPECT_EQ(other_turned.ends().size(), 2u);
    other_turned.expect_nothing_left();
    // A stop before time 0: each row gets its end, and no connection is opened any more.
    Turned third_turned(Rows(1), Turned::Options{.settings = {.connections_fixed = 3}});
    open_one(third_turned);
    third_turned.stop_requests = 1;
    third_turned.turn_until_over();
    EXPECT_EQ(third_turned.run.rows_fired(), 0u);
    EXPECT_EQ(third_turned.run.lane_counts().connects, 1u);
    const std::vector<Event> ends = third_turned.ends();
    ASSERT_EQ(ends.size(), 1u);
    EXPECT_EQ(ends[0].end.outcome, Outcome::not_sent);
    third_turned.expect_nothing_left();
}

// Rows that are armed, and one that waits for a connection: none gets an end.
TEST(Run, AbandonLeavesNothingBehind) {
    Turned turned(Rows{{Duration{0}}, {seconds(1)}},
                  Turned::Options{.weather = {.hang_connect = 1}});
    for (int i = 0; i < 100; ++i) {
        turned.turn();
    }
    turned.begin(microseconds(1));
    turned.driver.stand_still(milliseconds(1));
    for (int i = 0; i < 100; ++i) {
        turned.turn();
    }
    EXPECT_EQ(turned.armer.armed_count(), 1u);
    EXPECT_GT(turned.bodies.used_bytes(), 0u);
    EXPECT_GT(turned.driver.in_flight(), 0u);
    turned.run.abandon();
    turned.over = true;
    EXPECT_TRUE(turned.ends().empty());
    turned.expect_nothing_left();
}

// Several engines: every law holds whatever the faults; rows, dues and prompts are those of one
// engine; the rows of a burst wait for fewer others.

constexpr std::uint32_t rows = 200;

TEST(Engines, KeepEveryLawAndRepeatTheirBytes) {
    std::uint64_t records = 0;
    for (std::uint64_t seed = 1; seed <= seeds(300); ++seed) {
        const SimResult result = run_engines_swarm(seed, rows);
        ASSERT_EQ(broken_laws(result), "") << "seed " << seed;
        records += result.engines > 1 ? result.records.size() : 0;
    }
    EXPECT_GT(records, seeds(300) * rows / 2) << "they were several";
    for (std::uint64_t seed = 1; seed <= repeats(10); ++seed) {
        EXPECT_EQ(run_engines_swarm(seed, rows).jsonl, run_engines_swarm(seed, rows).jsonl);
    }
}

/// What must not depend on their number.
using Sending = std::tuple<std::int64_t, std::uint64_t, std::string, std::int64_t, std::string>;

std::map<std::uint32_t, Sending> sendings_of(const SimResult& result) {
    std::map<std::uint32_t, Sending> sendings;
    for (const Record& record : result.records) {
        sendings[record.row] = {record.due_ns, record.bytes_sent, record.url,
                                record.prompt_tokens.value_or(-1), record.trace_id.value_or("")};
    }
    return sendings;
}

TEST(Engines, SendTheSameWhateverTheirNumber) {
    SimOptions options{.seed = 5, .server = {.overhead = {5, 3}}, .own_fields = true, .targets = 3};
    const Trace trace = make_trace(5, rows);
    const std::map<std::uint32_t, Sending> one = sendings_of(run(trace, options));
    EXPECT_EQ(one.size(), rows);
    for (const std::uint32_t engines : {2U, 3U, 8U}) {
        options.engines = engines;
        const SimResult result = run(trace, options);
        EXPECT_EQ(result.engines, engines);
        EXPECT_EQ(broken_laws(result), "");
        EXPECT_TRUE(sendings_of(result) == one) << engines;
    }
}

std::int64_t worst_drift_ns(const SimResult& result) {
    std::int64_t worst = 0;
    for (const Record& record : result.records) {
        worst = std::max(worst, record.drift_ns.value_or(0));
    }
    return worst;
}

TEST(Engines, DivideABurst) {
    SimOptions options{.seed = 7};
    Trace burst = make_trace(7, rows);
    for (TraceRow& row : burst.rows) {
        row.at_ns = 0;
    }
    options.inflight_max = rows;
    const std::int64_t alone_ns = worst_drift_ns(run(burst, options));
    options.engines = 4;
    EXPECT_GT(alone_ns, 3 * worst_drift_ns(run(burst, options)));
}

// A host that has no socket left, and connects that are all refused: rows, preflight and
// calibration end with the reason, and nothing stays behind.

/// 200 rows in such weather; no law is broken.
std::vector<Record> run_in(const Weather& weather) {
    const SimResult result =
        lawful(run(make_trace(17, 200), SimOptions{.seed = 17, .weather = weather}));
    return result.records;
}

/// Rows that failed for our own lack, whose errors all say `reason`.
std::size_t failed_for_our_lack(const std::vector<Record>& records, const std::string& reason) {
    std::size_t failed = 0;
    for (const Record& record : records) {
        if (record.outcome == Outcome::client_failed) {
            ++failed;
            EXPECT_TRUE(says(record.error.value_or(""), reason));
        }
    }
    return failed;
}

// Where a socket can be made now and then, other rows get theirs.
TEST(NoSocket, RowsEndWithTheReason) {
    for (const double none : {0.5, 1.0}) {
        const std::vector<Record> records = run_in(Weather{.no_socket = none});
        const std::size_t failed = failed_for_our_lack(records, "Too many open files");
        EXPECT_EQ(failed == records.size(), none == 1.0);
        for (const Record& record : records) {
            if (record.outcome == Outcome::client_failed) {
                EXPECT_EQ(record.tainted, std::vector<std::string>{"client_failed"});
            }
        }
    }
    // Every port to the server is taken: none of its doing.
    const std::vector<Record> records = run_in(Weather{.no_port = 0.5});
    for (const Record& record : records) {
        EXPECT_NE(record.outcome, Outcome::connect_failed);
    }
    const std::size_t failed = failed_for_our_lack(records, "EADDRNOTAVAIL");
    EXPECT_GT(failed, 0u);
    EXPECT_LT(failed, records.size());
}

// A send that finds no memory ends its row at once: the server would wait for the rest of it.
TEST(NoSocket, RowsWithoutMemoryFailForOurOwnLack) {
    const std::vector<Record> records = run_in(Weather{.no_memory = 0.2});
    for (const Record& record : records) {
        EXPECT_NE(record.outcome, Outcome::timeout_first_byte);
        EXPECT_NE(record.outcome, Outcome::send_failed);
    }
    EXPECT_GT(failed_for_our_lack(records, "ENOBUFS"), 0u);
    // Its place is free from then on, not since its fire: what the cap held back meanwhile is not
    // late.
    SimOptions options{.seed = 17,
                       .weather = {.short_send = 0.5, .block_send = 0.3, .no_memory = 0.2},
                       .inflight_max = 2};
    const SimResult result = lawful(run(make_trace(17, 200), options));
    EXPECT_GT(failed_for_our_lack(result.records, "ENOBUFS"), 0u);
    constexpr std::int64_t loop_ns = 5'000'000;
    for (const Record& record : result.records) {
        EXPECT_LE(record.drift_ns.value_or(0) - record.held_ns, loop_ns) << record.row;
    }
    SimDriver driver(3, Weather{.no_socket = 1}, mock::CoreOptions{});
    Loop loop(driver, 8);
    PreflightPlan plan{.dialect = &dialect_of(Api::openai_chat), .words = &WordTable::built_in()};
    Preflight preflight(loop, plan);
    EXPECT_FALSE(preflight.run());
    const std::string& said = preflight.failure().text;
    EXPECT_TRUE(says(said, "make a socket failed (exhausted)"));
    EXPECT_FALSE(says(said, "--wait-ready"));
}

// The thread behind the bare fires, which nobody reached, ends.
TEST(Calibration, SaysThatItCannotConnect) {
    Weather weather{.refuse_connect = 1};
    SimDriver driver(3, weather, mock::CoreOptions{});
    const Result<FireFloors> floors = measure_fires(driver, 1, seconds(1), nullptr, 0);
    ASSERT_FALSE(floors);
    EXPECT_EQ(floors.error().code, ErrorCode::refused);
    EXPECT_EQ(driver.sockets_open(), 0u);
    weather.no_socket = 1;
    SimDriver without(3, weather, mock::CoreOptions{});
    EXPECT_EQ(measure_fires(without, 1, seconds(1), nullptr, 0).error().code, ErrorCode::exhausted);
    std::vector<std::int64_t> none;
    EXPECT_EQ(spread_of(none).count, 0u);
}

}  // namespace
}  // namespace driftless::sim
