// An hour of users who play a small corpus again and again: of each request the client keeps what
// its exact percentiles need, and nothing else.
#include <gtest/gtest.h>

#include "tests/sim/swarm.hpp"

namespace driftless::sim {
namespace {

constexpr std::uint32_t hour_rows = 200;
constexpr std::uint32_t hour_turns = 4;  // of a session
constexpr std::int64_t minute_ns = 60'000'000'000;
/// Of a request (proto/figures/summary.hpp: 136), and the pieces that the figures are kept in.
constexpr double bytes_of_a_request = 145;
/// Figures of each second and each period, and what the allocator and the simulated world gather.
constexpr double bytes_of_a_minute = 12 << 10;

SimOptions an_hour() {
    SimOptions options{.seed = 11, .closed = true};
    options.users.users = 64;
    options.users.recycle = true;
    options.users.for_ns = 61 * minute_ns;
    options.drain_ns = minute_ns;
    options.period_ns = minute_ns / 6;
    options.inflight_max = 64;
    options.server.cache_blocks_max = 1000;
    options.unwatched = true;
    options.weighed_at_ns = {10 * minute_ns, 30 * minute_ns, 60 * minute_ns};
    return options;
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

}  // namespace
}  // namespace driftless::sim
