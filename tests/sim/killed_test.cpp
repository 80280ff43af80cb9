// Runs that die at moments of their own kind, one at a time, in fair weather. Mixes of them: the
// suite KilledSwarm.

#include "tests/sim/effort.hpp"
#include "tests/sim/killed_laws.hpp"
#include "tests/sim/lawful.hpp"
#include "tests/sim/swarm.hpp"

namespace driftless::sim {

namespace {

constexpr std::uint32_t rows = 200;
constexpr std::int64_t ms = 1'000'000;

Fate dies_at(double at, std::uint64_t dice) {
    return {.dies = true, .at = at, .dice = dice};
}

/// Every row leaves before the first has an answer.
SimOptions all_open() {
    SimOptions options{.seed = 2};
    options.server.pace.first = seconds(2);
    options.timeouts.idle = seconds(5);
    options.inflight_max = rows;
    return options;
}

std::size_t count(const KilledRun& run, Outcome outcome) {
    return static_cast<std::size_t>(
        std::count_if(run.records.begin(), run.records.end(),
                      [&](const Record& record) { return record.outcome == outcome; }));
}

// All rows were open when the run died: none is sent again unasked, all are when asked.
TEST(Killed, WhenAllHadLeftOrBeforeItCouldSendAgain) {
    const SimOptions options = all_open();
    const Trace trace = make_trace(2, rows);
    for (const bool resend : {false, true}) {
        Fate next{.resend = resend};
        const KilledRun run = lawful(run_killed(trace, options, {dies_at(1, 4), next}));
        ASSERT_EQ(run.lives.size(), 2u);
        EXPECT_EQ(run.lives[0].result.left.size(), rows);
        EXPECT_EQ(run.lives[1].planned.size(), resend ? rows : 0u);
        EXPECT_EQ(count(run, resend ? Outcome::ok : Outcome::interrupted), rows);
    }
    // A resumption that sends again dies before it comes to that: the next one is not asked to.
    Fate again = dies_at(0, 4);
    again.resend = true;
    const KilledRun run =
        lawful(run_killed(make_trace(2, rows), options, {dies_at(0.5, 4), again, Fate()}));
    ASSERT_EQ(run.lives.size(), 3u);
    EXPECT_FALSE(run.lives[0].result.left.empty());
    EXPECT_EQ(run.lives[1].again, run.lives[0].result.left);
    EXPECT_EQ(run.lives[2].given_up, run.lives[0].result.left);
}

// At every step over some rows that leave: before the send is handed over, between that and the
// flush, behind it and before the event. Who dies before the flush has marked a row that never
// left.
TEST(Killed, AtEachStepOfAFire) {
    SimOptions options{.seed = 6};
    std::size_t ahead = 0;
    std::size_t behind = 0;
    const std::uint32_t stride = in_short() ? 3 : 1;
    for (std::uint32_t steps = 1; steps <= 40; steps += stride) {
        Fate killed = dies_at(0.5, steps);
        killed.steps = steps;
        const KilledRun run = run_killed(make_trace(6, rows), options, {killed, Fate()});
        EXPECT_EQ(broken_laws(run), "") << steps;
        const SimResult& died = run.lives[0].result;
        ASSERT_TRUE(died.in_turn) << steps;
        const std::set<std::uint32_t> marked(died.marked.begin(), died.marked.end());
        ASSERT_GE(marked.size(), died.left.size()) << steps;
        ASSERT_LE(marked.size(), died.left.size() + 1) << steps;
        const bool one_more = marked.size() > died.left.size();
        ahead += one_more ? 1 : 0;
        for (const auto& [row, truth] : died.truth) {
            behind += one_more && !died.left.contains(row) ? 1 : 0;
        }
    }
    EXPECT_GT(ahead, behind);
    EXPECT_GT(behind, 0u);  // left, and nobody knows but its mark
}

// Before each thing that the steps of a run ask of its host: of a new run and of one that is
// resumed, with rows to send and without.
TEST(Killed, AtEachStepOfTheOrder) {
    constexpr std::uint32_t calls =
        10;  // of a resumed run; a new one and one without rows have 9, 6
    std::size_t unnamed = 0;
    std::size_t named = 0;
    for (std::uint32_t call = 1; call <= calls; ++call) {
        Fate dies{.dies = true, .dice = call, .call = call};
        const KilledRun begun = run_killed(make_trace(7, rows), SimOptions(), {dies, Fate()});
        EXPECT_EQ(broken_laws(begun), "") << call;
        const KilledRun resumed =
            run_killed(make_trace(7, rows), SimOptions(), {dies_at(0.5, call), dies, Fate()});
        EXPECT_EQ(broken_laws(resumed), "") << call;
        EXPECT_EQ(resumed.records.size(), rows) << call;
        ASSERT_EQ(resumed.lives.size(), 3u) << call;
        const SimResult& died = resumed.lives[1].result;
        EXPECT_TRUE(died.killed);
        (died.stood ? named : unnamed) += 1;
        const KilledRun done =
            run_killed(make_trace(2, rows), all_open(), {dies_at(1, 4), dies, Fate()});
        EXPECT_EQ(broken_laws(done), "") << call;
        EXPECT_EQ(count(done, Outcome::interrupted), rows) << call;
    }
    EXPECT_EQ(std::tuple(unnamed, named), std::tuple(4u, 6u));
}

// A resumption that is given up before its first row keeps what the next one needs, whether
// run.json names it already or not; a new run leaves nothing behind.
TEST(Killed, WhereRunJsonCannotBeWrittenOrWhileItDrains) {
    for (const RunJsonFault fault : {RunJsonFault::naming, RunJsonFault::time_zero}) {
        Fate refused{.run_json = fault};
        const KilledRun resumed = lawful(run_killed(make_trace(8, rows), SimOptions(),
                                                    {dies_at(0.5, 3), refused, refused, Fate()}));
        ASSERT_EQ(resumed.lives.size(), 4u);
        const bool named = fault == RunJsonFault::time_zero;
        EXPECT_EQ(resumed.lives[3].number, named ? 3u : 1u);
        const KilledRun begun =
            lawful(run_killed(make_trace(8, rows), SimOptions(), {refused, Fate()}));
        ASSERT_EQ(begun.lives.size(), 2u);
        EXPECT_EQ(begun.lives[1].number, 0u);
        EXPECT_EQ(begun.lives[1].found_fired, "");
    }
    // Interrupted, it fires nothing more, and dies while it drains. What it did not fire has a
    // record, or is still sent, as far as the writer had come.
    SimOptions options{.seed = 3};
    options.server.pace.first = milliseconds(200);
    options.stop_at_ns = 200 * ms;
    std::set<bool> written;
    for (std::uint64_t dice = 0; dice < 20; ++dice) {
        Fate drains = dies_at(0, dice);
        drains.after_stop_ns = static_cast<std::int64_t>(dice) * 2 * ms;  // of 50 ms
        const KilledRun run = run_killed(make_trace(3, rows), options, {drains, Fate()});
        EXPECT_EQ(broken_laws(run), "") << dice;
        ASSERT_EQ(run.lives.size(), 2u) << dice;
        written.insert(count(run, Outcome::not_sent) > 0);
    }
    EXPECT_EQ(written.size(), 2u);
}

// The host dies with it, 0.9 s behind what its files tell. By them two rows are held back; they
// were no sign of its death: they have left since, and the rows that were due later behind them.
TEST(Killed, WithItsHostOrByFullDisks) {
    constexpr std::uint32_t open_max = 20;
    SimOptions options{.inflight_max = open_max};
    options.server.pace.first = milliseconds(1300);
    Trace trace = make_trace(4, open_max + 10);
    for (std::uint32_t i = 0; i < trace.rows.size(); ++i) {
        // More at 0.7 s than may be open; they end at 2.0 s. The last sign before that is the end
        // of row 0, at 1.3 s, and the host dies at 2.4 s.
        trace.rows[i].at_ns = i == 0 ? 0 : i <= open_max + 1 ? 700 * ms : (2090 + 10 * i) * ms;
        trace.rows[i].output_length = 1;
    }
    std::size_t certain = 0;
    for (std::uint64_t dice = 0; dice < 32; ++dice) {
        options.seed = dice;
        Fate killed = dies_at(0.901, dice);
        killed.host = true;
        const KilledRun run = run_killed(trace, options, {killed, Fate()});
        EXPECT_EQ(broken_laws(run), "") << dice;
        certain += run.lives[1].certain ? 1 : 0;
    }
    EXPECT_EQ(certain, 32u);
    // The disk is full for the first segment, and for the next one, wherever that happens.
    options = {.seed = 5};
    for (const char* const file :
         {"", "requests.jsonl", "fired.jsonl", "client.jsonl", "periods.jsonl"}) {
        for (const std::uint64_t bytes : {0, 1, 100, 5'000, 60'000}) {
            Fate full{.disk = {bytes, file}};
            const KilledRun run = run_killed(make_trace(5, rows), options, {full, full, Fate()});
            EXPECT_EQ(broken_laws(run), "") << file << " " << bytes;
            EXPECT_EQ(run.records.size(), rows);
        }
    }
}

// The laws of runs that die can fail: for each of them a bug is planted, in the world or in what is
// told of the run, and that law names it. The same run without the bug breaks none.

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

// It shows what the plants need: rows of each kind.
TEST(KilledLaws, HoldWithoutABug) {
    const KilledRun run = lawful(run_with(Bug::none));
    ASSERT_EQ(run.lives.size(), 2u);
    EXPECT_FALSE(run.lives[1].found.empty() || run.lives[1].found_fired.empty());
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
    const KilledRun run = lawful(run_with(Bug::none, true));
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

TEST(KilledLaws, CatchBugsOfTheWorldAndTheOutput) {
    for (const WorldBug& planted : world_bugs) {
        EXPECT_EQ(unnamed(broken_laws(run_with(planted.bug, planted.closed)), planted.law), "");
    }
    const KilledRun open_loop = run_with(Bug::none, false);
    const KilledRun closed = run_with(Bug::none, true);
    for (const OutputBug& planted : output_bugs) {
        KilledRun run = planted.closed ? closed : open_loop;
        planted.plant(run);
        EXPECT_EQ(unnamed(broken_laws(run), planted.law), "");
    }
    // No law is without a bug.
    EXPECT_EQ(untried(killed_laws(), world_bugs, output_bugs), "");
}

// Runs of users that die, one at a time in fair weather and in a swarm of seeds, and the laws of
// them: for each a bug is planted, in the world or in what is told of the run, and that law names
// it.

constexpr std::uint32_t user_rows = 60;
constexpr std::uint64_t users_seeds = 200;

/// Chains of four turns, which 4 users play again and again; some fail, and are sent again. It dies
/// behind half of its time.
KilledUsers run_users_with(Bug bug, const Fate& fate) {
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

KilledUsers run_users_with(Bug bug) {
    return run_users_with(bug, dies_at(0.7));
}

// It shows what the plants need.
TEST(KilledUsersLaws, HoldWithoutABug) {
    const KilledUsers run = lawful(run_users_with(Bug::none));
    ASSERT_TRUE(run.died.killed);
    EXPECT_GT(run.records.back().pass, 0u);
    EXPECT_GT(run.figures.retries, 0u);
    EXPECT_GT(run.figures.warmup_rows, 0u);
    EXPECT_GT(run.lost.rows, 0u);
}

// Where a row has left in an earlier pass, or in an earlier try, the bit that marks it tells
// nothing new.
TEST(KilledUsers, MoreRequestsThanRowsAreCounted) {
    const KilledUsers run = run_users_with(Bug::none);
    EXPECT_GT(run.died.sent.size(), user_rows);
    EXPECT_EQ(run.died.marked.size(), user_rows);
    EXPECT_TRUE(run.lost.all_known);
    // Without marks it is known that more may have left.
    Fate fate = dies_at(0.7);
    fate.host = true;
    const KilledUsers other_run = lawful(run_users_with(Bug::none, fate));
    EXPECT_FALSE(other_run.marks || other_run.lost.all_known);
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

TEST(KilledUsersLaws, CatchBugsOfTheWorldAndTheOutput) {
    for (const UsersWorldBug& planted : users_world_bugs) {
        EXPECT_EQ(unnamed(broken_laws(run_users_with(planted.bug)), planted.law), "");
    }
    const KilledUsers sound = run_users_with(Bug::none);
    for (const UsersOutputBug& planted : users_output_bugs) {
        KilledUsers run = sound;
        planted.plant(run);
        EXPECT_EQ(unnamed(broken_laws(run), planted.law), "");
    }
    // No law is without a bug.
    EXPECT_EQ(untried(killed_users_laws(), users_world_bugs, users_output_bugs), "");
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

// A swarm of seeds in which runs die at any moment, with or without their host, and are resumed:
// every row has one record in the end, and none is sent twice unasked. DRIFTLESS_SIM_SEEDS says how
// many; `sim_swarm` runs any number.

constexpr std::uint64_t seeds_for_all = 300;

TEST(KilledSwarm, SameSeedSameBytesAndGivesMemoryBack) {
    for (std::uint64_t seed = 1; seed <= repeats(20); ++seed) {
        const KilledRun first = run_killed_swarm(seed, rows);
        const KilledRun again = run_killed_swarm(seed, rows);
        ASSERT_FALSE(first.jsonl.empty());
        ASSERT_TRUE(first.jsonl == again.jsonl) << "seed " << seed;
    }
    // Late rows over TLS came back from their connections while a killed run was taken down.
    EXPECT_EQ(broken_laws(run_killed_swarm(1996, rows)), "");
    // fired.jsonl met a full disk, and requests.jsonl was written further until the next flush.
    const KilledRun run = lawful(run_killed_swarm(1345, rows));
    EXPECT_TRUE(std::ranges::any_of(run.lives, [](const Life& life) {
        return life.result.disk_failed;
    })) << "another seed has to be found";
}

// The kills have really struck, in every way that there is.
TEST(KilledSwarm, LosesNothingAndRepeatsNothing) {
    std::map<std::string, std::uint64_t> met;
    for (std::uint64_t seed = 1; seed <= seeds(seeds_for_all); ++seed) {
        const KilledRun run = run_killed_swarm(seed, rows);
        ASSERT_EQ(broken_laws(run), "") << "seed " << seed;
        for (const Life& life : run.lives) {
            const SimResult& result = life.result;
            ++met[result.killed ? "killed" : result.disk_failed ? "disk failed" : "ended"];
            met["killed when all had left"] +=
                result.killed && result.left.size() == life.planned.size();
            met["killed while resuming"] += result.killed && !result.stood ? 1 : 0;
            met["without marks, certain"] += !life.marks && life.certain ? 1 : 0;
            met["without marks, guessed"] += !life.marks && !life.certain ? 1 : 0;
            met["sent again"] += life.again.size();
            met["given up"] += life.given_up.size();
            met["nothing left to send"] += life.planned.empty() ? 1 : 0;
        }
    }
    for (const char* const kind :
         {"killed", "disk failed", "ended", "killed when all had left", "killed while resuming",
          "without marks, certain", "without marks, guessed", "sent again", "given up",
          "nothing left to send"}) {
        EXPECT_TRUE(met[kind] > 0 || seeds(seeds_for_all) < seeds_for_all) << kind;
        RecordProperty(kind, std::to_string(met[kind]));
    }
}

// Rows of a later segment have waited for rows of an earlier one.
TEST(KilledSwarm, ClosedSessionsGoOn) {
    std::uint64_t released = 0;
    std::uint64_t dropped = 0;
    for (std::uint64_t seed = 1; seed <= seeds(seeds_for_all); ++seed) {
        const KilledRun run = run_killed_closed_swarm(seed, rows);
        ASSERT_EQ(broken_laws(run), "") << "seed " << seed;
        for (const Life& life : run.lives) {
            dropped += life.dropped.size();
        }
        for (const Record& record : run.records) {
            released += record.segment > 0 && record.parent_end_ns ? 1 : 0;
        }
    }
    EXPECT_GT(released, 0u);
    EXPECT_GT(dropped, 0u);
}

}  // namespace
}  // namespace driftless::sim
