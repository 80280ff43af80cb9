// The replay under simulated weather: laws that hold in every run, and the same seed giving the
// same bytes. `sim_tests --seeds N [--from S]` runs as many seeds as asked; the test suite runs
// 1,000.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "engine/plan/load.hpp"
#include "tests/sim/sim_run.hpp"

namespace driftless::sim {
namespace {

constexpr std::uint32_t rows = 200;

/// DRIFTLESS_SIM_SEEDS overrides how many seeds the swarm test runs.
std::uint64_t seeds() {
    const char* text = std::getenv("DRIFTLESS_SIM_SEEDS");
    return text != nullptr ? std::strtoull(text, nullptr, 10) : 1000;
}

std::string laws_of(const SimResult& result) {
    std::string broken;
    for (const std::string& law : result.broken_laws) {
        broken += law + "\n";
    }
    std::set<std::uint32_t> seen;
    for (const Record& record : result.records) {
        if (!seen.insert(record.row).second) {
            broken += "row " + std::to_string(record.row) + " has two records\n";
        }
    }
    broken += result.ended ? "" : "the run does not end\n";
    broken += result.records.size() == result.rows ? "" : "rows and records differ in number\n";
    broken += result.ops_in_flight == 0 ? "" : "operations are in flight at the end\n";
    broken += result.sockets_open == 0 ? "" : "sockets are open at the end\n";
    broken += result.body_bytes_held == 0 ? "" : "request bodies are held at the end\n";
    broken += result.bytes_in_records <= result.bytes_delivered
                  ? ""
                  : "records count more bytes than were received\n";
    return broken;
}

// In fair weather every row is ok, on time to the microsecond, and exact in both lengths.
TEST(Simulation, FairWeatherLeavesNothingToBeDesired) {
    SimOptions options;
    options.seed = 1;
    options.server.overhead = {5, 3};
    const SimResult result = run(make_trace(1, rows), options);
    EXPECT_EQ(laws_of(result), "");
    for (const Record& record : result.records) {
        EXPECT_EQ(record.outcome, Outcome::ok) << "row " << record.row;
        EXPECT_TRUE(record.wire_ns.has_value() && record.receive_delay_ns.has_value());
        EXPECT_EQ(record.prompt_tokens, std::int64_t{record.input_length});
        EXPECT_EQ(record.output_tokens, std::int64_t{record.output_length});
    }
    EXPECT_EQ(result.bytes_in_records, result.bytes_delivered);
}

// Rows of one instant leave in file order, each with its own stamp.
TEST(Simulation, EqualInstantsFireInFileOrder) {
    SimOptions options;
    options.seed = 5;
    SimResult result = run(make_trace(5, rows), options);
    std::sort(result.records.begin(), result.records.end(),
              [](const Record& a, const Record& b) { return a.row < b.row; });
    for (std::size_t i = 1; i < result.records.size(); ++i) {
        ASSERT_LT(result.records[i - 1].fired_ns, result.records[i].fired_ns) << "row " << i;
    }
}

// Under --max-inflight never more are open, nothing is dropped, and rows say what held them back.
TEST(Simulation, InflightLimitHoldsRowsBackAndSaysSo) {
    SimOptions options;
    options.seed = 6;
    options.inflight_max = 3;
    const SimResult result = run(make_trace(6, rows), options);
    EXPECT_EQ(laws_of(result), "");
    std::uint32_t held = 0;
    for (const Record& record : result.records) {
        EXPECT_EQ(record.outcome, Outcome::ok);
        EXPECT_LT(record.inflight.value_or(99), 3u);
        EXPECT_EQ(record.late_cause == LateCause::inflight, record.held_ns > 0);
        held += record.held_ns > 0 ? 1 : 0;
    }
    EXPECT_GT(held, 0u);
}

// With too few connections rows wait for one, leave late, and name the lane as the cause.
TEST(Simulation, FewConnectionsDelayRowsAndSaySo) {
    SimOptions options;
    options.seed = 7;
    options.connections_fixed = 2;
    const SimResult result = run(make_trace(7, rows), options);
    EXPECT_EQ(laws_of(result), "");
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
    SimOptions options;
    options.seed = 9;
    const Trace once = make_trace(9, rows);
    Trace copies = once;
    LoadOptions load;
    load.copies = 4;
    load.seed = 9;
    ASSERT_TRUE(apply_load(load, copies));
    const auto expected = [](const SimResult& result) {
        std::int64_t tokens = 0;
        for (const Record& record : result.records) {
            tokens += record.expected_cached_tokens;
            EXPECT_LE(record.cached_tokens.value_or(0), record.input_length);
        }
        return tokens;
    };
    const SimResult result = run(copies, options);
    EXPECT_EQ(laws_of(result), "");
    EXPECT_EQ(result.records.size(), 4 * rows);
    EXPECT_EQ(expected(result), 4 * expected(run(once, options)));
    for (const Record& record : result.records) {
        EXPECT_EQ(record.outcome, Outcome::ok);
        EXPECT_EQ(record.prompt_tokens, std::int64_t{record.input_length});
    }
}

SimResult run_in(const Weather& weather) {
    SimOptions options;
    options.seed = 10;
    options.weather = weather;
    const SimResult result = run(make_trace(10, rows), options);
    EXPECT_EQ(laws_of(result), "");
    for (const Record& record : result.records) {
        EXPECT_EQ(record.outcome, Outcome::ok) << "row " << record.row;
    }
    return result;
}

std::size_t with_wire(const SimResult& result) {
    return static_cast<std::size_t>(
        std::count_if(result.records.begin(), result.records.end(),
                      [](const Record& record) { return record.wire_ns.has_value(); }));
}

// Stamps that never come, or of bytes that nobody sent, leave `wire_ns` unknown and all else as it
// is; so does a kernel without stamps.
TEST(Simulation, LostStampsLeaveTheWireUnknown) {
    Weather weather;
    weather.lose_stamp = 1;
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
    EXPECT_FALSE(none.records[0].receive_delay_ns.has_value());
}

// A stamp that comes after the end of its exchange is nobody's, also where the next exchange is on
// the same connection: no row is on the wire at another one's instant.
TEST(Simulation, LateStampsAreNotTakenForThoseOfTheNextRow) {
    Weather weather;
    weather.late_stamp = 0.5;
    const SimResult result = run_in(weather);
    EXPECT_LT(with_wire(result), rows);
    for (const Record& record : result.records) {
        if (record.wire_ns) {
            EXPECT_LE(*record.wire_ns - *record.fired_ns, 100'000) << "row " << record.row;
        }
    }
}

// When somebody sets the clock, stamps between the jump and our next look at the clocks are out of
// what is possible, and unknown; never absurd.
TEST(Simulation, ASteppedClockGivesNoAbsurdFigures) {
    Weather weather;
    weather.step_clock = 0.0005;
    const SimResult result = run_in(weather);
    EXPECT_GT(with_wire(result), 0u);
    EXPECT_LT(with_wire(result), rows);
    for (const Record& record : result.records) {
        EXPECT_LE(record.wire_ns.value_or(0), record.ended_ns.value_or(0));
        EXPECT_GE(record.receive_delay_ns.value_or(0), 0);
    }
}

// A writer that comes too seldom costs payloads, never a row: such rows are tainted and not blamed.
TEST(Simulation, FullRingTaintsRowsAndLosesNone) {
    SimOptions options;
    options.seed = 8;
    options.inflight_max = 64;
    options.ring_bytes = 1;  // rounded up to what the reserves need
    options.drain_share = 0.0002;
    const SimResult result = run(make_trace(8, rows), options);
    EXPECT_EQ(laws_of(result), "");
    std::uint32_t tainted = 0;
    for (const Record& record : result.records) {
        EXPECT_NE(record.outcome, Outcome::short_output);
        tainted += record.tainted.empty() ? 0 : 1;
    }
    EXPECT_GT(tainted, 0u);
}

// Same trace, same seed: byte-identical JSONL, whatever the weather.
TEST(Simulation, SameSeedSameBytes) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const Trace trace = make_trace(seed, rows);
        const SimResult first = run(trace, swarm(seed));
        const SimResult again = run(trace, swarm(seed));
        ASSERT_FALSE(first.jsonl.empty());
        ASSERT_TRUE(first.jsonl == again.jsonl) << "seed " << seed;
    }
}

// A swarm of seeds, each with its own mix of faults: every law holds in each of them, and over all
// of them the faults have really struck.
TEST(Simulation, LawsHoldUnderASwarmOfFaults) {
    std::map<Outcome, std::uint64_t> outcomes;
    std::uint64_t retries = 0;
    for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        const SimResult result = run(make_trace(seed, rows), swarm(seed));
        ASSERT_EQ(laws_of(result), "") << "seed " << seed;
        for (const Record& record : result.records) {
            ++outcomes[record.outcome];
            retries += record.stale_retries;
        }
    }
    for (const Outcome outcome :
         {Outcome::ok, Outcome::connect_failed, Outcome::timeout_connect, Outcome::timeout_idle,
          Outcome::http_429, Outcome::http_5xx, Outcome::stream_error, Outcome::truncated,
          Outcome::bad_event, Outcome::cancelled, Outcome::not_sent}) {
        EXPECT_GT(outcomes[outcome], 0u) << name_of(outcome);
    }
    for (const auto& [outcome, count] : outcomes) {
        RecordProperty(name_of(outcome), std::to_string(count));
    }
    EXPECT_GT(retries, 0u);
}

}  // namespace
}  // namespace driftless::sim
