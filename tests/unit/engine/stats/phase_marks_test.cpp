// What rules ask of a run: the reach of the phase, its users, overflows, and trees' first requests.
#include "engine/stats/phase_marks.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace driftless
