// Sets grow together, and each is known by its smallest number.
#include "engine/plan/disjoint_sets.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace driftless {
namespace {

std::vector<std::uint32_t> smallest(DisjointSets& sets, std::uint32_t count) {
    std::vector<std::uint32_t> all;
    for (std::uint32_t number = 0; number < count; ++number) {
        all.push_back(sets.smallest_of(number));
    }
    return all;
}

TEST(DisjointSets, AreKnownByTheirSmallestNumbers) {
    DisjointSets sets(6);
    EXPECT_EQ(smallest(sets, 6), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5}));
    sets.join(5, 4);
    sets.join(2, 2);
    sets.join(3, 1);
    EXPECT_EQ(smallest(sets, 6), (std::vector<std::uint32_t>{0, 1, 2, 1, 4, 4}));
    sets.join(3, 5);
    EXPECT_EQ(smallest(sets, 6), (std::vector<std::uint32_t>{0, 1, 2, 1, 1, 1}));
    sets.join(4, 1);  // of one set already
    EXPECT_EQ(smallest(sets, 6), (std::vector<std::uint32_t>{0, 1, 2, 1, 1, 1}));
}

// The longest chain that can be: each joins the one before it, from behind.
TEST(DisjointSets, OfLongChains) {
    constexpr std::uint32_t count = 100'000;
    DisjointSets sets(count);
    for (std::uint32_t number = count - 1; number > 0; --number) {
        sets.join(number, number - 1);
    }
    EXPECT_EQ(smallest(sets, count), std::vector<std::uint32_t>(count, 0));
}

}  // namespace
}  // namespace driftless
