// Servers close connections that stand idle. Whether they say when, or let it be seen, a row that
// comes later finds another connection standing; and one that meets the close itself is sent again.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim/laws.hpp"
#include "tests/sim/swarm.hpp"

namespace driftless::sim {
namespace {

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
    SimOptions options;
    options.seed = 4;
    options.server.keep_alive_timeout = timeout;
    options.server.announce_keep_alive = says_so;
    return options;
}

std::uint32_t rows_without_lane(const SimResult& result) {
    return static_cast<std::uint32_t>(
        std::count_if(result.records.begin(), result.records.end(),
                      [](const Record& record) { return record.late_cause == LateCause::lane; }));
}

void expect_all_ok(const SimResult& result) {
    EXPECT_EQ(broken_laws(result), "");
    for (const Record& record : result.records) {
        EXPECT_EQ(record.outcome, Outcome::ok) << "row " << record.row;
    }
}

// A server that says its limit never gets to close a connection that has carried an answer, and no
// row finds none standing.
TEST(KeepAliveLimits, AnnouncedOnesAreNeverMet) {
    for (const Duration apart : {milliseconds(600), milliseconds(1000), milliseconds(2900)}) {
        const SimResult result = run(bursts_apart(apart), server_with(seconds(1), true));
        expect_all_ok(result);
        EXPECT_EQ(result.stale_retries, 0u) << apart.ns;
        EXPECT_EQ(result.closed_idle, 0u) << apart.ns;
        EXPECT_EQ(rows_without_lane(result), 0u) << apart.ns;
        EXPECT_GT(result.retired_idle, 0u) << apart.ns;
    }
}

// A silent one closes the connections of two bursts. From then on it is known.
TEST(KeepAliveLimits, SilentOnesAreLearnedFromCloses) {
    const SimResult result = run(bursts_apart(milliseconds(2900)), server_with(seconds(1), false));
    expect_all_ok(result);
    EXPECT_GT(result.closed_idle, 0u);
    EXPECT_LE(result.closed_idle, 3 * burst_rows);  // of 48
    EXPECT_GT(result.retired_idle, 0u);
    EXPECT_EQ(rows_without_lane(result), 0u);
}

// A close that crosses the request costs one counted retry, and the row keeps its instant.
TEST(KeepAliveLimits, CloseThatCrossesTheRequestIsTriedAgain) {
    std::uint64_t retries = 0;
    for (int around_us = -300; around_us <= 300; around_us += 20) {
        const Duration limit =
            milliseconds(600);  // the answer is complete 15 ms after its row left
        const Duration apart = limit + milliseconds(15) + microseconds(around_us);
        SimOptions options = server_with(limit, false);
        options.connections_fixed = 1;
        const SimResult result = run(rows_apart(apart), options);
        expect_all_ok(result);
        for (const Record& record : result.records) {
            EXPECT_LE(record.stale_retries, 1u);
        }
        retries += result.stale_retries;
    }
    EXPECT_GT(retries, 0u);
}

// The last connection that is allowed gives way to its successor between two rows.
TEST(KeepAliveLimits, OneConnectionIsReplacedInAGap) {
    SimOptions options = server_with(seconds(1), true);
    options.connections_fixed = 1;
    const SimResult result = run(rows_apart(milliseconds(1300)), options);
    expect_all_ok(result);
    EXPECT_EQ(result.stale_retries, 0u);
    EXPECT_EQ(rows_without_lane(result), 0u);
}

// Nor is the number of answers exceeded that a server names, as one that counts down or not.
TEST(KeepAliveLimits, NumberOfAnswersIsKept) {
    SimOptions options = server_with(Duration{0}, true);
    options.server.keep_alive_requests = 3;
    const SimResult result = run(bursts_apart(milliseconds(100)), options);
    expect_all_ok(result);
    EXPECT_EQ(result.stale_retries, 0u);
    EXPECT_EQ(rows_without_lane(result), 0u);
}

}  // namespace
}  // namespace driftless::sim
