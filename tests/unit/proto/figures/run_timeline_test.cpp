// What rules ask of a run: the reach of the phase, its users, overflows, and trees' first requests.

#include "proto/figures/run_timeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace driftless {

namespace {

Record sent(const char* tree, std::uint32_t request, std::int64_t cached) {
    Record record;
    record.tree = tree;
    record.request = request;
    record.user = 0;
    record.fired_ns = 1;
    record.input_length = 100;
    record.cached_tokens = cached;
    record.expected_cached_tokens = 10;
    return record;
}

// In whatever order records come, and in the warm-up as well: it primes what follows.
TEST(PhaseMarks, KeepsTheFirstRequestOfEachTree) {
    PhaseMarks marks;
    marks.add(sent("a", 3, 90));
    Record primer = sent("a", 1, 20);
    primer.phase = Phase::warmup;
    marks.add(primer);
    marks.add(sent("b", 2, 30));
    Record again = sent("a", 9, 5);
    again.pass = 1;
    marks.add(again);
    Record silent = sent("c", 4, 0);
    silent.cached_tokens.reset();
    marks.add(silent);
    const FirstTurnFigures turns = marks.figures().first_turns;
    EXPECT_EQ(turns.trees, 4U);
    EXPECT_EQ(turns.reported, 3U);
    EXPECT_EQ(turns.cached_tokens, 20U + 30U + 5U);
    EXPECT_EQ(turns.input_tokens, 300U);
    EXPECT_EQ(turns.expected_tokens, 30U);
}

TEST(PhaseMarks, ReachesAsFarAsTheMeasurement) {
    PhaseMarks marks;
    Record record = sent("a", 0, 0);
    record.first_token_ns = 50;
    record.last_token_ns = 70;
    record.user = 2;
    marks.add(record);
    record.first_token_ns = 60;
    record.last_token_ns.reset();
    record.user = 0;
    marks.add(record);
    record.phase = Phase::warmup;
    record.first_token_ns = 99;
    record.user = 7;
    marks.add(record);
    EXPECT_EQ(marks.figures().last_first_token_ns, 60);
    EXPECT_EQ(marks.figures().last_token_ns, 70);
    EXPECT_EQ(marks.figures().users, 2U);
}

// The four texts that AIPerf's AgentX knows, in any case, and nothing else.
TEST(PhaseMarks, KnowsServersWordsForAnOverflow) {
    for (const char* text :
         {"This model's Maximum Context length is 8192 tokens", "code: CONTEXT_LENGTH_EXCEEDED",
          "prompt is too long: 9 > 8", "exceeds the context length"}) {
        EXPECT_TRUE(is_context_overflow(text)) << text;
    }
    EXPECT_FALSE(is_context_overflow("context"));
    EXPECT_FALSE(is_context_overflow(""));
    EXPECT_FALSE(is_context_overflow("internal error"));
}

// How long a run was active, how many requests it had open, and its best second, over segments
// whose stamps overlap. Expectations are worked out by hand.

constexpr std::int64_t s = 1'000'000'000;

Record row_of(std::uint32_t segment, std::int64_t due_ns, std::int64_t fired_ns,
              std::int64_t ended_ns) {
    Record record;
    record.outcome = Outcome::ok;
    record.segment = segment;
    record.due_ns = due_ns;
    record.fired_ns = fired_ns;
    record.ended_ns = ended_ns;
    return record;
}

Record interrupted(std::uint32_t segment, std::int64_t due_ns, std::int64_t fired_ns) {
    Record record = row_of(segment, due_ns, fired_ns, 0);
    record.outcome = Outcome::interrupted;
    record.ended_ns.reset();
    record.has_chunks = false;
    return record;
}

RunTimelineFigures of(const std::vector<Record>& records) {
    RunTimeline forwards;
    RunTimeline backwards;
    for (std::size_t i = 0; i < records.size(); ++i) {
        forwards.add(records[i]);
        backwards.add(records[records.size() - 1 - i]);
    }
    EXPECT_EQ(forwards.figures().duration_ns, backwards.figures().duration_ns);
    EXPECT_EQ(forwards.figures().max_concurrent_requests,
              backwards.figures().max_concurrent_requests);
    return forwards.figures();
}

// One segment: from time 0, also where its first row left later, to the last stamp of any record.
TEST(RunTimeline, OneSegmentLastsFromTimeZero) {
    EXPECT_EQ(of({}).duration_ns, 0);
    EXPECT_EQ(of({row_of(0, 2 * s, 2 * s, 3 * s), row_of(0, s, s, 2 * s)}).duration_ns, 3 * s);
}

// A segment that was late when it was killed goes on where its held rows were due: its time and the
// time before are added up, for they followed one another.
TEST(RunTimeline, SegmentsThatOverlapAreAddedUp) {
    const std::vector<Record> records = {
        row_of(0, 0, 0, 10 * s),
        interrupted(0, s, 9 * s),
        row_of(1, 2 * s, 2 * s, 6 * s),  // held back before, and sent by the next segment
        row_of(1, 3 * s, 3 * s, 12 * s),
    };
    EXPECT_EQ(of(records).duration_ns, 10 * s + 10 * s);
}

// What nobody did between two segments is not time of the run, and rows that never left are none.
TEST(RunTimeline, GapsBetweenSegmentsAreLeftOut) {
    Record unseen;  // due when the run died, and given up
    unseen.outcome = Outcome::interrupted;
    unseen.segment = 0;
    unseen.due_ns = 3 * s;
    const std::vector<Record> records = {row_of(0, 0, 0, 2 * s), unseen,
                                         row_of(1, 5 * s, 5 * s, 7 * s)};
    EXPECT_EQ(of(records).duration_ns, 2 * s + 2 * s);
    EXPECT_EQ(of({unseen}).duration_ns, 0);
}

// An end makes room for what fires at the same instant; a nanosecond later it does not.
TEST(RunTimeline, PeakIsExact) {
    const auto peak = [](std::int64_t end_ns) {
        return of({row_of(0, 0, 0, end_ns), row_of(0, s, s, 2 * s)}).max_concurrent_requests;
    };
    EXPECT_EQ(peak(s - 1), 1u);
    EXPECT_EQ(peak(s), 1u);
    EXPECT_EQ(peak(s + 1), 2u);
}

// What a dying segment had open is not open in the next one.
TEST(RunTimeline, PeakIsOfOneSegment) {
    EXPECT_EQ(of({interrupted(0, 0, 0), interrupted(0, s, s), row_of(1, 2 * s, 2 * s, 3 * s)})
                  .max_concurrent_requests,
              2u);
    EXPECT_EQ(of({row_of(0, 0, 0, 5 * s), row_of(1, s, s, 3 * s), row_of(1, s, s, 4 * s)})
                  .max_concurrent_requests,
              2u);
}

// Whole answers (--no-stream) do not say when their tokens were made; no answer, no token.
TEST(RunTimeline, BestSecondOfWholeAnswersIsNotKnown) {
    Record failed = row_of(0, 0, 0, s);
    failed.outcome = Outcome::http_5xx;
    EXPECT_EQ(of({failed}).max_output_tokens_per_s, 0u);
    Record whole = row_of(0, s, s, 2 * s);
    whole.output_tokens = 7;
    EXPECT_FALSE(of({failed, whole}).max_output_tokens_per_s.has_value());
}

// A row that was given up before it was sent was never open; its time counts.
TEST(RunTimeline, RowsThatFailedBeforeTheyWereSent) {
    Record refused = row_of(0, s, 0, 4 * s);
    refused.fired_ns.reset();
    refused.outcome = Outcome::connect_failed;
    EXPECT_EQ(of({refused}).max_concurrent_requests, 0u);
    EXPECT_EQ(of({refused}).duration_ns, 4 * s);
}

// Shards go side by side: their segments are no parts of one time, and what they have open at once
// is open at once.
TEST(RunTimeline, ShardsGoSideBySide) {
    std::vector<Record> records = {
        row_of(0, 0, 0, 10 * s),
        row_of(0, s, s, 9 * s),
        row_of(0, 5 * s, 5 * s, 12 * s),
    };
    for (std::size_t i = 0; i < records.size(); ++i) {
        records[i].shard = static_cast<std::uint32_t>(i);
    }
    EXPECT_EQ(of(records).duration_ns, 12 * s);
    EXPECT_EQ(of(records).max_concurrent_requests, 3U);
    EXPECT_EQ(of(records).spans.size(), 1U);
}

// Two shards side by side, one of which was killed and finished later: that is a stretch of its
// own.
TEST(RunTimeline, AShardThatIsFinishedLaterIsNoPartOfTheFirst) {
    const auto of_shard = [](std::uint32_t shard, Record record) {
        record.shard = shard;
        return record;
    };
    RunTimeline timeline;
    timeline.add(of_shard(0, row_of(0, 0, 0, 4 * s)));
    timeline.add(of_shard(1, row_of(0, 1 * s, 1 * s, 3 * s)));
    EXPECT_EQ(timeline.figures().duration_ns, 4 * s);
    EXPECT_EQ(timeline.figures().max_concurrent_requests, 2u);
    timeline.add(of_shard(1, row_of(1, 2 * s, 2 * s, 5 * s)));
    EXPECT_EQ(timeline.figures().duration_ns, 7 * s);
    EXPECT_EQ(timeline.figures().max_concurrent_requests, 2u);
    EXPECT_FALSE(timeline.figures().sent_rate);
}

}  // namespace

}  // namespace driftless
