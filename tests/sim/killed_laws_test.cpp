// The laws of runs that die can fail: for each of them a bug is planted, in the world or in what is
// told of the run, and that law names it. The same run without the bug breaks none.
#include "tests/sim/killed_laws.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/sim/breaches.hpp"
#include "tests/sim/swarm.hpp"

namespace driftless::sim {
namespace {

constexpr std::uint32_t rows = 400;

/// Dies in the middle of its rows, when some have ended and some are open, and goes on.
KilledRun run_with(Bug bug) {
    SimOptions options;
    options.seed = 3;
    options.bug = bug;
    Fate killed;
    killed.dies = true;
    killed.at = 0.5;
    if (bug != Bug::early_forgetting) {
        return run_killed(make_trace(3, rows), options, {killed, Fate()});
    }
    Fate unnamed;  // dies before run.json names it
    unnamed.dies = true;
    unnamed.call = 4;
    return run_killed(make_trace(3, rows), options, {killed, unnamed, Fate()});
}

void lose_last_line(std::string& lines) {
    lines.pop_back();
    lines.erase(lines.rfind('\n') + 1);
}

// It shows what the plants need: rows of each kind.
TEST(KilledLaws, HoldWithoutABug) {
    const KilledRun run = run_with(Bug::none);
    EXPECT_EQ(broken_laws(run), "");
    ASSERT_EQ(run.lives.size(), 2u);
    EXPECT_FALSE(run.lives[1].found.empty());
    EXPECT_FALSE(run.lives[1].found_fired.empty());
    EXPECT_FALSE(run.lives[1].given_up.empty());
    EXPECT_GT(run.lives[1].planned.size(), 10u);
}

struct WorldBug {
    Bug bug;
    const char* law;
};
constexpr WorldBug world_bugs[] = {
    {Bug::unmarked, "nothing is sent twice"},  // or marked too late
    {Bug::unmarked, "marks outlive"},
    {Bug::no_fired_file, "who ended is known to have left"},
    {Bug::shared_file, "prefixes can be read"},
    {Bug::early_engine, "due times stay"},
    {Bug::early_forgetting, "marks are found"},
};

struct OutputBug {
    const char* law;
    void (*plant)(KilledRun&);
};
const OutputBug output_bugs[] = {
    {"one record in the end", [](KilledRun& run) { run.records.pop_back(); }},
    {"one record in the end", [](KilledRun& run) { run.records.push_back(run.records[0]); }},
    {"one record in the end", [](KilledRun& run) { run.records[0].row = rows; }},
    {"records stay", [](KilledRun& run) { lose_last_line(run.jsonl.erase(0, 1)); }},
    {"nothing is sent twice",
     [](KilledRun& run) { run.lives[1].result.left.insert(*run.lives[0].result.left.begin()); }},
    {"nothing is sent twice",  // that the engine knows nothing of
     [](KilledRun& run) {
         const auto& [row, truth] = *run.lives[0].result.truth.begin();
         run.lives[1].result.truth.emplace(row, truth);
     }},
    {"what is given up had left",
     [](KilledRun& run) { run.lives[1].given_up.insert(*run.lives[1].planned.rbegin()); }},
    {"what is asked for is sent again", [](KilledRun& run) { run.lives[1].resend = true; }},
    {"what is asked for is sent again",
     [](KilledRun& run) { run.records[0].outcome = Outcome::interrupted; }},
    {"due times stay", [](KilledRun& run) { ++run.records[0].due_ns; }},
    {"segments are right", [](KilledRun& run) { ++run.records[0].segment; }},
    {"marks outlive", [](KilledRun& run) { run.lives[0].result.marked.pop_back(); }},
    {"marks outlive",
     [](KilledRun& run) { run.lives[0].again.insert(*run.lives[1].planned.rbegin()); }},
    {"who ended is known to have left",
     [](KilledRun& run) { run.lives[1].found_fired.erase(0, 10); }},
    {"the summary is of the files", [](KilledRun& run) { run.rebuilt += " "; }},
};

TEST(KilledLaws, CatchBugsOfTheWorld) {
    for (const WorldBug& planted : world_bugs) {
        const std::string broken = broken_laws(run_with(planted.bug));
        EXPECT_TRUE(names(broken, planted.law)) << planted.law << " is not in:\n" << broken;
    }
}

TEST(KilledLaws, CatchBugsOfTheOutput) {
    for (const OutputBug& planted : output_bugs) {
        KilledRun run = run_with(Bug::none);
        planted.plant(run);
        const std::string broken = broken_laws(run);
        EXPECT_TRUE(names(broken, planted.law)) << planted.law << " is not in:\n" << broken;
    }
}

// No law is without a bug.
TEST(KilledLaws, AreAllTried) {
    std::set<std::string> tried;
    for (const WorldBug& planted : world_bugs) {
        tried.insert(planted.law);
    }
    for (const OutputBug& planted : output_bugs) {
        tried.insert(planted.law);
    }
    for (const KilledLaw& law : killed_laws()) {
        EXPECT_TRUE(tried.contains(law.name)) << law.name;
    }
}

}  // namespace
}  // namespace driftless::sim
