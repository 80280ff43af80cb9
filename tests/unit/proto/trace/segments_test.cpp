// Prompts of messages whose lengths alone are known: block ids that share what the messages share.

#include "proto/trace/segments.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/made.hpp"
#include "tests/unit/proto/trace/plain_ids.hpp"
#include "tests/unit/proto/trace/reading.hpp"
#include "tests/unit/proto/trace/round_trip.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

constexpr std::uint64_t behind = ~std::uint64_t{0};

std::vector<std::uint64_t> ids_of(const SegmentedConversation& talk, std::uint32_t block_size) {
    BlockIds arena;
    RowIds ids(arena);
    ids.begin();
    talk.add_ids(block_size, ids);
    std::vector<std::uint64_t> all;
    for (std::size_t i = 0; i < arena.size(); ++i) {
        all.push_back(arena[i]);
    }
    return all;
}

std::size_t shared(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
    std::size_t same = 0;
    while (same < std::min(a.size(), b.size()) && a[same] == b[same]) {
        ++same;
    }
    return same;
}

SegmentedConversation talk_of(const std::vector<SegmentMessage>& messages) {
    SegmentedConversation talk;
    for (const SegmentMessage& one : messages) {
        talk.store(behind, one);
    }
    return talk;
}

// At one token a block an id is a token: two prompts begin alike to the very token.
TEST(Segments, ShareTheirBeginningsToWholeBlocks) {
    const auto first = talk_of({{{1, 33}}, {{2, 10}}});
    const auto second = talk_of({{{1, 33}}, {{2, 10}}, {{3, 100}}});
    const auto longer = talk_of({{{1, 40}}, {{2, 10}}});
    EXPECT_EQ(ids_of(first, 16).size(), 3U) << "the partial block has an id";
    EXPECT_EQ(shared(ids_of(first, 16), ids_of(second, 16)), 2U);
    EXPECT_EQ(shared(ids_of(first, 1), ids_of(second, 1)), 43U);
    EXPECT_EQ(shared(ids_of(first, 16), ids_of(first, 16)), 3U) << "equal prompts share all";
    EXPECT_EQ(shared(ids_of(first, 1), ids_of(longer, 1)), 33U) << "a longer one of one identity";
    EXPECT_EQ(shared(ids_of(first, 16), ids_of(longer, 16)), 2U);
    EXPECT_EQ(ids_of(talk_of({{{1, 4096}}, {{2, 1}}}), 16).size(), 257U) << "more than a batch";
    EXPECT_TRUE(ids_of(SegmentedConversation(), 16).empty());
}

// An edited message: what stood before it is still shared.
TEST(Segments, ReplaceAMessage) {
    auto talk = talk_of({{{1, 16}}, {{2, 16}}, {{3, 16}}});
    const auto before = ids_of(talk, 16);
    talk.store(1, {{9, 32}});
    EXPECT_EQ(talk.tokens(), 64U);
    const auto after = ids_of(talk, 16);
    EXPECT_EQ(shared(before, after), 1U);
    EXPECT_EQ(before[2], after[3]) << "the message behind it is the same";
}

// The lengths that a server counted: a system prompt takes the difference of a first request.
TEST(Segments, SettleFirstInTheSystemPrompt) {
    SegmentedConversation talk;
    talk.begin_with_system();
    talk.store(behind, {{1, 20}});
    talk.store(behind, {{2, 5}});
    talk.settle(30);
    EXPECT_EQ(shared(ids_of(talk, 1), ids_of(talk_of({{{1, 25}}, {{2, 5}}}), 1)), 30U);
    talk.settle(33);
    EXPECT_EQ(shared(ids_of(talk, 1), ids_of(talk_of({{{1, 25}}, {{2, 8}}}), 1)), 33U);
}

TEST(Segments, SettleInAMessageThatWasNotCounted) {
    auto talk = talk_of({{{1, 20}}, {{2, 0}, false}, {{3, 5}}});
    talk.settle(40);
    EXPECT_EQ(shared(ids_of(talk, 1), ids_of(talk_of({{{1, 20}}, {{2, 15}}, {{3, 5}}}), 1)), 40U);
    talk.settle(41);
    EXPECT_EQ(shared(ids_of(talk, 1), ids_of(talk_of({{{1, 20}}, {{2, 15}}, {{3, 6}}}), 1)), 41U)
        << "it is counted now";
}

TEST(Segments, SettleFromTheEndOn) {
    auto talk = talk_of({{{1, 20}}, {{2, 10}}, {{3, 4}}});
    talk.settle(25);
    EXPECT_EQ(talk.tokens(), 25U);
    EXPECT_EQ(shared(ids_of(talk, 1), ids_of(talk_of({{{1, 20}}, {{2, 5}}}), 1)), 25U);
    SegmentedConversation small;
    small.begin_with_system();
    small.store(behind, {{1, 3}});
    small.store(behind, {{2, 10}});
    small.settle(5);  // the system prompt has not so many
    EXPECT_EQ(shared(ids_of(small, 1), ids_of(talk_of({{{1, 3}}, {{2, 2}}}), 1)), 5U);
}

// Sessions whose rows hold only what is new: the prompt of a turn is all that was said before it,
// answers included, and shares it with the prompts before. What the file does not decide is asked.

std::string turn(const char* session, int input, int output, const std::string& ids) {
    return std::string(R"({"session_id":")") + session + R"(","timestamp":0,"input_length":)" +
           std::to_string(input) + R"(,"output_length":)" + std::to_string(output) +
           (ids.empty() ? "" : R"(,"hash_ids":[)" + ids + "]") + "}";
}

ReadTrace read_as(const std::vector<std::string>& lines, const char* format,
                  std::uint32_t block_size = 0) {
    ReadOptions options{.format = format, .block_size = block_size};
    return read(lines, options);
}

std::vector<std::uint32_t> inputs(const Trace& trace) {
    return members_of(trace.rows, &TraceRow::input_length);
}

/// Full blocks at the beginning of both prompts.
std::size_t shared_blocks(const Trace& trace, std::size_t a, std::size_t b) {
    const BlockIdSpan left = trace.ids_of(trace.rows[a]);
    const BlockIdSpan right = trace.ids_of(trace.rows[b]);
    std::size_t same = 0;
    while (same < std::min(left.size(), right.size()) && left[same] == right[same]) {
        ++same;
    }
    return same;
}

// Dynamo's pull request 11060: 4190 tokens, an answer of 592, 592 new ones: the prompt has 5374.
TEST(SessionPieces, PromptsAreAllTurnsBefore) {
    const ReadTrace got = read({turn("s", 4190, 592, "0,1,2,3,4,5,6,7,8"),
                                turn("s", 592, 16, "9,10"), turn("s", 100, 5, "11")});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.format, "mooncake-delta");
    EXPECT_EQ(got.trace.block_size, 16U);
    EXPECT_EQ(inputs(got.trace), (std::vector<std::uint32_t>{4190, 5374, 5374 + 16 + 100}));
    for (const TraceRow& row : got.trace.rows) {
        EXPECT_EQ(row.ids_count, (row.input_length + 15) / 16);
    }
    EXPECT_EQ(shared_blocks(got.trace, 0, 1), 4190U / 16);
    EXPECT_EQ(shared_blocks(got.trace, 1, 2), 5374U / 16) << "the answer stays the same";
    EXPECT_EQ(canonical_round_trip(got.trace), "");
    ASSERT_FALSE(got.trace.remarks.empty());
    EXPECT_EQ(got.trace.remarks.back().count, 2U);
}

// Blocks that sessions and single rows have in common are the same wherever a piece begins so.
TEST(SessionPieces, EqualIdsAreEqualTokens) {
    const ReadTrace got =
        read({turn("a", 1024, 8, "1,2"), turn("a", 8, 8, "3"), turn("b", 1030, 8, "1,2,4"),
              row("0", 512, 1, "1"), turn("b", 20, 8, "5")});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(shared_blocks(got.trace, 0, 2), 64U);
    EXPECT_EQ(shared_blocks(got.trace, 0, 3), 32U);
    EXPECT_EQ(shared_blocks(got.trace, 1, 4), 64U) << "answers of two rows are two texts";
}

// The second piece begins inside a block: sizes around the border of one.
TEST(SessionPieces, PiecesThatEndInsideABlock) {
    for (const int first : {15, 16, 17, 511, 512, 513}) {
        const std::string ids = first > 512 ? "0,1" : "0";
        const ReadTrace got =
            read_as({turn("s", first, 1, ids), turn("s", 3, 1, "7")}, "mooncake-delta");
        ASSERT_TRUE(got.usable) << got.first_error();
        EXPECT_EQ(got.trace.rows[1].input_length, static_cast<std::uint32_t>(first + 4));
        EXPECT_EQ(shared_blocks(got.trace, 0, 1), static_cast<std::size_t>(first / 16)) << first;
    }
    const ReadTrace fine =
        read_as({turn("s", 30, 1, "0,1,2,3"), turn("s", 8, 1, "4")}, "mooncake_delta", 8);
    ASSERT_TRUE(fine.usable) << fine.first_error();
    EXPECT_EQ(fine.trace.block_size, 8U) << "no larger than the file's own";
    EXPECT_EQ(shared_blocks(fine.trace, 0, 1), 3U);
}

// Lengths alone: prompts that do not even repeat the row before are pieces; they share prefixes.
TEST(SessionPieces, LengthsAlone) {
    const ReadTrace got =
        read({turn("s", 500, 50, ""), turn("s", 100, 50, ""), turn("t", 30, 5, "")});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(inputs(got.trace), (std::vector<std::uint32_t>{500, 650, 30}));
    EXPECT_EQ(shared_blocks(got.trace, 0, 1), 31U);
    EXPECT_EQ(shared_blocks(got.trace, 0, 2), 0U);
    const ReadTrace grown = read({turn("s", 100, 50, ""), turn("s", 150, 50, "")});
    ASSERT_TRUE(grown.usable) << grown.first_error();
    EXPECT_EQ(grown.trace.format, "mooncake") << "each row can hold the row before and its answer";
    EXPECT_EQ(inputs(grown.trace), (std::vector<std::uint32_t>{100, 150}));
    EXPECT_EQ(grown.trace.block_size, 0U);
}

// Whole prompts begin with the row before; one in ten may be a context that was compacted.
TEST(SessionPieces, WholePromptsStayAsTheyAre) {
    std::vector<std::string> lines;
    for (int i = 0; i < 10; ++i) {
        lines.push_back(turn("s", 600 + i, 5, "1,2"));
    }
    lines.push_back(turn("s", 20, 5, "9"));
    const ReadTrace got = read(lines);
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.format, "mooncake");
    EXPECT_EQ(got.trace.block_size, 512U);
    EXPECT_EQ(got.trace.rows[10].input_length, 20U);
    const ReadTrace alone = read({turn("a", 600, 5, "1,2"), turn("b", 20, 5, "3")});
    ASSERT_TRUE(alone.usable) << "sessions of one row read the same both ways";
    EXPECT_EQ(alone.trace.format, "mooncake");
}

TEST(SessionPieces, AsksWhereTheFileDoesNotDecide) {
    const std::vector<std::string> equal = {turn("s", 20, 5, "1"), turn("s", 20, 5, "2")};
    EXPECT_FALSE(read(equal).usable) << "they share nothing, and none is shorter";
    EXPECT_FALSE(read({turn("s", 20, 5, ""), turn("s", 22, 5, "")}).usable)
        << "nor with its answer";
    EXPECT_TRUE(read({turn("s", 20, 5, ""), turn("s", 25, 5, "")}).usable) << "the answer is in it";
    EXPECT_EQ(inputs(read_as(equal, "mooncake").trace), (std::vector<std::uint32_t>{20, 20}));
    EXPECT_EQ(inputs(read_as(equal, "mooncake-delta").trace), (std::vector<std::uint32_t>{20, 45}));
    const ReadTrace got =
        read({turn("s", 600, 5, "1,2"), turn("s", 600, 5, "1,3"), turn("s", 20, 5, "4")});
    EXPECT_FALSE(got.usable) << "one that begins so, and one that does not";
    EXPECT_TRUE(says(got.first_error(),
                     "choose --format mooncake if they are whole prompts, or "
                     "--format mooncake-delta"));
}

TEST(SessionPieces, RefusesWhatHasNoPrompt) {
    ReadOptions options{.format = "mooncake-delta", .output_free = true};
    const std::string unknown = R"({"session_id":"s","timestamp":0,"input_length":9})";
    EXPECT_TRUE(says(read({unknown, unknown}, options).first_error(), "--default-output N"));
    EXPECT_TRUE(read({turn("s", 9, 1, ""), unknown}, options).usable)
        << "its last answer is no part";
    const ReadTrace mixed =
        read_as({turn("s", 9, 1, ""), R"({"session_id":"s","timestamp":0,"text_input":"x"})",
                 turn("s", 9, 1, "")},
                "mooncake-delta");
    EXPECT_TRUE(says(mixed.first_error(), "both lengths and text"));
    const ReadTrace huge =
        read_as({turn("s", 1 << 27, 1, ""), turn("s", 1, 1, "")}, "mooncake-delta");
    EXPECT_TRUE(says(huge.first_error(), "134217730 tokens with the turns before"));
}

std::string said(const char* session, const std::string& text) {
    return std::string(R"({"session_id":")") + session + R"(","timestamp":0,"output_length":2,)" +
           R"("text_input":")" + text + R"("})";
}

// AIPerf sends a session's texts as new messages, with the answers between; a text that repeats the
// one before is a whole prompt, and stays a request of its own.
TEST(SessionPieces, TextsOfSessionsAreNewMessages) {
    const std::vector<std::string> lines = {said("s", R"(a \"b\")"), said("s", "c"), said("t", "d"),
                                            row("0", 5, 1, "")};
    const ReadTrace got = read({lines[0], lines[1], lines[2]}, closed_sessions());
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.format, "mooncake-delta");
    EXPECT_TRUE(got.trace.deltas);
    EXPECT_EQ(got.trace.body_of(got.trace.rows[0]),
              R"({"messages":[{"role":"user","content":"a \"b\""}]})");
    EXPECT_EQ(got.trace.body_of(got.trace.rows[1]),
              R"({"messages":[{"role":"user","content":"c"}]})");
    EXPECT_EQ(got.trace.remarks.back().count, 1U);
    EXPECT_EQ(canonical_round_trip(got.trace), "");
    const ReadTrace grown = read({said("s", "a"), said("s", "a b"), said("s", "a b c")});
    ASSERT_TRUE(grown.usable) << grown.first_error();
    EXPECT_EQ(grown.trace.format, "mooncake");
    EXPECT_FALSE(grown.trace.deltas);
    EXPECT_FALSE(read_as(lines, "mooncake").trace.deltas);
    const ReadTrace stated = read_as({said("s", "a"), said("s", "a b")}, "mooncake-delta");
    EXPECT_TRUE(stated.trace.deltas) << "as it was said";
    EXPECT_EQ(stated.trace.remarks.size(), 2U) << "and that they look like whole prompts";
    const ReadTrace some = read({said("s", "a"), said("s", "a b"), said("s", "c")});
    EXPECT_TRUE(says(some.first_error(),
                     "of 2 later texts of sessions, 1 begin with the text before; "
                     "choose --format mooncake"));
    EXPECT_EQ(some.errors.list[0].line, 3U);
    const ReadTrace mixed = read({said("s", "a"), said("s", "c"),
                                  R"({"session_id":"t","timestamp":0,"payload":{"prompt":"q"}})"});
    EXPECT_EQ(mixed.errors.list[0].line, 3U) << "a whole request";
}

// Other formats say that rows may be pieces, and how they are read as such.
TEST(SessionPieces, OtherFormatsSayWhatTheyDoNotRead) {
    const auto aibrix = [](int at, int tokens) {
        return R"({"timestamp":)" + std::to_string(at) + R"(,"requests":[{"prompt_length":)" +
               std::to_string(tokens) + R"(,"output_length":4,"session_id":0}]})";
    };
    const ReadTrace shorter = read({aibrix(0, 101), aibrix(9000, 30)});
    ASSERT_EQ(shorter.trace.remarks.size(), 1U) << shorter.first_error();
    EXPECT_TRUE(says(std::string(shorter.trace.remarks[0].many), "--to mooncake"));
    EXPECT_TRUE(read({aibrix(0, 101), aibrix(9000, 140)}).trace.remarks.empty());
    const auto words = [](int at, const std::string& text) {
        return R"({"timestamp":)" + std::to_string(at) + R"(,"requests":[{"prompt":")" + text +
               R"(","session_id":0}]})";
    };
    EXPECT_EQ(read({words(0, "a"), words(9000, "b")}).trace.remarks.size(), 1U);
    EXPECT_TRUE(read({words(0, "a"), words(9000, "a b")}).trace.remarks.empty());
}

}  // namespace

}  // namespace driftless
