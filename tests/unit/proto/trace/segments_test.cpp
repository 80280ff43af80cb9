// Prompts of messages whose lengths alone are known: block ids that share what the messages share.
#include "proto/trace/segments.hpp"

#include <gtest/gtest.h>

#include <vector>

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

}  // namespace
}  // namespace driftless
