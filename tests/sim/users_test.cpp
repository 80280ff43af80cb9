// Users over whole runs: a corpus that is gone through again is another one for the server, and a
// run ends when its time is up.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "engine/plan/schedule.hpp"
#include "tests/sim/breaches.hpp"
#include "tests/sim/laws.hpp"
#include "tests/sim/swarm.hpp"

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
    SimOptions options{.seed = 5, .closed = true};
    options.users.users = users;
    return options;
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
        EXPECT_EQ(result.body_bytes_held, 0u);
        EXPECT_EQ(result.sockets_open, 0u);
    }
}

// Answers come as fast as they can be read, and each releases a row: its body is there before, but
// for the few that come while the time for bodies, a half of the time since the last look, is used
// up.
TEST(UsersRun, BodiesAreMadeBeforeAnswersReleaseTheirRows) {
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
}

// What is open when the time for it is over is cancelled, and nothing is left behind.
TEST(UsersRun, WhatDoesNotDrainIsCancelled) {
    SimOptions options = played_by(4);
    options.server.pace.between = milliseconds(40);
    options.users.for_ns = milliseconds(100).ns;
    options.drain_ns = milliseconds(50).ns;
    const SimResult result = run(chains(5), options);
    EXPECT_TRUE(result.stopped);
    std::uint32_t cancelled = 0;
    for (const Record& record : result.records) {
        EXPECT_LT(record.due_ns, *options.users.for_ns);
        cancelled += record.outcome == Outcome::cancelled ? 1 : 0;
        EXPECT_LT(record.ended_ns.value_or(0), milliseconds(160).ns);
    }
    EXPECT_GT(cancelled, 0u);
    EXPECT_EQ(broken_laws(result), "");
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

}  // namespace
}  // namespace driftless::sim
