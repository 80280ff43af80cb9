// Block ids say which prompts begin alike, no more and no less, and only under their secret.
#include "engine/logs/block_ids.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "proto/core/hash.hpp"

namespace driftless {
namespace {

using Ids = std::vector<std::uint64_t>;

Ids ids_of(const std::vector<TokenId>& tokens, std::uint32_t length, std::uint32_t size = 16,
           std::string_view salt = "0123456789abcdef") {
    Result<KeyedHash> hash = KeyedHash::create(salt);
    EXPECT_TRUE(hash);
    Ids ids;
    PromptBlocks(hash.value(), size).append(tokens, length, ids);
    return ids;
}

Ids ids_of(const std::vector<TokenId>& tokens) {
    return ids_of(tokens, static_cast<std::uint32_t>(tokens.size()));
}

std::vector<TokenId> tokens_from(std::uint64_t seed, std::size_t count) {
    Random random(seed);
    std::vector<TokenId> tokens(count);
    for (TokenId& token : tokens) {
        token = static_cast<TokenId>(random.below(50'000));
    }
    return tokens;
}

std::size_t shared(const Ids& a, const Ids& b) {
    const std::set<std::uint64_t> known(a.begin(), a.end());
    return static_cast<std::size_t>(
        std::count_if(b.begin(), b.end(), [&](std::uint64_t id) { return known.contains(id); }));
}

// Two prompts that are equal for exactly `common` tokens share exactly the blocks that lie within
// them, wherever that is, and share them at the front.
TEST(PromptBlocks, ShareExactlyTheBlocksOfTheCommonPrefix) {
    const std::vector<TokenId> one = tokens_from(1, 100);
    for (std::size_t common = 0; common <= 100; ++common) {
        std::vector<TokenId> other = one;
        for (std::size_t i = common; i < other.size(); ++i) {
            other[i] = one[i] + 1;
        }
        const Ids a = ids_of(one);
        const Ids b = ids_of(other);
        const std::size_t k = common == 100 ? 7 : common / 16;
        EXPECT_EQ(shared(a, b), k) << common;
        EXPECT_TRUE(std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(k), b.begin()));
    }
}

// The same, of prompts of any two lengths of which one begins the other.
TEST(PromptBlocks, ShareWholeBlocksOfALongerPrompt) {
    const std::vector<TokenId> tokens = tokens_from(2, 70);
    for (std::uint32_t a = 1; a <= 70; ++a) {
        for (std::uint32_t b = a; b <= 70; ++b) {
            const std::size_t k = a == b ? (a + 15) / 16 : a / 16;
            EXPECT_EQ(shared(ids_of(tokens, a), ids_of(tokens, b)), k) << a << " " << b;
        }
    }
}

// Equal blocks behind different ones differ: ids name prefixes.
TEST(PromptBlocks, AreChained) {
    std::vector<TokenId> tokens(64, 7);
    const Ids ids = ids_of(tokens);
    EXPECT_EQ(std::set<std::uint64_t>(ids.begin(), ids.end()).size(), 4U);
}

TEST(PromptBlocks, DependOnSecretAndBlockSize) {
    const std::vector<TokenId> tokens = tokens_from(3, 160);
    const Ids ids = ids_of(tokens, 160);
    EXPECT_EQ(ids, ids_of(tokens, 160));
    EXPECT_EQ(shared(ids, ids_of(tokens, 160, 16, "0123456789abcdeg")), 0U);
    EXPECT_EQ(shared(ids, ids_of(tokens, 160, 32)), 0U);
    EXPECT_EQ(ids_of(tokens, 160, 1).size(), 160U);
    EXPECT_EQ(ids_of(tokens, 160, 161).size(), 1U);
}

// Where the server counted more tokens than the text has, the rest is unknown: the same in a prompt
// of the same text and length, and in no other. Where it counted fewer, the text is cut.
TEST(PromptBlocks, CoverTheServersCount) {
    const std::vector<TokenId> tokens = tokens_from(4, 40);
    const Ids longer = ids_of(tokens, 100);
    EXPECT_EQ(longer.size(), 7U);
    EXPECT_EQ(longer, ids_of(tokens, 100));
    EXPECT_EQ(shared(longer, ids_of(tokens, 99)), 2U);
    EXPECT_EQ(shared(longer, ids_of(tokens)), 2U);
    EXPECT_EQ(ids_of(tokens, 20), ids_of({tokens.begin(), tokens.begin() + 20}));
}

}  // namespace
}  // namespace driftless
