// The block cache holds what was stored last, within its bytes, and never answers with another's.
#include "engine/prompt/cache.hpp"

#include <gtest/gtest.h>

#include <string>

#include "proto/core/hash.hpp"

namespace driftless {
namespace {

std::string bytes_of(std::uint64_t i) {
    return "block " + std::to_string(i);
}

// Under random use, a hit is always the block's own bytes, and memory stays as it was taken.
TEST(BlockCache, NeverAnswersWithAnothersBytes) {
    BlockCache cache(64 << 10, 64);
    const std::size_t taken = cache.bytes();
    EXPECT_LE(taken, std::size_t{64} << 10);
    Random random(1);
    for (int i = 0; i < 50'000; ++i) {
        const std::uint64_t id = random.below(2000);
        const ContentKey key{mix64(id)};
        const std::string_view found = cache.find(key);
        if (found.empty()) {
            cache.store(key, bytes_of(id));
        } else {
            ASSERT_EQ(found, bytes_of(id));
        }
    }
    EXPECT_GT(cache.hits(), 10'000U);
    EXPECT_EQ(cache.hits() + cache.misses(), 50'000U);
    EXPECT_EQ(cache.bytes(), taken);
}

// A block in steady use survives a stream of others that come once.
TEST(BlockCache, KeepsWhatIsUsed) {
    BlockCache cache(64 << 10, 64);
    const ContentKey kept{mix64(7)};
    cache.store(kept, "kept");
    for (std::uint64_t id = 1000; id < 20'000; ++id) {
        ASSERT_EQ(cache.find(kept), "kept") << id;
        cache.store(ContentKey{mix64(id)}, bytes_of(id));
    }
}

// No room for one set, and no block size: nothing is held, nothing breaks.
TEST(BlockCache, MayBeTooSmallToHoldAnything) {
    for (BlockCache cache : {BlockCache(0, 64), BlockCache(100, 64), BlockCache(1 << 20, 0)}) {
        EXPECT_EQ(cache.bytes(), 0U);
        EXPECT_TRUE(cache.find(ContentKey{1}).empty());
    }
    BlockCache cache(100, 64);
    cache.store(ContentKey{1}, "block");
    EXPECT_TRUE(cache.find(ContentKey{1}).empty());
}

}  // namespace
}  // namespace driftless
