// Which rows of a killed run are sent, and which are given up: by its records, by what left, by its
// marks, and without those by the time at which it can have died.
#include "engine/history/remaining_rows.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

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

    void record(std::uint32_t at, std::int64_t ended_ns) {
        Record record;
        record.row = trace.rows[at].index;
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
    std::vector<std::uint32_t> rows;
    for (const Planned& planned : remaining.send) {
        rows.push_back(planned.row);
    }
    return rows;
}

using Rows = std::vector<std::uint32_t>;

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
    for (const Record& record : interrupted_records(found, remaining_rows(found, false), config)) {
        summary.add(record);
    }
    const SummaryFigures figures = summary.figures();
    EXPECT_EQ(figures.rows, 3u);
    EXPECT_EQ(figures.tainted_first, (std::vector<std::uint32_t>{20}));
    EXPECT_EQ(figures.tainted_late[static_cast<std::size_t>(LateCause::wake)], 1u);
    EXPECT_EQ(figures.interrupted_untainted, 2u);
    const Judgement judged = judge_calibrated(figures, {}, config.limits);
    EXPECT_EQ(judged.verdict, Verdict::client_limited);  // more was lost by our end than was late
    EXPECT_NE(judged.reasons[0].find("1 row sent more than"), std::string::npos);
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
        interrupted_records(found, remaining_rows(found, false), config);
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(records[0].row, 20u);
    EXPECT_EQ(records[0].fired_ns, 100 * ms + 7);
    EXPECT_EQ(records[0].drift_ns, 7);
    EXPECT_EQ(records[0].held_ns, 6);
    EXPECT_EQ(records[0].late_cause, LateCause::inflight);  // else it would be our own lateness
    EXPECT_EQ(records[1].row, 40u);
    EXPECT_EQ(records[1].due_ns, 300 * ms);
    EXPECT_FALSE(records[1].fired_ns);  // marked, and its line had not been written
    for (const Record& record : records) {
        EXPECT_EQ(record.outcome, Outcome::interrupted);
        EXPECT_EQ(record.segment, 1u);
        EXPECT_FALSE(record.has_chunks);
    }
}

}  // namespace
}  // namespace driftless
