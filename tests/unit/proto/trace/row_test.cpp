// The list of block ids gives back what went in, whatever the ids are, and equal numbers mean equal
// ids. The oracle is a plain vector.
#include "proto/trace/row.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "proto/core/hash.hpp"
#include "tests/unit/proto/trace/plain_ids.hpp"

namespace driftless {
namespace {

using Ids = std::vector<std::uint64_t>;

/// Everything that the list says of itself, held against what went in.
void expect_same(const BlockIds& list, const Ids& ids) {
    ASSERT_EQ(list.size(), ids.size());
    std::map<std::uint64_t, std::uint32_t> numbers;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        ASSERT_EQ(list[i], ids[i]) << i;
        ASSERT_LT(list.number(i), list.numbers_end());
        ASSERT_EQ(list.id_of(list.number(i)), ids[i]);
        const auto [known, is_new] = numbers.emplace(ids[i], list.number(i));
        ASSERT_EQ(known->second, list.number(i)) << "equal ids, equal numbers";
    }
    EXPECT_EQ(plain_ids(list), ids);
}

// Ids beside the limit of those that are kept as they are, in every order of small and large ones.
TEST(BlockIds, KeepsIdsAroundTheLimit) {
    for (const std::uint64_t id : {std::uint64_t{0}, BlockIds::direct_min - 1, BlockIds::direct_min,
                                   BlockIds::direct_min + 1, ~std::uint64_t{0}}) {
        BlockIds list;
        Ids ids;
        for (const std::uint64_t one : {std::uint64_t{7}, id, std::uint64_t{7}, id, id}) {
            list.push_back(one);
            ids.push_back(one);
            expect_same(list, ids);
        }
        EXPECT_EQ(list.numbers_end() > BlockIds::direct_min, false) << id;
    }
}

// Blocks counted from 0 stay their own numbers beyond the limit, since there are as many
// references.
TEST(BlockIds, KeepsCountedBlocksAsTheyAre) {
    BlockIds list;
    for (std::uint64_t id = 0; id < 3 * BlockIds::direct_min; ++id) {
        list.push_back(id);
    }
    EXPECT_EQ(list.number(list.size() - 1), list[list.size() - 1]);
    EXPECT_EQ(list.numbers_end(), 3 * BlockIds::direct_min);
}

// Random lists, appended in pieces, cut, settled and copied in between.
TEST(BlockIds, IsAVector) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        Random random(seed);
        const unsigned shift = static_cast<unsigned>(random.below(60));
        BlockIds list;
        Ids ids;
        for (int step = 0; step < 200; ++step) {
            Ids more(random.below(100));
            for (std::uint64_t& id : more) {
                id = random.below(500) << (random.below(8) == 0 ? shift : 0);
            }
            list.append(more);
            ids.insert(ids.end(), more.begin(), more.end());
            if (random.below(10) == 0) {
                ids.resize(random.below(ids.size() + 1));
                list.truncate(ids.size());
            }
            if (random.below(20) == 0) {
                list.settle();
            }
            if (random.below(20) == 0) {
                const BlockIds copy = list;
                list = copy;
            }
        }
        expect_same(list, ids);
    }
}

// A span is a range of values with the numbers beside them.
TEST(BlockIds, SpansAreRanges) {
    BlockIds list;
    list.append(Ids{5, std::uint64_t{1} << 40, 5, 6});
    const BlockIdSpan middle = list.span(1, 3);
    EXPECT_EQ(Ids(middle.begin(), middle.end()), (Ids{std::uint64_t{1} << 40, 5, 6}));
    EXPECT_EQ(middle.front(), std::uint64_t{1} << 40);
    EXPECT_EQ(middle.back(), 6U);
    EXPECT_EQ(middle.number(1), list.number(0));
    EXPECT_EQ(middle.first(1).size(), 1U);
    EXPECT_TRUE(list.span(4, 0).empty());
}

}  // namespace
}  // namespace driftless
