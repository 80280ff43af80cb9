// Token budgets in virtual time: how long rows wait for them, in order, and what their records say.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim/laws.hpp"
#include "tests/sim/pacing.hpp"
#include "tests/sim/swarm.hpp"

namespace driftless::sim {
namespace {

std::vector<Record> by_fire(const SimResult& result) {
    std::vector<Record> records = result.records;
    std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
        return a.fired_ns != b.fired_ns ? a.fired_ns < b.fired_ns : a.row < b.row;
    });
    return records;
}

// All are due at once. The bucket lets the first ones go, each behind them waits for the tokens of
// those before it, and none overtakes another.
TEST(Budgets, LetRowsGoAsTheyRefill) {
    SimOptions options;
    options.budgets.output = {40, milliseconds(100)};
    Trace trace = make_trace(5, 60);
    std::uint64_t tokens = 0;
    for (TraceRow& row : trace.rows) {
        row.at_ns = 0;
        tokens += row.output_length;
    }
    const SimResult result = run(trace, options);
    EXPECT_EQ(broken_laws(result), "");
    const std::vector<Record> records = by_fire(result);
    std::uint64_t left = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
        EXPECT_EQ(records[i].row, i) << "none overtakes";
        const bool held = left > 40;
        EXPECT_EQ(records[i].late_cause == LateCause::budget, held) << i;
        if (held) {  // it is refilled from the first fire on
            const auto refilled_ns = static_cast<std::int64_t>((left - 40) * 2'500'000);
            EXPECT_EQ(records[i].held_ns, *records[0].fired_ns + refilled_ns + 1);
            EXPECT_LT(*records[i].drift_ns - records[i].held_ns, milliseconds(1).ns);
        }
        left += static_cast<std::uint64_t>(*records[i].output_length);
    }
    EXPECT_EQ(left, tokens);
}

// Longer than the budget of any time: each leaves on what is there, and pays afterwards.
TEST(Budgets, LetOneOversizedRequestGo) {
    SimOptions options;
    options.budgets.input = {10, milliseconds(1)};
    const SimResult result = run(make_trace(5, 20), options);
    EXPECT_EQ(broken_laws(result), "");
    EXPECT_EQ(result.outcomes[static_cast<std::size_t>(Outcome::ok)], 20u);
}

// Rows that were due, and that a budget or the cap held until nothing more was sent, say so, and
// for how long; what was not due then was not held.
TEST(Budgets, SayWhatTheyNeverLetGo) {
    Trace trace = make_trace(5, 40);
    for (std::size_t i = 0; i < trace.rows.size(); ++i) {
        trace.rows[i].at_ns = i < 30 ? 0 : seconds(30).ns;
    }
    for (const LateCause cause : {LateCause::budget, LateCause::inflight}) {
        SimOptions options;
        options.budgets.input = {cause == LateCause::budget ? 1U : 0U, seconds(3600)};
        options.inflight_max = cause == LateCause::inflight ? 1 : 64;
        options.stop_at_ns = milliseconds(20).ns;
        const SimResult result = run(trace, options);
        EXPECT_EQ(broken_laws(result), "");
        std::size_t held = 0;
        for (const Record& record : result.records) {
            if (record.fired_ns) {
                continue;
            }
            EXPECT_EQ(record.outcome, Outcome::not_sent);
            EXPECT_FALSE(record.error);
            EXPECT_FALSE(record.receive_delay_ns);
            const bool was_due = record.due_ns == 0;
            EXPECT_EQ(record.late_cause, was_due ? cause : LateCause::none) << record.row;
            EXPECT_EQ(record.held_ns > 0, was_due);
            EXPECT_LE(record.held_ns, options.stop_at_ns + milliseconds(50).ns);
            held += was_due ? 1 : 0;
        }
        EXPECT_GT(held, 10U);
    }
}

// Half of the tokens are in the cache.
TEST(Budgets, MayCountWhatNoCacheHolds) {
    SimOptions options;
    options.budgets.input = {20'000, milliseconds(100)};
    const Trace trace = make_trace(8, 100);
    const std::int64_t all_ns = *by_fire(run(trace, options)).back().fired_ns;
    options.budgets.uncached = true;
    const SimResult uncached = run(trace, options);
    EXPECT_EQ(broken_laws(uncached), "");
    EXPECT_LT(*by_fire(uncached).back().fired_ns, all_ns);
}

// Held by a full cap, then by a budget: for as long as either was closed, and named after the last.
TEST(Budgets, AddUpWithACap) {
    SimOptions options;
    options.inflight_max = 2;
    options.server.pace.first = milliseconds(10);
    options.budgets.output = {60, milliseconds(600)};
    const SimResult result = run(make_trace(6, 100), options);
    EXPECT_EQ(broken_laws(result), "");
    for (const LateCause cause : {LateCause::inflight, LateCause::budget}) {
        EXPECT_GT(std::count_if(result.records.begin(), result.records.end(),
                                [cause](const Record& one) { return one.late_cause == cause; }),
                  5)
            << name_of(cause);
    }
    for (const Record& record : result.records) {
        EXPECT_TRUE(record.tainted.empty()) << record.row;
    }
}

// The loop sleeps until the tokens are there: nobody else would wake it.
TEST(Budgets, SayWhenTheyOpen) {
    Pacing::Options options;
    options.settings.budgets.output = {1, milliseconds(10)};
    Pacing pacing(std::vector<SmallRow>(2), options);
    pacing.arm();
    pacing.open();
    pacing.open();
    pacing.begin(Duration{0});
    EXPECT_TRUE(pacing.step());
    EXPECT_FALSE(pacing.step());
    const Instant opens = pacing.pacer.next_due(pacing.driver.now());
    EXPECT_GT(opens, pacing.driver.now());
    EXPECT_LE(opens, pacing.driver.now() + milliseconds(20 * 10));
    pacing.pass(opens - pacing.driver.now());
    EXPECT_TRUE(pacing.step());
    const std::vector<Event> events = pacing.fired();
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[1].fired.late_cause, LateCause::budget);
    EXPECT_EQ(events[1].fired.held_ns, (opens - pacing.zero).ns);
}

}  // namespace
}  // namespace driftless::sim
