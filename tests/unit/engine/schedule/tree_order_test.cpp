// Trees come in order, pass by pass, and no copy of a tree is played twice at a time.
#include "engine/schedule/tree_order.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace driftless {
namespace {

UserRules rules(std::uint32_t users, bool recycle) {
    UserRules some;
    some.users = users;
    some.recycle = recycle;
    return some;
}

TEST(TreeOrder, EachTreeComesOnceWithoutRecycling) {
    TreeOrder order(3, rules(2, false));
    EXPECT_EQ(order.copies(), 1u);
    for (std::uint32_t tree = 0; tree < 3; ++tree) {
        EXPECT_FALSE(order.used_up());
        const auto drawn = order.draw();
        ASSERT_TRUE(drawn);
        EXPECT_EQ(drawn->tree, tree);
        order.ended(*drawn);
    }
    EXPECT_TRUE(order.used_up());
    EXPECT_FALSE(order.draw());
}

// A tree all of whose copies are being played is passed over; where all are, nothing comes.
TEST(TreeOrder, PassesOverWhatIsPlayed) {
    TreeOrder order(2, rules(1, true));
    ASSERT_EQ(order.copies(), 2u);
    std::vector<DrawnTree> drawn;
    for (std::uint32_t i = 0; i < 4; ++i) {
        drawn.push_back(order.draw().value());
        EXPECT_EQ(drawn.back().tree, i % 2);
        EXPECT_EQ(drawn.back().pass, i / 2);
    }
    EXPECT_NE(drawn[0].copy, drawn[2].copy);
    EXPECT_NE(drawn[1].copy, drawn[3].copy);
    EXPECT_FALSE(order.draw());
    order.ended(drawn[3]);
    const DrawnTree next = order.draw().value();
    EXPECT_EQ(next.tree, 1u) << "both copies of tree 0 are played";
    EXPECT_EQ(next.copy, drawn[3].copy);
    EXPECT_EQ(next.pass, 2u);
}

// A million users of two trees have half a million copies of each: no draw goes through them all.
TEST(TreeOrder, DrawsAtOnceForManyUsers) {
    constexpr std::uint32_t users = 1'000'000;
    TreeOrder order(2, rules(users, true));
    EXPECT_EQ(order.copies(), users / 2 + 1);
    std::set<std::pair<std::uint32_t, std::uint32_t>> played;
    for (std::uint32_t user = 0; user < users; ++user) {
        const DrawnTree drawn = order.draw().value();
        ASSERT_LT(drawn.copy, order.copies());
        ASSERT_TRUE(played.emplace(drawn.tree, drawn.copy).second);
    }
}

TEST(TreeOrder, CopiesOfTheMostUsers) {
    EXPECT_EQ(TreeOrder::copies_of(1, rules(UINT32_MAX, true)), std::uint64_t{1} << 32);
    EXPECT_EQ(TreeOrder::copies_of(1, rules(UINT32_MAX, false)), 1u);
}

}  // namespace
}  // namespace driftless
