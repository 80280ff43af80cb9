// Ranks are those of a list in which every used thing moves to the front.
#include "engine/inspect/recency.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "proto/core/hash.hpp"

namespace driftless {
namespace {

using Things = std::vector<std::uint32_t>;

/// The order by definition: the front was used last.
class List {
  public:
    Things ranks(const Things& things) const {
        Things found;
        for (const std::uint32_t thing : things) {
            const auto at = std::find(list_.begin(), list_.end(), thing);
            if (at == list_.end()) {
                break;
            }
            found.push_back(static_cast<std::uint32_t>(at - list_.begin()) + 1);
        }
        return found;
    }
    void use(const Things& things) {
        for (auto thing = things.rbegin(); thing != things.rend(); ++thing) {
            list_.erase(std::remove(list_.begin(), list_.end(), *thing), list_.end());
            list_.insert(list_.begin(), *thing);
        }
    }
    std::size_t size() const { return list_.size(); }

  private:
    Things list_;
};

Things ranks_of(const Recency& recency, const Things& things) {
    Things ranks;
    recency.ranks(things, ranks);
    return ranks;
}

TEST(Recency, CountsWhatWasUsedSince) {
    Recency recency;
    EXPECT_EQ(ranks_of(recency, {0}), Things{});
    recency.use({});
    recency.use(Things{5, 6, 7});
    EXPECT_EQ(ranks_of(recency, {5, 6, 7}), (Things{1, 2, 3}));
    recency.use(Things{9});
    EXPECT_EQ(ranks_of(recency, {5, 6, 7}), (Things{2, 3, 4}));
    recency.use(Things{6});
    EXPECT_EQ(ranks_of(recency, {6, 9, 5, 7}), (Things{1, 2, 3, 4}));
    EXPECT_EQ(ranks_of(recency, {6, 8, 5}), Things{1});  // up to one that was never used
    EXPECT_EQ(recency.size(), 4U);
}

// Long enough that lines fill up and are pushed together many times.
TEST(Recency, IsTheListThatMovesToTheFront) {
    for (const std::uint32_t universe : {3U, 70U, 900U}) {
        Random random(universe);
        Recency recency;
        List list;
        for (int round = 0; round < 3000; ++round) {
            Things things;
            const std::uint64_t begin = random.below(universe);
            for (std::uint64_t i = random.below(40) + 1; i > 0; --i) {
                // Runs of neighbours, now and then broken.
                const std::uint64_t next =
                    random.below(5) == 0 ? random.below(universe) : begin + i;
                const auto thing = static_cast<std::uint32_t>(next % universe);
                if (std::find(things.begin(), things.end(), thing) == things.end()) {
                    things.push_back(thing);
                }
            }
            ASSERT_EQ(ranks_of(recency, things), list.ranks(things)) << universe << " " << round;
            recency.use(things);
            list.use(things);
            ASSERT_EQ(recency.size(), list.size());
        }
    }
}

}  // namespace
}  // namespace driftless
