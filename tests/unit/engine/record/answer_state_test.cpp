// A long answer leaves no memory to the rows after it.
#include "engine/record/answer_state.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

TEST(AnswerState, KeepsNoMemoryOfALongOne) {
    AnswerState answer;
    answer.reset(true);
    answer.text.content.assign(1 << 20, 'x');
    answer.text.reasoning.assign(100, 'x');
    answer.chunk_stamps.resize(100'000);
    answer.chunk_tokens.resize(100'000);
    answer.reset(true);
    EXPECT_LE(answer.text.content.capacity(), 64U * 1024);
    EXPECT_GE(answer.text.reasoning.capacity(), 100U) << "a short one's serves the next";
    EXPECT_LE(answer.chunk_stamps.capacity(), 8U * 1024);
    EXPECT_LE(answer.chunk_tokens.capacity(), 8U * 1024);
    EXPECT_EQ(answer.first_token_ns, no_stamp);
}

}  // namespace
}  // namespace driftless
