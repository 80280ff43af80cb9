// Runs that die at moments of their own kind, one at a time, in fair weather. Mixes of them: the
// suite KilledSwarm.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/sim/effort.hpp"
#include "tests/sim/killed_laws.hpp"
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
    SimOptions options;
    options.seed = 2;
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
TEST(Killed, WhenAllHadLeft) {
    const SimOptions options = all_open();
    const Trace trace = make_trace(2, rows);
    for (const bool resend : {false, true}) {
        Fate next;
        next.resend = resend;
        const KilledRun run = run_killed(trace, options, {dies_at(1, 4), next});
        EXPECT_EQ(broken_laws(run), "");
        ASSERT_EQ(run.lives.size(), 2u);
        EXPECT_EQ(run.lives[0].result.left.size(), rows);
        EXPECT_EQ(run.lives[1].planned.size(), resend ? rows : 0u);
        EXPECT_EQ(count(run, resend ? Outcome::ok : Outcome::interrupted), rows);
    }
}

// A resumption that sends again dies before it comes to that: the next one is not asked to.
TEST(Killed, BeforeItCouldSendAgain) {
    const SimOptions options = all_open();
    Fate again = dies_at(0, 4);
    again.resend = true;
    const KilledRun run =
        run_killed(make_trace(2, rows), options, {dies_at(0.5, 4), again, Fate()});
    EXPECT_EQ(broken_laws(run), "");
    ASSERT_EQ(run.lives.size(), 3u);
    EXPECT_FALSE(run.lives[0].result.left.empty());
    EXPECT_EQ(run.lives[1].again, run.lives[0].result.left);
    EXPECT_EQ(run.lives[2].given_up, run.lives[0].result.left);
}

// At every step over some rows that leave: before the send is handed over, between that and the
// flush, behind it and before the event. Who dies before the flush has marked a row that never
// left.
TEST(Killed, AtEachStepOfAFire) {
    SimOptions options;
    options.seed = 6;
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

// Before each thing that the order of a run asks of its host: of a new run and of one that is
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
    EXPECT_EQ(unnamed, 4u);
    EXPECT_EQ(named, 6u);
}

// A resumption that is given up before its first row keeps what the next one needs, whether
// run.json names it already or not; a new run leaves nothing behind.
TEST(Killed, WhereRunJsonCannotBeWritten) {
    for (const RunJsonFault fault : {RunJsonFault::naming, RunJsonFault::time_zero}) {
        Fate refused;
        refused.run_json = fault;
        const KilledRun resumed = run_killed(make_trace(8, rows), SimOptions(),
                                             {dies_at(0.5, 3), refused, refused, Fate()});
        EXPECT_EQ(broken_laws(resumed), "");
        ASSERT_EQ(resumed.lives.size(), 4u);
        const bool named = fault == RunJsonFault::time_zero;
        EXPECT_EQ(resumed.lives[3].number, named ? 3u : 1u);
        const KilledRun begun = run_killed(make_trace(8, rows), SimOptions(), {refused, Fate()});
        EXPECT_EQ(broken_laws(begun), "");
        ASSERT_EQ(begun.lives.size(), 2u);
        EXPECT_EQ(begun.lives[1].number, 0u);
        EXPECT_EQ(begun.lives[1].found_fired, "");
    }
}

// Interrupted, it fires nothing more, and dies while it drains. What it did not fire has a record,
// or is still sent, as far as the writer had come.
TEST(Killed, WhileItDrains) {
    SimOptions options;
    options.seed = 3;
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
TEST(Killed, WithItsHostBehindRowsThatWereHeld) {
    constexpr std::uint32_t open_max = 20;
    SimOptions options;
    options.inflight_max = open_max;
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
}

// The disk is full for the first segment, and for the next one, wherever that happens.
TEST(Killed, ByDisksThatAreFull) {
    SimOptions options;
    options.seed = 5;
    for (const char* const file :
         {"", "requests.jsonl", "fired.jsonl", "client.jsonl", "periods.jsonl"}) {
        for (const std::uint64_t bytes : {0, 1, 100, 5'000, 60'000}) {
            Fate full;
            full.disk = {bytes, file};
            const KilledRun run = run_killed(make_trace(5, rows), options, {full, full, Fate()});
            EXPECT_EQ(broken_laws(run), "") << file << " " << bytes;
            EXPECT_EQ(run.records.size(), rows);
        }
    }
}

}  // namespace
}  // namespace driftless::sim
