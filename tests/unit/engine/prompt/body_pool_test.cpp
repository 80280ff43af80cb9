// The body pool gives disjoint memory, refuses what does not fit, and is whole again at the end.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "engine/prompt/rows_underway.hpp"
#include "proto/core/hash.hpp"

namespace driftless {
namespace {

struct Block {
    char* at;
    std::size_t bytes;
    char mark;
};

// Ten thousand random takes and gives: no block ever touches another, and once all are back the
// region can be taken in one piece again.
TEST(BodyPool, BlocksAreDisjointAndMergeAgain) {
    BodyPool pool;
    ASSERT_TRUE(pool.open(1 << 20));
    Random random(3);
    std::vector<Block> blocks;
    for (int i = 0; i < 10'000; ++i) {
        if (random.below(2) == 0 || blocks.empty()) {
            const std::size_t bytes = 1 + random.below(100'000);
            char* at = pool.take(bytes);
            if (at != nullptr) {
                const char mark = static_cast<char>(i);
                std::memset(at, mark, bytes);
                blocks.push_back({at, bytes, mark});
            }
            continue;
        }
        const std::size_t pick = random.below(blocks.size());
        const Block block = blocks[pick];
        for (std::size_t byte = 0; byte < block.bytes; byte += 97) {
            ASSERT_EQ(block.at[byte], block.mark);
        }
        pool.give(block.at);
        blocks[pick] = blocks.back();
        blocks.pop_back();
    }
    for (const Block& block : blocks) {
        pool.give(block.at);
    }
    EXPECT_EQ(pool.used_bytes(), 0u);
    EXPECT_LE(pool.used_bytes_max(), pool.region_bytes());
    char* whole = pool.take(pool.region_bytes());
    ASSERT_NE(whole, nullptr);
    pool.give(whole);
}

// What is full says so: a block that is one byte too large for the region, and any further block.
// The spare block is for one taker, where nothing else is left.
TEST(BodyPool, HasASpareBlock) {
    BodyPool pool;
    ASSERT_TRUE(pool.open(8192, 5000));
    char* all = pool.take_or_spare(8000);
    ASSERT_NE(all, nullptr);
    EXPECT_EQ(pool.take(1), nullptr);
    EXPECT_EQ(pool.take_or_spare(5001), nullptr);
    char* spare = pool.take_or_spare(5000);
    ASSERT_NE(spare, nullptr);
    EXPECT_EQ(spare, all + 8192);
    spare[4999] = 'x';
    EXPECT_EQ(pool.take_or_spare(1), nullptr);
    pool.give(spare);
    EXPECT_EQ(pool.take_or_spare(1), spare);
    pool.give(spare);
    pool.give(all);
    EXPECT_EQ(pool.used_bytes(), 0U);
}

TEST(BodyPool, RefusesWhatDoesNotFit) {
    BodyPool pool;
    ASSERT_TRUE(pool.open(64 * 1024));
    EXPECT_EQ(pool.take(pool.region_bytes() + 1), nullptr);
    char* whole = pool.take(pool.region_bytes());
    ASSERT_NE(whole, nullptr);
    EXPECT_EQ(pool.take(1), nullptr);
    pool.give(whole);
    char* leaf = pool.take(1);
    ASSERT_NE(leaf, nullptr);
    pool.give(leaf);
}

}  // namespace
}  // namespace driftless
