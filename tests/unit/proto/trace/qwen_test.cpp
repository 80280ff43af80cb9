// Qwen (Bailian) rows: seconds, blocks of 16, sessions by chains of parents.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/trace/formats.hpp"
#include "tests/unit/proto/trace/plain_ids.hpp"
#include "tests/unit/proto/trace/reading.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

std::string qwen_row(int chat, int parent, const std::string& time, int input, int turn,
                     const std::string& ids) {
    return R"({"chat_id": )" + std::to_string(chat) + R"(, "parent_chat_id": )" +
           std::to_string(parent) + R"(, "timestamp": )" + time + R"(, "input_length": )" +
           std::to_string(input) + R"(, "output_length": 132, "type": "text", "turn": )" +
           std::to_string(turn) + R"(, "hash_ids": [)" + ids + "]}";
}

// Fixture 3: an id at two positions; a child that shares all but its parent's last block.
TEST(Qwen, ReadsContentIdsAndParents) {
    const ReadTrace got =
        read({qwen_row(55, -1, "0.0", 33, 1, "7, 8, 7"), qwen_row(56, -1, "1.5", 16, 1, "8"),
              qwen_row(159, 55, "61.114", 50, 2, "7, 8, 9, 10")});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.format, "qwen");
    EXPECT_EQ(got.trace.time_unit, "s");
    EXPECT_EQ(got.trace.block_size, 16U);
    EXPECT_EQ(got.trace.tail_rule, TailRule::ceil);
    EXPECT_EQ(plain_ids(got.trace.ids), (std::vector<std::uint64_t>{7, 8, 7, 8, 7, 8, 9, 10}));
    const TraceRow& child = got.trace.rows[2];
    EXPECT_EQ(child.at_ns, 61'114'000'000);
    EXPECT_EQ(child.turn, 2U);
    EXPECT_EQ(got.trace.sessions[child.session], "55");
    EXPECT_EQ(got.trace.sessions.size(), 2U);
    ASSERT_EQ(got.trace.dependencies_of(child).size(), 1U);
    EXPECT_EQ(got.trace.dependencies_of(child)[0].on, 0U);
    EXPECT_EQ(got.trace.unknown_keys, 0U);
}

// A parent that is not in the file is counted; the row is kept.
TEST(Qwen, KeepsOrphans) {
    const ReadTrace got = read({qwen_row(55, 3, "0.0", 16, 2, "7")});
    ASSERT_TRUE(got.usable) << got.first_error();
    ASSERT_EQ(got.trace.remarks.size(), 1U);
    EXPECT_EQ(got.trace.remarks[0].count, 1U);
}

TEST(Qwen, RefusesWhatContradictsItself) {
    EXPECT_TRUE(says(read({qwen_row(1, -1, "0", 33, 1, "7, 8")}).first_error(), "needs 3"));
    ReadOptions options;
    options.format = "bailian";
    EXPECT_EQ(read({row("0", 16, 1, "0")}, options).errors.list[0].field, "chat_id");
    const std::string whole = qwen_row(1, -1, "0", 16, 1, "7");
    const std::string without = whole.substr(0, whole.find(R"(, "hash_ids")")) + "}";
    EXPECT_TRUE(says(read({whole, without}, options).first_error(), "hash_ids is missing here"));
}

// AIPerf's tutorial has rows without block ids: they are conversations all the same.
TEST(Qwen, IsKnownWithoutIds) {
    const ReadTrace got = read({R"({"chat_id":1,"parent_chat_id":-1,"timestamp":1.5,)"
                                R"("input_length":5,"output_length":1,"type":"text","turn":1})"});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.format, "qwen");
}

}  // namespace
}  // namespace driftless
