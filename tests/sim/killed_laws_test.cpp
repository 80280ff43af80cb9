// The laws of runs that die can fail: for each of them a bug is planted, in the world or in what is
// told of the run, and that law names it. The same run without the bug breaks none.
#include "tests/sim/killed_laws.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/breaches.hpp"
#include "tests/sim/swarm.hpp"

namespace driftless::sim {
namespace {

constexpr std::uint32_t law_rows = 400;

/// Dies in the middle of its rows, when some have ended and some are open, and goes on. Rows have
/// sessions, in which they overtake each other; where these are closed, they wait.
KilledRun run_with(Bug bug, bool closed = false) {
    SimOptions options{.seed = 3, .closed = closed, .bug = bug};
    if (closed) {
        options.inflight_max = 4;  // what is held back has been let go
        options.server.faults = {{mock::Fault::http_500, 0.01, std::nullopt}};
    }
    Fate killed{.dies = true, .at = closed ? 0.3 : 0.5};
    Trace trace = make_trace(3, law_rows);
    for (TraceRow& row : trace.rows) {
        // Turns 0.15 s after the last, as long as answers take, and 0.7 s, so that it is in a file.
        row.session = row.index % 2 == 0 ? row.index % 40 : 40 + row.index % 200;
    }
    trace.sessions.assign(240, "");
    if (closed) {
        close_sessions(trace, 3);
    }
    if (bug != Bug::early_forgetting) {
        return run_killed(trace, options, {killed, Fate()});
    }
    Fate unnamed;  // dies before run.json names it
    unnamed.dies = true;
    unnamed.call = 4;
    return run_killed(trace, options, {killed, unnamed, Fate()});
}

/// Rows of the second segment that wait for one of the first, which was answered.
std::vector<std::uint32_t> released_before(const KilledRun& run) {
    std::vector<std::uint32_t> found;
    for (const Dependency& one : run.dependencies) {
        const auto has = [&](std::uint32_t row, std::uint32_t segment) {
            return std::any_of(run.records.begin(), run.records.end(), [&](const Record& record) {
                return record.row == row && record.segment == segment && record.fired_ns;
            });
        };
        if (one.trigger == Trigger::completion && has(one.row, 1) && has(one.on, 0)) {
            found.push_back(one.row);
        }
    }
    return found;
}

Record& record_of(KilledRun& run, std::uint32_t row) {
    return *std::find_if(run.records.begin(), run.records.end(),
                         [&](const Record& record) { return record.row == row; });
}

/// Rows of the second segment whose turn before ended in the first.
std::vector<std::uint32_t> followed_over(const KilledRun& run) {
    std::map<std::uint32_t, const Record*> records;
    for (const Record& record : run.records) {
        records[record.row] = &record;
    }
    std::vector<std::uint32_t> found;
    for (const auto& [row, before] : run.turns_before) {
        const Record& record = *records.at(row);
        const Record& turn = *records.at(before[0]);
        if (record.segment == 1 && record.overtaken && turn.segment == 0 && turn.ended_ns) {
            found.push_back(row);
        }
    }
    return found;
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
    EXPECT_FALSE(followed_over(run).empty());
    const auto overtook = [&](std::uint32_t segment) {
        return std::count_if(run.records.begin(), run.records.end(), [&](const Record& record) {
            return record.segment == segment && record.overtaken == true;
        });
    };
    EXPECT_GT(overtook(0), 0);
    EXPECT_GT(overtook(1), 0);
}

// Some wait for rows of the segment before; some are dropped for what failed there.
TEST(KilledLaws, HoldOfClosedSessionsWithoutABug) {
    const KilledRun run = run_with(Bug::none, true);
    EXPECT_EQ(broken_laws(run), "");
    ASSERT_EQ(run.lives.size(), 2u);
    EXPECT_FALSE(run.lives[1].dropped.empty());
    EXPECT_FALSE(released_before(run).empty());
}

struct WorldBug {
    Bug bug;
    const char* law;
    bool closed = false;
};
constexpr WorldBug world_bugs[] = {
    {Bug::unmarked, "nothing is sent twice"},  // or marked too late
    {Bug::unmarked, "marks outlive"},
    {Bug::no_fired_file, "who ended is known to have left"},
    {Bug::shared_file, "prefixes can be read"},
    {Bug::early_engine, "due times stay"},
    {Bug::early_forgetting, "marks are found"},
    {Bug::early_turns, "turns wait over segments", true},
    {Bug::forgotten_past, "turns wait over segments", true},
    {Bug::lonely_rows, "overtaken is what the instants say over segments"},
};

struct OutputBug {
    const char* law;
    void (*plant)(KilledRun&);
    bool closed = false;
};
const OutputBug output_bugs[] = {
    {"one record in the end", [](KilledRun& run) { run.records.pop_back(); }},
    {"one record in the end", [](KilledRun& run) { run.records.push_back(run.records[0]); }},
    {"one record in the end", [](KilledRun& run) { run.records[0].row = law_rows; }},
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
    {"turns wait over segments",
     [](KilledRun& run) { *record_of(run, released_before(run)[0]).fired_ns -= 1'000'000'000; },
     true},
    {"no release is lost over segments",
     [](KilledRun& run) { record_of(run, released_before(run)[0]).outcome = Outcome::not_sent; },
     true},
    {"failures end trees over segments",
     [](KilledRun& run) { record_of(run, *run.lives[1].dropped.begin()).outcome = Outcome::ok; },
     true},
    {"overtaken is what the instants say over segments",
     [](KilledRun& run) { record_of(run, followed_over(run)[0]).overtaken.reset(); }},
};

TEST(KilledLaws, CatchBugsOfTheWorld) {
    for (const WorldBug& planted : world_bugs) {
        const std::string broken = broken_laws(run_with(planted.bug, planted.closed));
        EXPECT_TRUE(names(broken, planted.law)) << planted.law << " is not in:\n" << broken;
    }
}

TEST(KilledLaws, CatchBugsOfTheOutput) {
    const KilledRun open_loop = run_with(Bug::none, false);
    const KilledRun closed = run_with(Bug::none, true);
    for (const OutputBug& planted : output_bugs) {
        KilledRun run = planted.closed ? closed : open_loop;
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
