// Armed requests are found by their numbers, in any order, up to the last place of the table.
#include "engine/prompt/armed_table.hpp"

#include <gtest/gtest.h>

#include <set>

#include "proto/core/hash.hpp"

namespace driftless {
namespace {

ArmedRequest request_of(std::uint32_t number) {
    ArmedRequest armed;
    armed.due.request = number;
    armed.armed = Instant{number};
    return armed;
}

TEST(ArmedTable, HoldsAsManyAsItHasRoomFor) {
    ArmedTable table(4);
    for (std::uint32_t number = 0; number < 4; ++number) {
        EXPECT_FALSE(table.full());
        table.put(request_of(number));
        EXPECT_EQ(table.count(), number + 1);
    }
    EXPECT_TRUE(table.full());
    EXPECT_EQ(table.take(2).armed.ns, 2);
    EXPECT_FALSE(table.full());
    EXPECT_EQ(table.find(2), nullptr);
    ASSERT_NE(table.find(3), nullptr);
}

// Numbers with one remainder share a chain; each is found, and taken from any place in it.
TEST(ArmedTable, TellsNumbersOfOneChainApart) {
    for (const std::uint32_t first : {1u, 5u, 9u}) {
        ArmedTable table(4);
        for (const std::uint32_t number : {1u, 5u, 9u}) {
            table.put(request_of(number));
        }
        EXPECT_EQ(table.take(first).due.request, first);
        for (const std::uint32_t number : {1u, 5u, 9u}) {
            EXPECT_EQ(table.find(number) != nullptr, number != first);
        }
    }
}

TEST(ArmedTable, GivesBackWhatIsLeft) {
    ArmedTable table(8);
    std::set<std::uint32_t> left{3, 11, 4, 0, 7};
    for (const std::uint32_t number : left) {
        table.put(request_of(number));
    }
    while (table.count() > 0) {
        EXPECT_EQ(left.erase(table.take_any().due.request), 1u);
    }
    EXPECT_TRUE(left.empty());
}

// Against a set that nobody can get wrong.
TEST(ArmedTable, AgreesWithASet) {
    ArmedTable table(16);
    std::set<std::uint32_t> model;
    Random random(7);
    for (int step = 0; step < 20'000; ++step) {
        const auto number = static_cast<std::uint32_t>(random.below(64));
        ASSERT_EQ(table.find(number) != nullptr, model.contains(number));
        if (model.contains(number)) {
            EXPECT_EQ(table.take(number).due.request, number);
            model.erase(number);
        } else if (!table.full()) {
            table.put(request_of(number));
            model.insert(number);
        }
        ASSERT_EQ(table.count(), model.size());
        ASSERT_EQ(table.full(), model.size() == 16);
    }
}

}  // namespace
}  // namespace driftless
