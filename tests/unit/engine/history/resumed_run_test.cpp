// Which rows of a killed run are sent, and which are given up: by its records, by what left, by its
// marks, and without those by the time at which it can have died.
#include "engine/history/resumed_run.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include "engine/plan/schedule.hpp"
#include "tests/unit/made.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

constexpr std::int64_t ms = 1'000'000;

/// Rows 10, 20, 30, .. of a file, due every 100 ms; the last of the trace is not selected.
struct DeadRun {
    Trace trace;
    Plan plan;
    RunFacts facts;
    Past past{facts};
    FiredMarks marks;

    explicit DeadRun(std::uint32_t rows) {
        for (std::uint32_t i = 0; i < rows; ++i) {
            TraceRow row;
            row.index = 10 * (i + 1);
            trace.rows.push_back(row);
            if (i + 1 < rows) {
                plan.rows.push_back({100 * ms * i, i, 0});
            }
        }
        const std::string name = "remaining-rows-test-" + std::to_string(::getpid());
        Result<FiredMarks> made = FiredMarks::create(name, rows);
        CHECK(static_cast<bool>(made));
        FiredMarks::remove(name);
        marks = std::move(made).value();
    }

    void record(std::uint32_t at, std::int64_t ended_ns, Side side = Side::none) {
        Record record;
        record.side = side;
        record.row = trace.rows[at].index;
        record.fired_ns = ended_ns;
        record.ended_ns = ended_ns;
        record.outcome = Outcome::ok;
        std::string line;
        append_jsonl(line, record);
        CHECK(static_cast<bool>(past.add_record(line)));
    }
    void leave(std::uint32_t at, std::int64_t fired_ns, const std::string& why = "") {
        CHECK(static_cast<bool>(past.add_fired(R"({"row":)" + std::to_string(trace.rows[at].index) +
                                               R"(,"fired_ns":)" + std::to_string(fired_ns) + why +
                                               "}")));
    }

    InterruptedRun with_marks() const { return {trace, plan, past, &marks, 0}; }
    InterruptedRun without_marks() const { return {trace, plan, past, nullptr, 0}; }
};

std::vector<std::uint32_t> sent(const RemainingRows& remaining) {
    return members_of(remaining.send, &Planned::row);
}

using Rows = std::vector<std::uint32_t>;

// Dual fire: a row may have a record of one side, have left to the other, and not have left at all.
TEST(RemainingRows, GoesByTheSidesOfARow) {
    DeadRun run(5);
    std::vector<Planned> both;
    for (const Planned& planned : run.plan.rows) {
        for (const Side side : {Side::a, Side::b}) {
            both.push_back({planned.due_ns, planned.row, 0, side});
        }
    }
    run.plan.rows = both;
    run.plan.dual = true;
    const std::string name = "remaining-sides-test-" + std::to_string(::getpid());
    Result<FiredMarks> marks = FiredMarks::create(name, marks_for(5, true));
    ASSERT_TRUE(marks);
    FiredMarks::remove(name);
    run.marks = std::move(marks).value();
    run.record(0, 50 * ms, Side::a);
    run.record(0, 60 * ms, Side::b);
    run.record(1, 150 * ms, Side::b);
    for (const auto& [row, side] :
         {std::pair(0u, Side::a), std::pair(0u, Side::b), std::pair(1u, Side::a),
          std::pair(1u, Side::b), std::pair(2u, Side::a)}) {
        run.marks.mark(mark_of(row, side));
    }
    const RemainingRows remaining = remaining_rows(run.with_marks(), false);
    EXPECT_EQ(remaining.given_up, (Rows{2, 4}));  // 1 at a, 2 at a
    EXPECT_EQ(remaining.positions, (Rows{5, 6, 7}));
    EXPECT_EQ(remaining.send[0].side, Side::b);
    const RemainingRows resent = remaining_rows(run.with_marks(), true);
    EXPECT_EQ(resent.positions, (Rows{2, 4, 5, 6, 7}));
    EXPECT_EQ(resent.again, (Rows{mark_of(1, Side::a), mark_of(2, Side::a)}));
}

// Without marks the file of those that left tells of the side, too.
TEST(RemainingRows, GivesUpTheSideThatLeft) {
    DeadRun run(3);
    run.plan.rows = {{0, 0, 0, Side::b}, {0, 0, 0, Side::a}};
    run.plan.rows[0].due_ns = run.plan.rows[1].due_ns = 100'000 * ms;  // nobody guesses
    run.plan.dual = true;
    run.leave(0, 10 * ms, R"(,"side":"b")");
    const RemainingRows remaining = remaining_rows(run.without_marks(), false);
    EXPECT_EQ(remaining.given_up, (Rows{0}));
    EXPECT_EQ(remaining.positions, (Rows{1}));
}

TEST(RemainingRows, GivesUpWhatIsMarked) {
    DeadRun run(6);
    run.record(0, 50 * ms);
    run.marks.mark(0);
    run.marks.mark(2);  // row 1 was held back, row 2 was not
    const RemainingRows remaining = remaining_rows(run.with_marks(), false);
    EXPECT_EQ(sent(remaining), (Rows{1, 3, 4}));
    EXPECT_EQ(remaining.given_up, (Rows{2}));
    EXPECT_EQ(remaining.again, Rows{});
}

// Marks of a segment know nothing of what had left in the one before.
TEST(RemainingRows, GivesUpWhatLeftUnmarked) {
    DeadRun run(4);
    run.leave(1, 100 * ms + 7);
    EXPECT_EQ(remaining_rows(run.with_marks(), false).given_up, (Rows{1}));
    EXPECT_EQ(sent(remaining_rows(run.with_marks(), false)), (Rows{0, 2}));
}

TEST(RemainingRows, SendsAgainWhenAsked) {
    DeadRun run(5);
    run.record(0, 50 * ms);
    run.leave(1, 100 * ms);
    run.marks.mark(1);
    run.marks.mark(2);
    const RemainingRows remaining = remaining_rows(run.with_marks(), true);
    EXPECT_EQ(sent(remaining), (Rows{1, 2, 3}));
    EXPECT_EQ(remaining.again, (Rows{1, 2}));
    EXPECT_EQ(remaining.given_up, Rows{});
}

// A row that was to be sent again and was not: who resumes the next time does not send it unasked.
TEST(RemainingRows, OfARunThatWasToSendAgainKeepsItsMarks) {
    DeadRun run(5);
    run.marks.mark(1);
    DeadRun next(5);
    mark_again(remaining_rows(run.with_marks(), true), next.marks);
    EXPECT_EQ(remaining_rows(next.with_marks(), false).given_up, (Rows{1}));
}

TEST(RemainingRows, OfARunThatWasKilledAtOnceIsAllOfIt) {
    DeadRun run(4);
    EXPECT_EQ(sent(remaining_rows(run.with_marks(), false)), (Rows{0, 1, 2}));
}

// Where it can have died: a second after the sign that it owed a second after the last one.
TEST(RemainingRows, WithoutMarksGoesByTheClock) {
    DeadRun run(60);
    run.record(0, 50 * ms);
    run.leave(1, 100 * ms);
    const RemainingRows remaining = remaining_rows(run.without_marks(), false);
    EXPECT_EQ(remaining.given_up.front(), 1u);
    EXPECT_EQ(remaining.given_up.back(), 21u);  // due at 2.1 s
    EXPECT_EQ(sent(remaining).front(), 22u);
    EXPECT_EQ(sent(remaining).back(), 58u);
}

// A segment has not died before it began, whatever its files say.
TEST(RemainingRows, WithoutMarksGoesByTheLastSegment) {
    DeadRun run(60);
    run.record(0, 50 * ms);
    const InterruptedRun found{run.trace, run.plan, run.past, nullptr, 3'000 * ms};
    EXPECT_EQ(sent(remaining_rows(found, false)).front(), 51u);
}

// Rows 2 and 3 are held back (--max-inflight); what is due later may leave with them, all at once,
// up to two seconds after the last line.
TEST(RemainingRows, WithoutMarksTakesNoHeldRowForASign) {
    DeadRun run(60);
    run.leave(0, 0);
    run.leave(1, 100 * ms);
    run.record(0, 1'400 * ms);
    EXPECT_EQ(remaining_rows(run.without_marks(), false).given_up.back(), 34u);
}

TEST(RemainingRows, WithoutMarksSendsAgainWhenAsked) {
    DeadRun run(60);
    run.record(0, 50 * ms);
    const RemainingRows remaining = remaining_rows(run.without_marks(), true);
    EXPECT_EQ(remaining.send.size(), 58u);
    EXPECT_EQ(remaining.again.size(), 20u);  // due at 0.1 to 2.0 s
}

// A row that left too late is tainted whether it ended or not: a verdict says that none did.
TEST(RemainingRows, TaintsWhatLeftLate) {
    DeadRun run(4);
    run.leave(0, 0 * ms + 1'000, R"(,"held_ns":0,"late_cause":"wake")");
    run.leave(1, 100 * ms + 1'001, R"(,"held_ns":0,"late_cause":"wake")");
    run.leave(2, 200 * ms + 1'001, R"(,"held_ns":1001,"late_cause":"inflight")");
    AssemblerConfig config;
    config.trace = &run.trace;
    config.dialect = &dialect_of(Api::openai_chat);
    config.segment = 1;
    config.limits.drift_ns = 1'000;
    const InterruptedRun found = run.with_marks();
    Summary summary;
    for (const Record& record : settled_records(found, remaining_rows(found, false), config)) {
        summary.add(record);
    }
    const SummaryFigures figures = summary.figures();
    EXPECT_EQ(figures.rows, 3u);
    EXPECT_EQ(figures.tainted_first, (std::vector<std::uint32_t>{20}));
    EXPECT_EQ(figures.tainted_late[static_cast<std::size_t>(LateCause::wake)], 1u);
    EXPECT_EQ(figures.interrupted_untainted, 2u);
    const Judgement judged = judge_calibrated(figures, {}, config.limits);
    EXPECT_EQ(judged.verdict, Verdict::client_limited);  // more was lost by our end than was late
    EXPECT_TRUE(says(judged.reasons[0], "1 row sent more than"));
}

TEST(RemainingRows, RecordsWhatIsGivenUp) {
    DeadRun run(5);
    run.leave(1, 100 * ms + 7, R"(,"held_ns":6,"late_cause":"inflight")");
    run.marks.mark(1);
    run.marks.mark(3);
    AssemblerConfig config;
    config.trace = &run.trace;
    config.dialect = &dialect_of(Api::openai_chat);
    config.urls = {"http://server/"};
    config.segment = 2;
    const InterruptedRun found = run.with_marks();
    const std::vector<Record> records =
        settled_records(found, remaining_rows(found, false), config);
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(records[0].row, 20u);
    EXPECT_EQ(records[0].fired_ns, 100 * ms + 7);
    EXPECT_EQ(records[0].drift_ns, 7);
    EXPECT_EQ(records[0].held_ns, 6);
    EXPECT_EQ(records[0].late_cause, LateCause::inflight);  // else it would be our own lateness
    EXPECT_EQ(records[1].row, 40u);
    EXPECT_EQ(records[1].due_ns, 300 * ms);
    EXPECT_FALSE(records[1].fired_ns);  // marked, and its line had not been written
    // Rows that are not among the fired ones are counted by this text, on the screen as well.
    EXPECT_EQ(records[0].error, std::nullopt);
    EXPECT_EQ(records[1].error, "may have been sent; its instant is lost");
    for (const Record& record : records) {
        EXPECT_EQ(record.outcome, Outcome::interrupted);
        EXPECT_EQ(record.segment, 1u);
        EXPECT_FALSE(record.has_chunks);
    }
}

/// Rows 0 to 5 of the dead run wait for each other: 0 <- 1 <- 2, 3 <- 4, and 5 for the sending of
/// 3; each 10 ms. Halved by the speed.
struct DeadSessions : DeadRun {
    DeadSessions() : DeadRun(7) {
        const auto wait = [&](std::uint32_t row, std::uint32_t on, Trigger trigger) {
            trace.dependencies.push_back(
                {trace.rows[row].index, trace.rows[on].index, trigger, 10 * ms});
        };
        wait(1, 0, Trigger::completion);
        wait(2, 1, Trigger::completion);
        wait(4, 3, Trigger::completion);
        wait(5, 3, Trigger::dispatch);
        RunFacts closed;
        closed.info.run.sessions = "closed";
        past_closed.emplace(closed);
    }
    void end(std::uint32_t at, std::int64_t ended_ns, int status) {
        Record record{.row = trace.rows[at].index, .fired_ns = ended_ns - 1 * ms};
        record.done_ns = record.ended_ns = ended_ns;
        record.status = status;
        record.outcome = status == 200 ? Outcome::ok : Outcome::http_5xx;
        std::string line;
        append_jsonl(line, record);
        CHECK(static_cast<bool>(past_closed->add_record(line)));
    }
    RemainingRows rest(bool with, bool resend = false) const {
        return remaining_rows({trace, plan, *past_closed, with ? &marks : nullptr, 0, true, {2, 1}},
                              resend);
    }
    std::optional<Past> past_closed;
};

TEST(RemainingRowsOfSessions, GoOnBehindTheirRecords) {
    DeadSessions run;
    run.end(0, 50 * ms, 200);
    run.end(3, 320 * ms, 200);
    run.marks.mark(0);
    run.marks.mark(3);
    const RemainingRows rest = run.rest(true);
    EXPECT_EQ(sent(rest), (Rows{1, 2, 4, 5}));
    EXPECT_EQ(rest.positions, (Rows{1, 2, 4, 5}));
    EXPECT_EQ(rest.earliest_ns[1], 55 * ms);
    EXPECT_EQ(rest.earliest_ns[2], 60 * ms);
    EXPECT_EQ(rest.earliest_ns[5], 324 * ms);
    Plan plan = run.plan;
    plan.rows = rest.send;
    Schedule schedule(run.trace, plan, {2, 1}, rest.earlier);
    EXPECT_EQ(schedule.first_due_ns(), 55 * ms);
}

// Who waits for an answer that never came is dropped, with all that wait for it; who waits for the
// sending is not.
TEST(RemainingRowsOfSessions, DropWhatAFailureEnds) {
    DeadSessions run;
    run.end(0, 50 * ms, 500);
    run.end(3, 320 * ms, 500);
    const RemainingRows rest = run.rest(true);
    EXPECT_EQ(sent(rest), (Rows{5}));
    ASSERT_EQ(rest.dropped.size(), 3u);
    AssemblerConfig config;
    config.trace = &run.trace;
    config.dialect = &dialect_of(Api::openai_chat);
    config.segment = 1;
    const std::vector<Record> records = settled_records(
        {run.trace, run.plan, *run.past_closed, nullptr, 0, true, {2, 1}}, rest, config);
    ASSERT_EQ(records.size(), 3u);
    EXPECT_EQ(records[1].row, 30u);
    EXPECT_EQ(records[1].outcome, Outcome::not_sent);
    EXPECT_EQ(records[1].error, "row 10, which it waited for, failed");
    EXPECT_EQ(records[1].segment, 1u);
    EXPECT_EQ(records[1].request, 2u);
}

TEST(RemainingRowsOfSessions, DropWhatWaitsForARowThatIsGivenUp) {
    DeadSessions run;
    run.marks.mark(0);
    run.marks.mark(3);
    EXPECT_TRUE(run.past_closed->add_fired(R"({"row":40,"due_ns":300,"fired_ns":300000007})"));
    const RemainingRows rest = run.rest(true);
    EXPECT_EQ(rest.given_up, (Rows{0, 3}));
    EXPECT_EQ(sent(rest), (Rows{5}));
    EXPECT_EQ(rest.earliest_ns[5], 305'000'007);
    const RemainingRows again = run.rest(true, true);
    EXPECT_EQ(sent(again), (Rows{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(again.again, (Rows{0, 3}));
}

// Without marks a row may have left where those that it waits for may have ended in time.
TEST(RemainingRowsOfSessions, GuessByWhatTheyWaitFor) {
    DeadSessions run;
    run.end(0, 50 * ms, 200);
    run.end(3, 5'000 * ms, 500);
    const RemainingRows rest = run.rest(false);
    EXPECT_EQ(rest.given_up, (Rows{1, 2, 5}));
    ASSERT_EQ(rest.dropped.size(), 1u);
    EXPECT_EQ(rest.dropped[0].position, 4u);
}

}  // namespace
}  // namespace driftless
