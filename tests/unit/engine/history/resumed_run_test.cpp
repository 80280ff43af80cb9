// Runs taken up again.

#include "engine/history/resumed_run.hpp"

#include <unistd.h>

#include "engine/host/calibration.hpp"
#include "engine/plan/schedule.hpp"
#include "tests/unit/made.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

// Which rows of a killed run are sent, and which are given up: by its records, by what left, by its
// marks, and without those by the time at which it can have died.

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
            trace.rows.push_back({.index = 10 * (i + 1)});
            if (i + 1 < rows) {
                plan.rows.push_back({100 * ms * i, i, 0});
            }
        }
        marks = new_marks(rows);
    }
    static FiredMarks new_marks(std::size_t rows) {
        const std::string name = "remaining-rows-test-" + std::to_string(::getpid());
        FiredMarks made = FiredMarks::create(name, rows).value();
        FiredMarks::remove(name);
        return made;
    }

    void record(std::uint32_t at, std::int64_t ended_ns, Side side = Side::none) {
        const std::string line = jsonl_of({.row = trace.rows[at].index,
                                           .side = side,
                                           .fired_ns = ended_ns,
                                           .ended_ns = ended_ns,
                                           .outcome = Outcome::ok});
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
    run.marks = DeadRun::new_marks(marks_for(5, true));
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
TEST(RemainingRows, GivesUpWhatLeftUnlessAskedToSendAgain) {
    DeadRun run(3);
    run.plan.rows = {{0, 0, 0, Side::b}, {0, 0, 0, Side::a}};
    run.plan.rows[0].due_ns = run.plan.rows[1].due_ns = 100'000 * ms;  // nobody guesses
    run.plan.dual = true;
    run.leave(0, 10 * ms, R"(,"side":"b")");
    const RemainingRows remaining = remaining_rows(run.without_marks(), false);
    EXPECT_EQ(remaining.given_up, (Rows{0}));
    EXPECT_EQ(remaining.positions, (Rows{1}));
    DeadRun other_run(6);
    other_run.record(0, 50 * ms);
    other_run.marks.mark(0);
    other_run.marks.mark(2);  // row 1 was held back, row 2 was not
    const RemainingRows other_remaining = remaining_rows(other_run.with_marks(), false);
    EXPECT_EQ(sent(other_remaining), (Rows{1, 3, 4}));
    EXPECT_EQ(other_remaining.given_up, (Rows{2}));
    EXPECT_EQ(other_remaining.again, Rows{});
    // Marks of a segment know nothing of what had left in the one before.
    DeadRun third_run(4);
    third_run.leave(1, 100 * ms + 7);
    EXPECT_EQ(remaining_rows(third_run.with_marks(), false).given_up, (Rows{1}));
    EXPECT_EQ(sent(remaining_rows(third_run.with_marks(), false)), (Rows{0, 2}));
    // A row that was to be sent again and was not: who resumes the next time does not send it
    // unasked.
    DeadRun again(5);
    again.marks.mark(1);
    DeadRun next(5);
    mark_again(remaining_rows(again.with_marks(), true), next.marks);
    EXPECT_EQ(remaining_rows(next.with_marks(), false).given_up, (Rows{1}));
    EXPECT_EQ(sent(remaining_rows(DeadRun(4).with_marks(), false)), (Rows{0, 1, 2}));
    DeadRun fourth_run(5);
    fourth_run.record(0, 50 * ms);
    fourth_run.leave(1, 100 * ms);
    fourth_run.marks.mark(1);
    fourth_run.marks.mark(2);
    const RemainingRows third_remaining = remaining_rows(fourth_run.with_marks(), true);
    EXPECT_EQ(sent(third_remaining), (Rows{1, 2, 3}));
    EXPECT_EQ(third_remaining.again, (Rows{1, 2}));
    EXPECT_EQ(third_remaining.given_up, Rows{});
}

// Where it can have died: a second after the sign that it owed a second after the last one.
TEST(RemainingRows, WithoutMarksGoesByTheClock) {
    DeadRun run(60);
    run.record(0, 50 * ms);
    run.leave(1, 100 * ms);
    const RemainingRows remaining = remaining_rows(run.without_marks(), false);
    EXPECT_EQ(remaining.given_up.front(), 1u);
    EXPECT_EQ(remaining.given_up.back(), 21u);  // due at 2.1 s
    EXPECT_EQ(std::tuple(sent(remaining).front(), sent(remaining).back()), std::tuple(22u, 58u));
    // A segment has not died before it began, whatever its files say.
    DeadRun of_segment(60);
    of_segment.record(0, 50 * ms);
    const InterruptedRun found{of_segment.trace, of_segment.plan, of_segment.past, nullptr,
                               3'000 * ms};
    EXPECT_EQ(sent(remaining_rows(found, false)).front(), 51u);
    // Rows 2 and 3 are held back (--max-inflight); what is due later may leave with them, all at
    // once, up to two seconds after the last line.
    DeadRun held(60);
    held.leave(0, 0);
    held.leave(1, 100 * ms);
    held.record(0, 1'400 * ms);
    EXPECT_EQ(remaining_rows(held.without_marks(), false).given_up.back(), 34u);
    DeadRun asked(60);
    asked.record(0, 50 * ms);
    const RemainingRows resent = remaining_rows(asked.without_marks(), true);
    EXPECT_EQ(resent.send.size(), 58u);
    EXPECT_EQ(resent.again.size(), 20u);  // due at 0.1 to 2.0 s
}

// A row that left too late is tainted whether it ended or not: a verdict says that none did.
TEST(RemainingRows, TaintsWhatLeftLate) {
    DeadRun run(4);
    run.leave(0, 0 * ms + 1'000, R"(,"held_ns":0,"late_cause":"wake")");
    run.leave(1, 100 * ms + 1'001, R"(,"held_ns":0,"late_cause":"wake")");
    run.leave(2, 200 * ms + 1'001, R"(,"held_ns":1001,"late_cause":"inflight")");
    AssemblerConfig config{
        .trace = &run.trace, .dialect = &dialect_of(Api::openai_chat), .segment = 1};
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
    EXPECT_TRUE(says(judged.reasons[1], "1 row sent more than"));
}

TEST(RemainingRows, RecordsWhatIsGivenUp) {
    DeadRun run(5);
    run.leave(1, 100 * ms + 7, R"(,"held_ns":6,"late_cause":"inflight")");
    run.marks.mark(1);
    run.marks.mark(3);
    AssemblerConfig config{.trace = &run.trace,
                           .dialect = &dialect_of(Api::openai_chat),
                           .urls = {"http://server/"},
                           .segment = 2};
    const InterruptedRun found = run.with_marks();
    const std::vector<Record> records =
        settled_records(found, remaining_rows(found, false), config);
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(std::tuple(records[0].row, records[0].fired_ns), std::tuple(20u, 100 * ms + 7));
    EXPECT_EQ(values_of(records[0], "drift_ns, held_ns"), "7, 6");
    EXPECT_EQ(records[0].late_cause, LateCause::inflight);  // else it would be our own lateness
    EXPECT_EQ(std::tuple(records[1].row, records[1].due_ns), std::tuple(40u, 300 * ms));
    EXPECT_FALSE(records[1].fired_ns);  // marked, and its line had not been written
    // Rows that are not among the fired ones are counted by this text, on the screen as well.
    EXPECT_EQ(records[0].error, std::nullopt);
    EXPECT_EQ(records[1].error, "may have been sent; its instant is lost");
    for (const Record& record : records) {
        EXPECT_EQ(values_of(record, "outcome, segment"), "interrupted, 1");
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
        CHECK(static_cast<bool>(past_closed->add_record(jsonl_of(record))));
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
    EXPECT_EQ(std::tuple(rest.earliest_ns[1], rest.earliest_ns[2]), std::tuple(55 * ms, 60 * ms));
    EXPECT_EQ(rest.earliest_ns[5], 324 * ms);
    Plan plan = run.plan;
    plan.rows = rest.send;
    EXPECT_EQ(Schedule(run.trace, plan, {2, 1}, rest.earlier).first_due_ns(), 55 * ms);
}

// Who waits for an answer that never came is dropped, with all that wait for it; who waits for the
// sending is not.
TEST(RemainingRowsOfSessions, DropWhatFailedOrMayHaveLeft) {
    DeadSessions run;
    run.end(0, 50 * ms, 500);
    run.end(3, 320 * ms, 500);
    const RemainingRows rest = run.rest(true);
    EXPECT_EQ(sent(rest), (Rows{5}));
    ASSERT_EQ(rest.dropped.size(), 3u);
    AssemblerConfig config{
        .trace = &run.trace, .dialect = &dialect_of(Api::openai_chat), .segment = 1};
    const std::vector<Record> records = settled_records(
        {run.trace, run.plan, *run.past_closed, nullptr, 0, true, {2, 1}}, rest, config);
    ASSERT_EQ(records.size(), 3u);
    EXPECT_EQ(values_of(records[1], "row, outcome, error, segment, request"),
              "30, not_sent, row 10, which it waited for, failed, 1, 2");
    DeadSessions other_run;
    other_run.marks.mark(0);
    other_run.marks.mark(3);
    EXPECT_TRUE(
        other_run.past_closed->add_fired(R"({"row":40,"due_ns":300,"fired_ns":300000007})"));
    const RemainingRows other_rest = other_run.rest(true);
    EXPECT_EQ(other_rest.given_up, (Rows{0, 3}));
    EXPECT_EQ(sent(other_rest), (Rows{5}));
    EXPECT_EQ(other_rest.earliest_ns[5], 305'000'007);
    const RemainingRows again = other_run.rest(true, true);
    EXPECT_EQ(sent(again), (Rows{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(again.again, (Rows{0, 3}));
    // Without marks a row may have left where those that it waits for may have ended in time.
    DeadSessions third_run;
    third_run.end(0, 50 * ms, 200);
    third_run.end(3, 5'000 * ms, 500);
    const RemainingRows third_rest = third_run.rest(false);
    EXPECT_EQ(third_rest.given_up, (Rows{1, 2, 5}));
    ASSERT_EQ(third_rest.dropped.size(), 1u);
    EXPECT_EQ(third_rest.dropped[0].position, 4u);
}

// Records come in the order of the file, all of them, whatever the batches and the threads; what
// cannot be read is named by its line.

class RecordFeeds : public ::testing::Test {
  protected:
    void write(const std::string& text) const { folder_.write("feed", text); }
    RecordFeed open() const {
        std::string why;
        Result<RecordFeed> feed = RecordFeed::open(path_, why);
        EXPECT_TRUE(feed) << why;
        return std::move(feed).value();
    }
    const ScratchFolder folder_;
    const std::string path_ = folder_ / "feed";
};

std::string line_of(std::uint32_t row, std::size_t chunks) {
    Record record{.row = row};
    record.chunk_ns.assign(chunks, 123'456'789);
    return jsonl_of(record);
}

TEST_F(RecordFeeds, InTheOrderOfTheFile) {
    constexpr std::uint32_t rows = 20'000;  // many more batches than are held at once
    std::string text;
    for (std::uint32_t row = 0; row < rows; ++row) {
        text += line_of(row, row % 7 == 0 ? 50 : 1);
    }
    write(text + "{\"row\":");
    RecordFeed feed = open();
    std::uint32_t row = 0;
    while (const Record* const record = feed.next()) {
        ASSERT_EQ(record->row, row++);
        ASSERT_EQ(feed.number(), row);
    }
    EXPECT_EQ(row, rows);
    EXPECT_FALSE(feed.error());
    EXPECT_EQ(feed.bytes().whole, text.size());
    EXPECT_EQ(feed.bytes().torn, 7U);
    EXPECT_EQ(feed.next(), nullptr);
}

TEST_F(RecordFeeds, NothingToRead) {
    RecordFeed missing = open();
    EXPECT_EQ(missing.next(), nullptr);
    EXPECT_FALSE(missing.error());
    write("");
    RecordFeed empty = open();
    EXPECT_EQ(empty.next(), nullptr);
    EXPECT_FALSE(empty.error());
}

TEST_F(RecordFeeds, ALineThatIsNoRecord) {
    for (const std::uint32_t before : {0U, 1U, 5'000U}) {
        std::string text;
        for (std::uint32_t row = 0; row < before; ++row) {
            text += line_of(row, 1);
        }
        write(text + "{\"row\":1}\n" + line_of(before, 1));
        RecordFeed feed = open();
        std::uint32_t records = 0;
        while (feed.next() != nullptr) {
            ++records;
        }
        EXPECT_EQ(records, before);
        ASSERT_TRUE(feed.error());
        EXPECT_EQ(feed.error()->code, ErrorCode::missing);
        EXPECT_EQ(feed.number(), before + 1);
        EXPECT_EQ(feed.next(), nullptr);
    }
}

// A feed that is given up in the middle ends its threads.
TEST_F(RecordFeeds, GivenUp) {
    std::string text;
    for (std::uint32_t row = 0; row < 5'000; ++row) {
        text += line_of(row, 20);
    }
    write(text);
    for (int i = 0; i < 20; ++i) {
        EXPECT_NE(open().next(), nullptr);
    }
}

// What run.json says of a run comes back to those who resume, repeat or report it; what is missing
// is named.

std::string run_json() {
    return R"({"schema":4,"arguments":["/t.jsonl","--speed=2"],"records":null,"labels":{"a":"b"},
      "segments":[
        {"run_id":"0badcafe","command":["t.jsonl"],"zero_monotonic_ns":5,
         "zero_utc_ns":1795258636606062515,"error_ns":40,"first_due_ns":0,"rows":9,
         "rows_interrupted":0},
        {"run_id":"0badcaff","command":["--resume","r"],"zero_monotonic_ns":-5,
         "zero_utc_ns":1795258635870072712,"error_ns":41,"first_due_ns":7,"rows":4,
         "rows_interrupted":2}],
      "trace":{"digest":"00000000000000ff","name":"t","dependencies":5},
      "plan":{"rows":9,"seed":7,"cache_salt":"s","schedule_digest":"8000000000000000","prompts_digest":null,
              "clamped_rows":null},
      "request":{"api":"openai-chat","model":"m","prompt":"text","words_digest":"0000000000000001",
                 "overhead_pre":3,"overhead_post":1,"max_concurrency":8,
                 "tokenizer":{"file":"/k.json"},
                 "goodput":{"ttft_ns":200,"tpot_ns":null,"e2e_ns":null,
                   "groups":[{"key":"kept.tier","value":"gold","ttft_ns":9,"tpot_ns":8,"e2e_ns":null}]}},
      "calibration":{"date":null,"why_not":"none","drift_ns":1,"rank_ns":2,"receive_delay_ns":3,
                     "wire_ns":4},
      "end":null})";
}

TEST(RunFacts, ReadsWhatLaterRunsNeed) {
    const RunFacts facts = read_alone(read_run_facts, run_json()).value();
    EXPECT_EQ(facts.arguments, (std::vector<std::string>{"/t.jsonl", "--speed=2"}));
    ASSERT_EQ(facts.segments.size(), 2u);
    EXPECT_EQ(facts.segments[1].clock.zero_monotonic_ns, -5);
    EXPECT_EQ(facts.segments[1].first_due_ns, 7);
    EXPECT_EQ(facts.segments[1].rows_interrupted, 2u);
    EXPECT_FALSE(facts.ended);
    EXPECT_EQ(facts.trace_digest, 255u);
    EXPECT_EQ(facts.schedule_digest, std::uint64_t{1} << 63);
    EXPECT_FALSE(facts.prompts_digest.has_value());
    const RunDescription& run = facts.info.run;
    EXPECT_EQ(std::tuple(run.seed, run.trace_dependencies, run.cache_salt), std::tuple(7, 5, "s"));
    EXPECT_FALSE(facts.dataset_digest.has_value());
    EXPECT_EQ(facts.overhead.pre, 3u);
    ASSERT_EQ(facts.goodput.size(), 2u);
    EXPECT_EQ(facts.goodput[0].key->member, "tier");
    EXPECT_EQ(facts.goodput[0].value, "gold");
    EXPECT_EQ(facts.goodput[0].limits.tpot_ns, 8);
    EXPECT_FALSE(facts.goodput[1].key);
    EXPECT_EQ(facts.goodput[1].limits.ttft_ns, 200);
    EXPECT_FALSE(facts.goodput[1].limits.tpot_ns.has_value());
    EXPECT_EQ(std::tuple(facts.info.tokenizer_id, facts.info.max_concurrency, facts.info.date),
              std::tuple("/k.json", 8u, "20261121-105716"));
    EXPECT_EQ(facts.calibration.why_not, "none");
    EXPECT_EQ(facts.calibration.limits.rank_ns, 2);
    EXPECT_EQ(facts.calibration.limits.receive_delay_ns, 3);
    EXPECT_EQ(facts.calibration.limits.wire_ns, 4);
    EXPECT_EQ(judge_run(facts.calibration, {}, {}, {}).verdict, Verdict::uncalibrated);
}

TEST(RunFacts, SaysHowItWasCalibratedInEachSchema) {
    CalibrationFacts facts{.date = "2026-11-21T03:45:12Z"};
    EXPECT_EQ(how_calibrated(facts), "calibrated at 2026-11-21T03:45:12Z");
    facts.measured_ns = 1'860'000'000;
    facts.taken_share = noise_max;
    EXPECT_EQ(how_calibrated(facts), "calibrated for 1.9 s before this run");
    facts.taken_share = 0.5;
    EXPECT_EQ(how_calibrated(facts),
              "calibrated for 1.9 s before this run, while others used 50.0 % of the CPU");
    EXPECT_EQ(judge_run(facts, {}, {}, {}).reasons.back(), how_calibrated(facts));
    // A run is judged by the limits that it had; one of before there was a limit on the wire has
    // none. Nor have runs of before there were templates such a key.
    const auto with = [](const std::string& before, const std::string& more) {
        return read_alone(read_run_facts, replaced(run_json(), before, more + before)).value();
    };
    const CalibrationFacts bar =
        with("\"drift_ns\"", R"("measured_ns":7,"taken_share":0.25,"drift_most_ns":9,)")
            .calibration;
    EXPECT_EQ(std::tuple(bar.measured_ns, bar.taken_share), std::tuple(7, 0.25));
    EXPECT_EQ(bar.limits.drift_most_ns, 9);
    EXPECT_EQ(read_alone(read_run_facts, replaced(run_json(), "\"wire_ns\"", "\"other\""))
                  .value()
                  .calibration.limits.wire_ns,
              0);
    const auto template_of = [&](const std::string& json) {
        return with("\"model\"", json).template_digest.value_or(0);
    };
    expect_each(template_of, gives("", 0u), gives("\"template\":null,", 0u),
                gives("\"template\":{\"file\":\"t\",\"digest\":\"00000000000000fe\"},", 254u));
    EXPECT_EQ(with("\"model\"", "\"dataset\":{\"file\":\"d\",\"digest\":\"00000000000000fd\"},")
                  .dataset_digest,
              253u);
}

TEST(RunFacts, RefusesWhatLacksAKeyOrIsCut) {
    const auto error_with = [](const std::string& from, const std::string& to) {
        const Result<RunFacts> read = read_alone(read_run_facts, replaced(run_json(), from, to));
        EXPECT_FALSE(read) << to;
        return read ? Error{} : read.error();
    };
    EXPECT_STREQ(error_with("\"arguments\"", "\"x\"").doing, "arguments");
    EXPECT_STREQ(error_with("00000000000000ff", "ff").doing, "digest");
    EXPECT_EQ(error_with("8000000000000000", "800000000000000g").code, ErrorCode::out_of_range);
    EXPECT_STREQ(error_with("\"model\":\"m\"", "\"model\":7").doing, "model");
    EXPECT_STREQ(error_with("\"overhead_pre\":3", "\"overhead_pre\":4294967296").doing,
                 "overhead_pre");
    EXPECT_STREQ(error_with("\"seed\":7", "\"seed\":-7").doing, "seed");
    EXPECT_EQ(error_with("\"rows\":4", "\"rows\":-4").code, ErrorCode::out_of_range);
    EXPECT_EQ(error_with("{\"schema\"", "[{\"schema\"").code, ErrorCode::bad_json);
    EXPECT_STREQ(error_with("[\"/t.jsonl\"", "[7").doing, "arguments");
    EXPECT_STREQ(error_with("\"segments\":[", "\"segments\":[],\"x\":[").doing, "segments");
    EXPECT_STREQ(error_with("\"date\":null", "\"date\":7").doing, "date");
    EXPECT_STREQ(error_with("\"records\":null", "\"records\":7").doing, "records");
    // Cut anywhere, it is refused and not misread.
    const std::string text = run_json();
    for (std::size_t cut = 0; cut < text.size(); ++cut) {
        EXPECT_FALSE(read_alone(read_run_facts, text.substr(0, cut))) << cut;
    }
}

// What a merged run says of its shards is read back as it was written; what is no shard is refused.

Result<std::optional<ShardFacts>> shard_of(const std::string& shard, const std::string& meeting) {
    static JsonDocument document;
    const Result<JsonValue> root =
        document.parse("{\"shard\":" + shard + ",\"meeting\":" + meeting + "}");
    EXPECT_TRUE(root) << shard << meeting;
    return read_shard(root.value().find("shard"), root.value().find("meeting"));
}

constexpr const char* shard = R"({"index":1,"count":2,"from":"--shard","plan_rows":9})";

TEST(ShardFacts, AreReadOrRefusedAndTellTheClock) {
    EXPECT_FALSE(shard_of("null", "null").value());
    const ShardFacts facts = *shard_of(shard, "null").value();
    EXPECT_EQ(std::tuple(facts.index, facts.count, facts.plan_rows), std::tuple(1U, 2U, 9U));
    EXPECT_FALSE(facts.clock);
    // Clocks move against each other during a run: what holds both exchanges is what is known.
    const auto clock_of = [](const std::string& clock) {
        return shard_of(shard, "{\"clock\":" + clock + "}").value()->clock;
    };
    const std::string before = R"({"offset_ns":100,"error_ns":10,"round_trip_ns":20})";
    EXPECT_EQ(clock_of("{\"before\":" + before + ",\"after\":null}")->error_ns, 10);
    const ShardClock both =
        *clock_of("{\"before\":" + before + R"(,"after":{"offset_ns":140,"error_ns":20}})");
    EXPECT_EQ(both.offset_ns, 125);  // 90 to 160
    EXPECT_EQ(both.error_ns, 35);
    const std::optional<ShardClock> kernel = clock_of(R"({"before":null,"kernel_error_ns":7})");
    EXPECT_EQ(std::tuple(kernel->error_ns, kernel->offset_ns), std::tuple(7, 0));
    EXPECT_FALSE(clock_of(R"({"before":null,"after":null,"kernel_error_ns":null})"));
    // Shard 0 is what all others are compared with.
    const std::string host = R"({"role":"host","clock":{"before":null,"after":null,)"
                             R"("kernel_error_ns":9000000}})";
    EXPECT_EQ(shard_of(shard, host).value()->clock->error_ns, 0);
    for (const char* const wrong :
         {"[]", "7", "true", R"({"index":0,"count":2})", R"({"index":2,"count":2,"plan_rows":9})",
          R"({"index":0,"count":0,"plan_rows":9})", R"({"index":0,"count":65537,"plan_rows":9})",
          R"({"index":-1,"count":2,"plan_rows":9})", R"({"index":0.5,"count":2,"plan_rows":9})",
          R"({"index":0,"count":2,"plan_rows":4294967296})"}) {
        EXPECT_FALSE(shard_of(wrong, "null")) << wrong;
    }
    for (const char* const wrong : {R"({"offset_ns":9223372036854775807,"error_ns":1})",
                                    R"({"offset_ns":1,"error_ns":-1})", R"({"offset_ns":1})"}) {
        EXPECT_FALSE(shard_of(shard, std::string("{\"clock\":{\"before\":") + wrong + "}}"))
            << wrong;
    }
}

TEST(ShardFacts, AMergedRunIsReadBack) {
    MergedRun run{.count = 2, .rows = 9, .rows_missing = 4, .clock_error_max_ns = 1'000};
    run.shards.resize(2);
    run.shards[0].folder = "a \"b\"";
    run.shards[0].run_id = "12345678";
    run.shards[0].ended = false;
    run.shards[0].rows = 5;
    run.shards[0].not_reported = 2;
    run.shards[0].rows_left = 1;
    run.shards[0].all_known = false;
    run.shards[0].verdict = "host-noisy";
    run.shards[0].reasons = {"one", "two"};
    run.shards[0].zero_utc_ns = 77;
    run.shards[0].clock = ShardClock{-3, 4};
    run.shards[1].index = 1;
    run.shards[1].verdict = "";
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    write_merged(json, run);
    json.end_object();
    const std::optional<MergedRun> read = read_merged(JsonText(text).root.find("merged")).value();
    std::string again;
    JsonWriter second(again);
    second.begin_object();
    write_merged(second, *read);
    second.end_object();
    EXPECT_EQ(again, text);
    EXPECT_TRUE(read->shards[1].is_missing());
    EXPECT_EQ(read->not_reported(), 6U);
}

}  // namespace
}  // namespace driftless
