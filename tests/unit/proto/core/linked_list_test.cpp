// A list links what is on it, keeps its order and its count, and leaves no link behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <vector>

#include "proto/core/hash.hpp"
#include "proto/core/lists.hpp"

namespace driftless {
namespace {

struct Item {
    int number = 0;
    Item* next = nullptr;
    Item* before = nullptr;
};
using Items = LinkedList<Item>;
using Numbers = std::vector<int>;

// Read in both directions: the links say the same.
Numbers numbers_of(const Items& list) {
    Numbers forward;
    Numbers backward;
    for (const Item* item = list.first; item != nullptr; item = item->next) {
        forward.push_back(item->number);
    }
    for (const Item* item = list.last; item != nullptr; item = item->before) {
        backward.push_back(item->number);
    }
    std::reverse(backward.begin(), backward.end());
    EXPECT_EQ(forward, backward);
    EXPECT_EQ(list.count, forward.size());
    EXPECT_EQ(list.empty(), forward.empty());
    return forward;
}

struct Four {
    std::array<Item, 4> items;
    Items list;
    Four() {
        for (int i = 0; i < 4; ++i) {
            items[static_cast<std::size_t>(i)].number = i;
            list.push_back(items[static_cast<std::size_t>(i)]);
        }
    }
};

TEST(LinkedList, IsFirstInFirstOut) {
    Four four;
    EXPECT_EQ(numbers_of(four.list), (Numbers{0, 1, 2, 3}));
    for (Item& item : four.items) {
        EXPECT_EQ(four.list.pop_front(), &item);
    }
    EXPECT_EQ(four.list.pop_front(), nullptr);
    EXPECT_EQ(numbers_of(four.list), Numbers{});
}

TEST(LinkedList, IsLastInFirstOutFromTheFront) {
    Items list;
    std::array<Item, 3> items{Item{1}, Item{2}, Item{3}};
    for (Item& item : items) {
        list.push_front(item);
    }
    EXPECT_EQ(numbers_of(list), (Numbers{3, 2, 1}));
}

// From the front, the middle and the end; what was removed can stand on a list again.
TEST(LinkedList, RemovesFromAnyPlace) {
    for (std::size_t place = 0; place < 4; ++place) {
        Four four;
        Item& item = four.items[place];
        four.list.remove(item);
        EXPECT_EQ(item.next, nullptr);
        EXPECT_EQ(item.before, nullptr);
        Numbers left{0, 1, 2, 3};
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(place));
        EXPECT_EQ(numbers_of(four.list), left);
        four.list.push_back(item);
        left.push_back(item.number);
        EXPECT_EQ(numbers_of(four.list), left);
    }
}

TEST(LinkedList, RemovesItsOnlyItem) {
    Items list;
    Item item;
    list.push_front(item);
    list.remove(item);
    EXPECT_EQ(numbers_of(list), Numbers{});
    list.push_back(item);
    EXPECT_EQ(numbers_of(list), Numbers{0});
}

// Against a deque that nobody can get wrong.
TEST(LinkedList, AgreesWithADeque) {
    std::vector<Item> items(16);
    Items list;
    std::deque<int> expected;
    Random random(3);
    for (int step = 0; step < 2'000; ++step) {
        const auto number = static_cast<int>(random.below(items.size()));
        Item& item = items[static_cast<std::size_t>(number)];
        item.number = number;
        const auto there = std::find(expected.begin(), expected.end(), number);
        if (there != expected.end()) {
            list.remove(item);
            expected.erase(there);
        } else if (random.below(2) == 0) {
            list.push_back(item);
            expected.push_back(number);
        } else {
            list.push_front(item);
            expected.push_front(number);
        }
        ASSERT_EQ(numbers_of(list), Numbers(expected.begin(), expected.end()));
    }
}

}  // namespace
}  // namespace driftless
