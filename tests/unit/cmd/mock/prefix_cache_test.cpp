#include "cmd/mock/prefix_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <vector>

#include "proto/core/hash.hpp"

namespace driftless::mock {
namespace {

/// LRU as a list that is searched: slow and obvious.
class NaiveCache {
  public:
    explicit NaiveCache(std::size_t blocks_max) : blocks_max_(blocks_max) {}

    std::size_t longest_prefix(const std::vector<std::uint64_t>& blocks) const {
        std::size_t found = 0;
        while (found < blocks.size() &&
               std::find(used_.begin(), used_.end(), blocks[found]) != used_.end()) {
            ++found;
        }
        return found;
    }
    void enter(const std::vector<std::uint64_t>& blocks) {
        for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
            used_.remove(*block);
            used_.push_front(*block);
            if (blocks_max_ != 0 && used_.size() > blocks_max_) {
                used_.pop_back();
            }
        }
    }
    std::size_t size() const { return used_.size(); }

  private:
    std::size_t blocks_max_;
    std::list<std::uint64_t> used_;
};

/// A prompt of a small family with shared prefixes. `crowded`: names that share their low bits, so
/// that the table's cells collide all the time.
std::vector<std::uint64_t> make_prompt(Random& random, bool crowded) {
    std::vector<std::uint64_t> blocks;
    std::uint64_t chain = random.below(3);
    const std::size_t length = random.below(12);
    for (std::size_t i = 0; i < length; ++i) {
        chain = mix64(chain * 31 + random.below(2));
        blocks.push_back(crowded ? chain & ~std::uint64_t{0xFF0} : chain);
    }
    return blocks;
}

// The same hits and the same size as the naive cache, at every capacity, colliding or not.
TEST(PrefixCache, AgreesWithANaiveLru) {
    for (const bool crowded : {false, true}) {
        for (const std::size_t blocks_max : {0, 1, 2, 7, 50, 400}) {
            PrefixCache cache(blocks_max);
            NaiveCache naive(blocks_max);
            Random random(blocks_max + 17);
            for (int round = 0; round < 1500; ++round) {
                const std::vector<std::uint64_t> blocks = make_prompt(random, crowded);
                ASSERT_EQ(cache.longest_prefix(blocks), naive.longest_prefix(blocks))
                    << "capacity " << blocks_max << " round " << round;
                cache.enter(blocks);
                naive.enter(blocks);
                ASSERT_EQ(cache.size(), naive.size());
            }
        }
    }
}

// A prompt longer than the cache leaves its head behind, the part that can be found again.
TEST(PrefixCache, KeepsTheHeadOfALongPrompt) {
    PrefixCache cache(3);
    std::vector<std::uint64_t> blocks = {mix64(1), mix64(2), mix64(3), mix64(4), mix64(5)};
    cache.enter(blocks);
    EXPECT_EQ(cache.size(), 3u);
    EXPECT_EQ(cache.longest_prefix(blocks), 3u);
}

// The largest capacity that a flag can give.
TEST(PrefixCache, TakesAnyCapacity) {
    PrefixCache cache(UINT32_MAX);
    const std::vector<std::uint64_t> blocks{1, 2};
    cache.enter(blocks);
    EXPECT_EQ(cache.longest_prefix(blocks), 2u);
}

}  // namespace
}  // namespace driftless::mock
