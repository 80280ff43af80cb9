// Trees with agents, played by users: however many agents a turn starts at once, they are of one
// tree; what nobody waits for holds nobody up; and a pass has each tree once.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tests/sim/laws.hpp"
#include "tests/sim/laws_of_periods.hpp"
#include "tests/sim/swarm.hpp"

namespace driftless::sim {
namespace {

constexpr std::uint32_t agents = 25;
constexpr std::uint32_t tree_rows =
    2 + 2 * agents + 1;  // before, agents of two turns, behind, one alone
constexpr std::uint32_t trees = 6;
constexpr std::uint32_t users = 3;

/// A turn starts 25 agents at once; the next one waits for all of them. One more, which has two
/// seconds to go, is waited for by nobody.
Trace fan_out() {
    Trace trace = make_trace(9, trees * tree_rows);
    for (std::uint32_t tree = 0; tree < trees; ++tree) {
        const std::uint32_t first = tree * tree_rows;
        trace.sessions.push_back("tree " + std::to_string(tree));
        for (std::uint32_t row = first; row < first + tree_rows; ++row) {
            trace.rows[row].session = tree;
            trace.rows[row].at_ns = trace.rows[first].at_ns;
        }
        const std::uint32_t behind = first + 1 + 2 * agents;
        for (std::uint32_t agent = 0; agent < agents; ++agent) {
            const std::uint32_t begin = first + 1 + 2 * agent;
            trace.dependencies.push_back({begin, first, Trigger::completion, 0});
            trace.dependencies.push_back({begin + 1, begin, Trigger::completion, 1'000'000});
        }
        for (std::uint32_t agent = 0; agent < agents; ++agent) {
            trace.dependencies.push_back({behind, first + 2 + 2 * agent, Trigger::completion, 0});
        }
        trace.dependencies.push_back({behind + 1, first, Trigger::dispatch, seconds(2).ns});
    }
    return trace;
}

SimOptions played() {
    SimOptions options{.seed = 9, .closed = true};
    options.users.users = users;
    options.inflight_max = 256;
    options.body_bytes = 16 << 20;
    return options;
}

// In each period no more trees are live than there are users, while far more requests are open.
TEST(AgentTrees, FanOutIsOfOneTree) {
    const SimResult result = run(fan_out(), played());
    EXPECT_EQ(broken_laws(result), "");
    EXPECT_EQ(result.records.size(), trees * tree_rows);
    const auto periods = read_periods(result.periods_jsonl);
    ASSERT_TRUE(periods.has_value());
    std::uint64_t most_trees = 0;
    for (const Period& one : *periods) {
        most_trees = std::max(most_trees, one.live_trees.value_or(0));
    }
    EXPECT_EQ(most_trees, users);
    std::vector<std::pair<std::int64_t, int>> steps;
    for (const Record& record : result.records) {
        EXPECT_EQ(record.outcome, Outcome::ok);
        steps.emplace_back(*record.fired_ns, 1);
        steps.emplace_back(*record.ended_ns, -1);
    }
    std::sort(steps.begin(), steps.end());
    int open = 0;
    int most = 0;
    for (const auto& [at_ns, change] : steps) {
        open += change;
        most = std::max(most, open);
    }
    EXPECT_GT(most, static_cast<int>(agents));
}

// It is sent two seconds behind its parent, when all others have ended; its tree is live until
// then.
TEST(AgentTrees, WhatNobodyWaitsForHoldsNobodyUp) {
    const SimResult result = run(fan_out(), played());
    std::map<std::uint32_t, const Record*> records;
    for (const Record& record : result.records) {
        records[record.row] = &record;
    }
    for (std::uint32_t tree = 0; tree < trees; ++tree) {
        const Record& behind = *records.at(tree * tree_rows + 1 + 2 * agents);
        const Record& alone = *records.at(tree * tree_rows + 2 + 2 * agents);
        EXPECT_EQ(alone.due_ns, *records.at(tree * tree_rows)->fired_ns + seconds(2).ns);
        EXPECT_LT(*behind.fired_ns, alone.due_ns);
    }
}

// Each tree has all of its rows in each pass that was not cut off, and none of them twice.
TEST(AgentTrees, APassHasEachTreeOnce) {
    SimOptions options = played();
    options.users.recycle = true;
    options.users.for_ns = seconds(30).ns;
    options.drain_ns = seconds(60).ns;
    const SimResult result = run(fan_out(), options);
    EXPECT_EQ(broken_laws(result), "");
    std::map<std::uint32_t, std::uint32_t> rows_in;  // [pass]
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    for (const Record& record : result.records) {
        EXPECT_TRUE(seen.emplace(record.pass, record.row).second) << record.row;
        ++rows_in[record.pass];
    }
    ASSERT_GT(rows_in.size(), 4u);
    for (std::uint32_t pass = 0; pass + 2 < rows_in.size(); ++pass) {
        EXPECT_EQ(rows_in[pass], trees * tree_rows) << pass;
    }
}

}  // namespace
}  // namespace driftless::sim
