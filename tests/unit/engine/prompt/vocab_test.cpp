// The word lists are what they promise: distinct, of known length, safe where they must be.
#include "engine/prompt/vocab.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace driftless {
namespace {

// 512 distinct words of three lower-case letters, four bytes with the blank.
TEST(WordTable, BuiltInHas512DistinctFourByteWords) {
    const WordTable& table = WordTable::built_in();
    ASSERT_EQ(table.size(), 512U);
    EXPECT_EQ(table.index_bits(), 9U);
    EXPECT_EQ(table.uniform_length(), 4U);
    EXPECT_EQ(table.separator(), ' ');
    std::set<std::string_view> words;
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        const std::string_view word = table.word(i);
        EXPECT_EQ(word.size(), 3U);
        EXPECT_TRUE(std::all_of(word.begin(), word.end(), [](char c) {
            return c >= 'a' && c <= 'z';
        })) << word;
        words.insert(word);
    }
    EXPECT_EQ(words.size(), 512U);
}

// Of the list in token-exact.md section 14, the words up to "zip" (475 of them) stand alone; those
// that may open a prompt are among them.
TEST(WordTable, BuiltInOpensPromptsWithStrictWordsOnly) {
    const WordTable& table = WordTable::built_in();
    EXPECT_EQ(table.word(0), "abs");
    EXPECT_EQ(table.word(474), "zip");
    EXPECT_EQ(table.word(475), "aid");
    EXPECT_EQ(table.word(511), "yet");
    EXPECT_EQ(table.first_bits(), 8U);
    EXPECT_EQ(table.openers(), 475U);
}

// Token ids are 4,096 consecutive numbers, at both ends of what --ids-from takes.
TEST(WordTable, TokenIdsAreConsecutiveDecimals) {
    for (const std::uint32_t from : {0U, 1000U, 8000U, WordTable::ids_from_max}) {
        const WordTable table = WordTable::token_ids(from);
        ASSERT_EQ(table.size(), 4096U);
        EXPECT_EQ(table.separator(), ',');
        for (std::uint32_t i = 0; i < table.size(); ++i) {
            ASSERT_EQ(table.word(i), std::to_string(from + i));
        }
    }
    EXPECT_EQ(WordTable::token_ids(1000).uniform_length(), 5U);
    EXPECT_EQ(WordTable::token_ids(8000).uniform_length(), 0U) << "four digits and five";
}

// Dropping words leaves the largest power of two of the rest, in order, and openers that were
// openers before; below 256 words, or two openers, nothing.
TEST(WordTable, DropsWords) {
    const WordTable& table = WordTable::built_in();
    EXPECT_EQ(table.without({})->digest(), table.digest());
    const std::uint32_t two[] = {0, 300};
    const WordTable less = table.without(two).value();
    EXPECT_EQ(less.size(), 256u);
    EXPECT_EQ(less.word(0), "acc");
    EXPECT_EQ(less.word(255), table.word(256));
    EXPECT_EQ(less.openers(), 256u);
    EXPECT_EQ(less.first_bits(), 8u);
    EXPECT_NE(less.digest(), table.digest());
    std::vector<std::uint32_t> dropped(256);
    std::iota(dropped.begin(), dropped.end(), 0u);
    const WordTable half = table.without(dropped).value();
    EXPECT_EQ(half.size(), 256u);
    EXPECT_EQ(half.word(255), "yet");
    EXPECT_EQ(half.openers(), 475u - 256u);
    EXPECT_EQ(half.first_bits(), 7u);
    dropped.push_back(256);
    EXPECT_FALSE(table.without(dropped).has_value()) << "255 words are left";
    std::vector<std::uint32_t> strict(474);
    std::iota(strict.begin(), strict.end(), 0u);
    EXPECT_FALSE(table.without(strict).has_value());
}

// A slot is the separator and the word, stored as they stand.
TEST(WordTable, SlotsAreReadyToStore) {
    const WordTable& table = WordTable::built_in();
    const std::uint64_t slot = table.slot(1);
    char bytes[8];
    std::memcpy(bytes, &slot, sizeof bytes);
    EXPECT_EQ(std::string_view(bytes, table.length(1)), " acc");
}

}  // namespace
}  // namespace driftless
