// Prompts of a preflight begin with its opener, and words that were dropped are in none.
#include "engine/preflight/probe_prompts.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace driftless {
namespace {

// Until another word is set, the first of the table opens.
TEST(ProbePrompts, BeginWithTheOpener) {
    const WordTable& words = WordTable::built_in();
    const auto word = [&words](std::uint32_t index) { return std::string(words.word(index)); };
    const std::string blank(1, words.separator());
    const std::vector<std::uint32_t> two{5, 3};
    ProbePrompts prompts(words);
    EXPECT_EQ(prompts.one_word(), word(0));
    EXPECT_EQ(prompts.prompt_of({}), word(0));
    prompts.open_with(7);
    EXPECT_EQ(prompts.opener(), 7U);
    EXPECT_EQ(prompts.prompt_of(two), word(7) + blank + word(5) + blank + word(3));
}

TEST(ProbePrompts, LeaveOutDroppedWords) {
    const WordTable& words = WordTable::built_in();
    const ProbePrompts prompts(words);
    EXPECT_EQ(prompts.words_without({}).size(), words.size());
    const std::vector<std::uint32_t> dropped{0, 2, words.size() - 1};
    const std::vector<std::uint32_t> kept = prompts.words_without(dropped);
    ASSERT_EQ(kept.size(), words.size() - 3);
    EXPECT_EQ(kept[0], 1U);
    EXPECT_EQ(kept[1], 3U);
    EXPECT_EQ(kept.back(), words.size() - 2);
}

}  // namespace
}  // namespace driftless
