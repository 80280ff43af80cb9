// The search finds the words that a server does not count as one token, whatever else the server
// does, and says so where no answer can be trusted. Servers are a function of the words asked.
#include "engine/server/word_search.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "proto/core/hash.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

using Words = std::vector<std::uint32_t>;
using Verdict = WordSearch::Verdict;

/// A tokenizer: what single words cost more than one, and pairs that are one token.
struct Tokens {
    std::map<std::uint32_t, std::int64_t> extra;
    std::set<std::pair<std::uint32_t, std::uint32_t>> joined;

    std::int64_t operator()(std::span<const std::uint32_t> words) const {
        auto count = static_cast<std::int64_t>(words.size());
        for (std::size_t i = 0; i < words.size(); ++i) {
            const auto more = extra.find(words[i]);
            count += more == extra.end() ? 0 : more->second;
            if (i > 0 && joined.contains({words[i - 1], words[i]})) {
                --count;
            }
        }
        return count;
    }
};

/// Asks until the search is over. Every question stays within the limit.
template <typename Count>
WordSearch search(std::uint32_t words, Count count, WordSearchLimits limits = {}) {
    WordSearch search(words, limits);
    for (int i = 0; i < 20'000 && !search.question().empty(); ++i) {
        EXPECT_LE(search.question().size(), limits.group_words_max);
        search.take(count(search.question()));
    }
    EXPECT_NE(search.verdict(), Verdict::searching);
    return search;
}

// All words are good: two questions, in two orders.
TEST(WordSearch, GoodWordsTakeTwoQuestions) {
    std::vector<Words> asked;
    const WordSearch over = search(512, [&](std::span<const std::uint32_t> words) {
        asked.emplace_back(words.begin(), words.end());
        return static_cast<std::int64_t>(words.size());
    });
    EXPECT_EQ(over.verdict(), Verdict::exact);
    ASSERT_EQ(asked.size(), 2u);
    EXPECT_NE(asked[0], asked[1]);
    for (Words& words : asked) {
        EXPECT_EQ(std::set(words.begin(), words.end()).size(), 512u);
    }
    EXPECT_EQ(over.first_words(), 512);
    EXPECT_EQ(over.first_tokens(), 512);
}

// One bad word, wherever it is, costs some twenty questions; nothing else is dropped.
TEST(WordSearch, FindsOneBadWord) {
    for (const std::uint32_t bad : {0u, 1u, 255u, 256u, 511u}) {
        const WordSearch over = search(512, Tokens{{{bad, 1}}, {}});
        EXPECT_EQ(over.verdict(), Verdict::reduced);
        EXPECT_EQ(over.dropped(), Words{bad});
        EXPECT_LE(over.questions(), 2u + 2 * 9 + 2);
        EXPECT_EQ(over.first_tokens(), 513);
    }
}

// A hundred bad words, of one to three tokens more: those and no others, in bounded time, and the
// same ones each time.
TEST(WordSearch, FindsAHundredBadWords) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Random random(seed);
        Tokens tokens;
        while (tokens.extra.size() < 100) {
            tokens.extra[static_cast<std::uint32_t>(random.below(512))] =
                1 + static_cast<std::int64_t>(random.below(3));
        }
        Words expected;
        for (const auto& [word, more] : tokens.extra) {
            expected.push_back(word);
        }
        const WordSearch over = search(512, tokens);
        EXPECT_EQ(over.verdict(), Verdict::reduced);
        EXPECT_EQ(over.dropped(), expected);
        EXPECT_LT(over.questions(), 650u);
        EXPECT_EQ(search(512, tokens).questions(), over.questions());
    }
}

// 256 good words are enough, 255 are too few, and a server that knows none of them is left soon.
TEST(WordSearch, TooFewWordsAreNoTable) {
    for (const std::uint32_t bad : {256u, 257u, 512u}) {
        Tokens tokens;
        for (std::uint32_t i = 0; i < bad; ++i) {
            tokens.extra[511 - i] = 1;
        }
        const WordSearch over = search(512, tokens);
        EXPECT_EQ(over.verdict(), bad == 256 ? Verdict::reduced : Verdict::too_few) << bad;
        EXPECT_LT(over.questions(), 1100u);
    }
}

// A pair that joins hides a split word in one order, and not in the next.
TEST(WordSearch, JoinsDoNotHideSplits) {
    WordSearch probe(512, {});
    const Words order(probe.question().begin(), probe.question().end());
    Tokens tokens;
    tokens.extra[order[100]] = 1;
    tokens.joined = {{order[200], order[201]}};
    EXPECT_EQ(tokens(order), 512) << "the first order shows nothing";
    const WordSearch over = search(512, tokens);
    EXPECT_EQ(over.verdict(), Verdict::reduced);
    EXPECT_EQ(over.dropped(), Words{order[100]});
}

// One pair that joins is found where it stands side by side, also across the cut of two halves, and
// loses one word. Where every word joins many others, no order is clean.
TEST(WordSearch, WordsThatJoinAreDroppedOrRefused) {
    WordSearch probe(512, {});
    const Words order(probe.question().begin(), probe.question().end());
    for (const std::uint32_t at : {0u, 17u, 255u, 256u, 510u}) {
        Tokens tokens;
        tokens.joined = {{order[at], order[at + 1]}};
        const WordSearch over = search(512, tokens);
        EXPECT_EQ(over.verdict(), Verdict::reduced);
        EXPECT_EQ(over.joins(), 1u);
        EXPECT_EQ(over.dropped(), Words{order[at + 1]}) << at;
    }
    const auto superwords = [](std::span<const std::uint32_t> words) {
        auto count = static_cast<std::int64_t>(words.size());
        for (std::size_t i = 1; i < words.size(); ++i) {
            count -= (words[i - 1] ^ words[i]) % 16 == 0 ? 1 : 0;
        }
        return count;
    };
    const Verdict verdict = search(512, superwords).verdict();
    EXPECT_TRUE(verdict == Verdict::joins || verdict == Verdict::too_few);
}

// The same question, another answer: nothing is dropped, and the search ends at once.
TEST(WordSearch, AWaveringServerIsFoundOut) {
    std::int64_t asked = 0;
    const WordSearch over = search(512, [&](std::span<const std::uint32_t> words) {
        return static_cast<std::int64_t>(words.size()) + asked++ % 2;
    });
    EXPECT_EQ(over.verdict(), Verdict::varies);
    EXPECT_TRUE(over.dropped().empty());
    EXPECT_LE(over.questions(), 3u);
}

// A short context: the words are asked in pieces, and found all the same.
TEST(WordSearch, AsksInPiecesThatFit) {
    WordSearchLimits limits;
    limits.group_words_max = 100;
    const WordSearch over = search(512, Tokens{{{7, 1}, {400, 2}}, {}}, limits);
    EXPECT_EQ(over.verdict(), Verdict::reduced);
    EXPECT_EQ(over.dropped(), (Words{7, 400}));
    EXPECT_EQ(over.first_words(), 512);
    EXPECT_EQ(over.first_tokens(), 515);
}

// When the questions run out, bad groups go whole: what is left is good all the same.
TEST(WordSearch, DropsWholeGroupsWhenQuestionsRunOut) {
    WordSearchLimits limits;
    limits.questions_max = 30;
    Tokens tokens;
    tokens.extra = {{3, 1}, {30, 1}, {300, 1}};
    const WordSearch over = search(4096, tokens, limits);
    EXPECT_EQ(over.verdict(), Verdict::reduced);
    const Words dropped = over.dropped();
    EXPECT_GT(dropped.size(), 3u);
    for (const auto& [word, more] : tokens.extra) {
        EXPECT_TRUE(std::find(dropped.begin(), dropped.end(), word) != dropped.end());
    }
    EXPECT_LT(over.questions(), 60u);
}

}  // namespace
}  // namespace driftless
