// The tokens in front of a prompt are found for every split and every size of cache blocks; counts
// that contradict each other are not believed.
#include <gtest/gtest.h>

#include <functional>

#include "engine/server/word_search.hpp"

namespace driftless {
namespace {

constexpr std::uint32_t words = 1100;

struct Found {
    SplitSearch::Verdict verdict = SplitSearch::Verdict::searching;
    std::uint32_t pre = 0;
    std::uint32_t block = 0;
    std::uint32_t questions = 0;
};

/// `counts`: shared words and the number of the question to cached tokens.
Found find_splits(std::uint32_t pre_min, std::uint32_t pre_max,
                  const std::function<std::int64_t(std::uint32_t, std::uint32_t)>& counts) {
    SplitSearch search(words, pre_min, pre_max);
    Found found;
    while (const std::optional<std::uint32_t> shared = search.question()) {
        EXPECT_LE(*shared, words);
        search.take(counts(*shared, found.questions++));
        if (found.questions > 64) {
            ADD_FAILURE() << "the search does not end";
            break;
        }
    }
    found.verdict = search.verdict();
    if (found.verdict == SplitSearch::Verdict::found) {
        found.pre = search.pre();
        found.block = search.block();
    }
    return found;
}

using SplitVerdict = SplitSearch::Verdict;

// Of every split of 19 tokens; blocks of 1 token (radix caches), of 16 and more, of odd sizes.
TEST(SplitSearch, FindsEverySplit) {
    for (const std::uint32_t block : {1u, 2u, 16u, 20u, 24u, 32u, 64u, 100u, 128u, 512u, 1024u}) {
        for (std::uint32_t pre = 0; pre <= 19; ++pre) {
            const Found found = find_splits(0, 19, [&](std::uint32_t shared, std::uint32_t) {
                return (pre + shared) / block * block;
            });
            ASSERT_EQ(found.verdict, SplitVerdict::found) << block << " " << pre;
            EXPECT_EQ(found.pre, pre) << block;
            EXPECT_EQ(found.block, block) << pre;
            EXPECT_LE(found.questions, 11u);
        }
    }
}

// A split that is known takes five questions at most, and tells the block.
TEST(SplitSearch, FindsTheBlockOfAKnownSplit) {
    for (const std::uint32_t block : {1u, 16u, 512u}) {
        const Found found = find_splits(14, 14, [&](std::uint32_t shared, std::uint32_t) {
            return (14 + shared) / block * block;
        });
        EXPECT_EQ(found.verdict, SplitVerdict::found);
        EXPECT_EQ(found.block, block);
        EXPECT_LE(found.questions, 5u);
    }
}

// Nothing cached, nothing reported, or blocks longer than the prompt: it says so, after three
// tries. A cache that is filled a little later is waited for.
TEST(SplitSearch, SaysThatNothingWasHit) {
    for (const std::int64_t reported : {-1, 0, 16}) {
        const Found found =
            find_splits(0, 19, [&](std::uint32_t, std::uint32_t) { return reported; });
        EXPECT_EQ(found.verdict, SplitVerdict::no_hits);
        EXPECT_EQ(found.questions, 3u);
    }
    const Found late = find_splits(0, 19, [](std::uint32_t shared, std::uint32_t question) {
        return question < 2 ? 0 : (5 + shared) / 16 * 16;
    });
    EXPECT_EQ(late.verdict, SplitVerdict::found);
    EXPECT_EQ(late.pre, 5u);
}

// Two workers that are asked in turn, of which one has the prompt: no split is made up.
TEST(SplitSearch, BelievesNoCountsThatContradict) {
    for (std::uint32_t turn = 0; turn < 2; ++turn) {
        for (std::uint32_t pre = 0; pre <= 19; ++pre) {
            const Found found =
                find_splits(0, 19, [&](std::uint32_t shared, std::uint32_t question) {
                    return question % 2 == turn ? 0 : (pre + shared) / 16 * 16;
                });
            EXPECT_TRUE(found.verdict != SplitVerdict::found || found.pre == pre)
                << turn << ": " << found.pre << " for " << pre;
        }
    }
    // More cached than was shared; the same whatever is shared.
    EXPECT_EQ(find_splits(0, 19, [](std::uint32_t, std::uint32_t) { return 5000; }).verdict,
              SplitVerdict::varies);
    EXPECT_EQ(find_splits(0, 19, [](std::uint32_t, std::uint32_t) { return 1104; }).verdict,
              SplitVerdict::varies);
}

}  // namespace
}  // namespace driftless
