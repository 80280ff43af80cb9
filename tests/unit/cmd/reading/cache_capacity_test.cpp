// Ids of prefixes and ids of contents are told apart, and rows by what of them was there before.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "cmd/reading/prefix_cache.hpp"
#include "engine/plan/forecast.hpp"
#include "proto/core/hash.hpp"
#include "tests/unit/cmd/reading/make_trace.hpp"

namespace driftless {

namespace {

BlockFigures counted(const Trace& trace) {
    PrefixTree tree(trace);
    BlockIdCounter counter(trace, tree);
    for (const TraceRow& row : trace.rows) {
        counter.add(trace, row, tree.enter(row));
    }
    return counter.figures();
}

BlockFigures counted_rows(const std::vector<RowSpec>& rows) {
    return counted(make_trace(4, TailRule::ceil, rows));
}

TEST(BlockIds, OfPrefixesAreChained) {
    const BlockFigures f =
        counted_rows({{0, 10, {1, 2, 3}}, {1, 12, {1, 2, 4}}, {2, 10, {1, 2, 3}}, {3, 4, {9}}});
    EXPECT_TRUE(f.chained());
    EXPECT_EQ(f.references, 10U);
    EXPECT_EQ(f.ids, 5U);
    EXPECT_EQ(f.prefixes, 5U);
    EXPECT_EQ(f.ids_partial, 1U);
    EXPECT_EQ(f.ids_partial_shared, 1U);
    EXPECT_EQ(f.rows_new, 2U);
    EXPECT_EQ(f.rows_in_part, 1U);
    EXPECT_EQ(f.rows_complete, 1U);
}

TEST(BlockIds, OfContentsMoveAndJoin) {
    const BlockFigures moved = counted_rows({{0, 8, {1, 2}}, {1, 8, {2, 1}}});
    EXPECT_FALSE(moved.chained());
    EXPECT_EQ(moved.ids_moving, 2U);
    EXPECT_EQ(moved.ids_joining, 2U);
    const BlockFigures joined = counted_rows({{0, 8, {1, 3}}, {1, 8, {2, 3}}});
    EXPECT_EQ(joined.ids_moving, 0U);
    EXPECT_EQ(joined.ids_joining, 1U);
    EXPECT_EQ(joined.ids, 3U);
    EXPECT_EQ(joined.prefixes, 4U);
}

// Positions that differ by what the small part of a position is counted by.
TEST(BlockIds, MoveInLongPrompts) {
    RowSpec longest{0, 4 * 4096, {}};
    for (std::uint64_t id = 0; id < 4096; ++id) {
        longest.ids.push_back(id);
    }
    EXPECT_TRUE(counted_rows({longest, longest}).chained());
    for (const std::uint64_t id : {2046U, 2047U, 2048U, 4094U}) {
        SCOPED_TRACE(id);
        const std::vector<RowSpec> rows{{0, 4, {id}}, longest};
        EXPECT_EQ(counted_rows(rows).ids_moving, 1U);
        EXPECT_EQ(counted_rows({rows[1], rows[0]}).ids_moving, 1U);
    }
}

TEST(BlockIds, OfNamespacesAreDifferent) {
    const BlockFigures f = counted_rows({{0, 8, {1, 2}}, {1, 8, {2, 1}, no_session, 1}});
    EXPECT_TRUE(f.chained());
    EXPECT_EQ(f.ids, 4U);
}

TEST(BlockIds, HaveOneLength) {
    EXPECT_EQ(counted_rows({{0, 7, {1, 2}}, {1, 7, {1, 2}}}).ids_of_two_lengths, 0U);
    EXPECT_EQ(counted_rows({{0, 7, {1, 2}}, {1, 6, {1, 2}}}).ids_of_two_lengths, 1U);
    EXPECT_EQ(counted_rows({{0, 8, {1, 2}}, {1, 5, {3, 2}}}).ids_of_two_lengths, 1U);
}

TEST(BlockIds, MayBeMissing) {
    const BlockFigures f = counted_rows({{0, 7, {}}, {1, 4, {1}}});
    EXPECT_EQ(f.rows_without_ids, 1U);
    EXPECT_EQ(f.rows_new, 1U);
    EXPECT_TRUE(f.chained());
}

// Counted anew from maps of everything.
TEST(BlockIds, CountAsMapsDo) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Trace trace = random_trace(seed, TailRule::ceil, 80);
        std::map<std::pair<std::uint32_t, std::uint64_t>, std::set<std::size_t>> positions;
        std::map<std::pair<std::uint32_t, std::uint64_t>, std::set<std::int64_t>> before;
        for (const TraceRow& row : trace.rows) {
            std::int64_t last = -1;
            for (std::size_t i = 0; i < row.ids_count; ++i) {
                const std::uint64_t id = trace.ids_of(row)[i];
                positions[{row.name_space, id}].insert(i);
                before[{row.name_space, id}].insert(last);
                last = static_cast<std::int64_t>(id);
            }
        }
        const auto several = [](const auto& map) {
            return static_cast<std::uint64_t>(std::count_if(
                map.begin(), map.end(), [](const auto& one) { return one.second.size() > 1; }));
        };
        const BlockFigures f = counted(trace);
        EXPECT_EQ(f.ids, positions.size());
        EXPECT_EQ(f.ids_moving, several(positions)) << seed;
        EXPECT_EQ(f.ids_joining, several(before)) << seed;
    }
}

// Ranks are those of a list in which every used thing moves to the front.

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
