// Runs of users that die, one at a time in fair weather and in a swarm of seeds, and the laws of
// them: for each a bug is planted, in the world or in what is told of the run, and that law names
// it.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "tests/sim/breaches.hpp"
#include "tests/sim/effort.hpp"
#include "tests/sim/laws_of_killed_users.hpp"
#include "tests/sim/swarm.hpp"

namespace driftless::sim {
namespace {

constexpr std::uint32_t user_rows = 60;
constexpr std::uint64_t users_seeds = 200;

/// Chains of four turns, which 4 users play again and again; some fail, and are sent again. It dies
/// behind half of its time.
KilledUsers run_with(Bug bug, const Fate& fate) {
    SimOptions options{.seed = 7, .closed = true, .bug = bug};
    options.server.faults = {{mock::Fault::http_500, 0.2, std::nullopt}};
    options.users.users = 4;
    options.users.recycle = true;
    options.users.for_ns = seconds(4).ns;
    options.users.failures = {FailureRule::retry, 2, false};
    options.users.start.from = 0.5;
    options.users.start.to = 1;
    Trace trace = make_trace(7, user_rows);
    for (std::uint32_t row = 0; row < user_rows; ++row) {
        if (row % 4 == 0) {
            trace.sessions.push_back(std::to_string(row));
        } else {
            trace.dependencies.push_back({row, row - 1, Trigger::completion, 1'000'000});
        }
        trace.rows[row].session = row / 4;
    }
    return run_killed_users(trace, options, fate);
}

Fate dies_at(double at) {
    return {.dies = true, .at = at, .dice = 5};
}

KilledUsers run_with(Bug bug) {
    return run_with(bug, dies_at(0.7));
}

// It shows what the plants need.
TEST(KilledUsersLaws, HoldWithoutABug) {
    const KilledUsers run = run_with(Bug::none);
    EXPECT_EQ(broken_laws(run), "");
    ASSERT_TRUE(run.died.killed);
    EXPECT_GT(run.records.back().pass, 0u);
    EXPECT_GT(run.figures.retries, 0u);
    EXPECT_GT(run.figures.warmup_rows, 0u);
    EXPECT_GT(run.lost.rows, 0u);
}

// Where a row has left in an earlier pass, or in an earlier try, the bit that marks it tells
// nothing new.
TEST(KilledUsers, MoreRequestsThanRowsAreCounted) {
    const KilledUsers run = run_with(Bug::none);
    EXPECT_GT(run.died.sent.size(), user_rows);
    EXPECT_EQ(run.died.marked.size(), user_rows);
    EXPECT_TRUE(run.lost.all_known);
}

// Without marks it is known that more may have left.
TEST(KilledUsers, WithTheirHost) {
    Fate fate = dies_at(0.7);
    fate.host = true;
    const KilledUsers run = run_with(Bug::none, fate);
    EXPECT_EQ(broken_laws(run), "");
    EXPECT_FALSE(run.marks);
    EXPECT_FALSE(run.lost.all_known);
}

struct UsersWorldBug {
    Bug bug;
    const char* law;
};
constexpr UsersWorldBug users_world_bugs[] = {
    {Bug::unmarked, "marks count what left"},
    {Bug::no_fired_file, "who ended is known to have left"},
    {Bug::shared_file, "report can read what is left"},
    {Bug::other_dice, "lines are those of the run"},
};

struct UsersOutputBug {
    const char* law;
    void (*plant)(KilledUsers&);
};
const UsersOutputBug users_output_bugs[] = {
    {"report can read what is left", [](KilledUsers& run) { run.files.requests += "{"; }},
    {"lines are those of the run", [](KilledUsers& run) { run.files.periods += "{}\n"; }},
    {"one record per request",
     [](KilledUsers& run) { run.records.push_back(run.records.front()); }},
    {"records are of what left",
     [](KilledUsers& run) { run.died.sent.erase(run.died.sent.begin()); }},
    {"records are of what left", [](KilledUsers& run) { ++run.records.front().pass; }},
    {"who ended is known to have left",
     [](KilledUsers& run) { run.files.fired.erase(0, run.files.fired.size() / 2); }},
    {"marks count what left", [](KilledUsers& run) { run.died.requests_marked += 2; }},
    {"losses are known", [](KilledUsers& run) { run.lost.rows = 0; }},
    {"losses are known", [](KilledUsers& run) { run.lost.all_known = false; }},
    {"losses are known", [](KilledUsers& run) { run.marks = false; }},
    {"open requests are counted", [](KilledUsers& run) { ++run.left_open; }},
    {"figures are of the lines", [](KilledUsers& run) { ++run.figures.retries; }},
    {"figures are of the lines", [](KilledUsers& run) { run.figures.ttft.at[0] += 1; }},
};

TEST(KilledUsersLaws, CatchBugsOfTheWorld) {
    for (const UsersWorldBug& planted : users_world_bugs) {
        const std::string broken = broken_laws(run_with(planted.bug));
        EXPECT_TRUE(names(broken, planted.law)) << planted.law << " is not in:\n" << broken;
    }
}

TEST(KilledUsersLaws, CatchBugsOfTheOutput) {
    const KilledUsers sound = run_with(Bug::none);
    for (const UsersOutputBug& planted : users_output_bugs) {
        KilledUsers run = sound;
        planted.plant(run);
        const std::string broken = broken_laws(run);
        EXPECT_TRUE(names(broken, planted.law)) << planted.law << " is not in:\n" << broken;
    }
}

// No law is without a bug.
TEST(KilledUsersLaws, AreAllTried) {
    std::set<std::string> tried;
    for (const UsersWorldBug& planted : users_world_bugs) {
        tried.insert(planted.law);
    }
    for (const UsersOutputBug& planted : users_output_bugs) {
        tried.insert(planted.law);
    }
    for (const KilledUsersLaw& law : killed_users_laws()) {
        EXPECT_TRUE(tried.contains(law.name)) << law.name;
    }
}

// The kills have really struck, in every way that there is.
TEST(KilledUsersSwarm, WhatIsLeftIsSound) {
    std::map<std::string, std::uint64_t> met;
    for (std::uint64_t seed = 1; seed <= seeds(users_seeds); ++seed) {
        const KilledUsers run = run_killed_users_swarm(seed, 200);
        ASSERT_EQ(broken_laws(run), "") << "seed " << seed;
        met["before there was a run"] += run.died.stood ? 0 : 1;
        met["in the middle of a turn"] += run.died.in_turn ? 1 : 0;
        met["with torn lines"] += run.torn_bytes > 0 ? 1 : 0;
        met["with their host"] += run.host_died ? 1 : 0;
        met["with losses"] += run.lost.rows > 0 ? 1 : 0;
        met["in the warm-up"] += run.figures.warmup_rows > 0 && run.figures.fired == 0 ? 1 : 0;
        met["in a later pass"] += !run.records.empty() && run.records.back().pass > 0 ? 1 : 0;
        met["after a retry"] += run.figures.retries > 0 ? 1 : 0;
    }
    for (const auto& [kind, count] : met) {
        EXPECT_TRUE(count > 0 || seeds(users_seeds) < users_seeds) << kind;
        RecordProperty(kind, std::to_string(count));
    }
}

}  // namespace
}  // namespace driftless::sim
