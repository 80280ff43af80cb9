// The search for words that may open a prompt asks in order, keeps what is one token, and ends.
#include <gtest/gtest.h>

#include <numeric>

#include "engine/server/word_search.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

using Words = std::vector<std::uint32_t>;

/// Asks until the search is over; words below `good_from` cost two tokens.
FirstWords find_first_words(std::uint32_t words, std::uint32_t good_from,
                            const FirstWordsLimits& limits) {
    Words all(words);
    std::iota(all.begin(), all.end(), 0U);
    FirstWords first(all, limits);
    for (std::uint32_t i = 0; i < words; ++i) {
        if (const auto word = first.question()) {
            first.take(*word < good_from ? 2 : 1);
        }
    }
    EXPECT_FALSE(first.question());
    return first;
}

// One short of what is wanted, exactly that, and one more.
TEST(FirstWords, EndsWhenEnoughAreFound) {
    EXPECT_EQ(find_first_words(3, 0, {4, 100}).safe().size(), 3U);
    EXPECT_EQ(find_first_words(4, 0, {4, 100}).asked(), 4U);
    EXPECT_EQ(find_first_words(5, 0, {4, 100}).asked(), 4U);
}

// Words that are two tokens are passed over, and the number of questions is bounded.
TEST(FirstWords, PassesOverWordsThatAreSplit) {
    EXPECT_EQ(find_first_words(10, 3, {4, 100}).safe(), (Words{3, 4, 5, 6}));
    EXPECT_EQ(find_first_words(10, 3, {4, 6}).safe(), (Words{3, 4, 5}));
    EXPECT_TRUE(find_first_words(10, 10, {4, 6}).safe().empty());
    EXPECT_EQ(find_first_words(10, 10, {4, 6}).asked(), 6U);
}

}  // namespace
}  // namespace driftless
