// Rows underway are found by their numbers until their turn comes, in any order; each has one home,
// and goes its way in checked steps.
#include "engine/prompt/rows_underway.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "proto/core/hash.hpp"

namespace driftless {
namespace {

Due due_of(std::uint32_t number) {
    return {number * 1000, number, number, 0};
}

void end(RowsUnderway& rows, RowUnderway& row) {
    rows.take(row, due_of(row.due.request));
    row.enter(RowStage::ended);
    rows.remove(row);
}

// Numbers with one remainder share a chain; each is found, and taken from any place in it.
TEST(RowsUnderway, AreToldApartInOneChain) {
    for (const std::uint32_t first : {1u, 5u, 9u}) {
        RowsUnderway rows(4);
        for (const std::uint32_t number : {1u, 5u, 9u}) {
            (void)rows.add(due_of(number));
        }
        RowUnderway* row = rows.find(first);
        ASSERT_NE(row, nullptr);
        rows.take(*row, {7, first, first, 3});
        EXPECT_EQ(row->due.rank, 3u) << "the rank is known now";
        EXPECT_EQ(rows.untaken(), 2u);
        EXPECT_EQ(rows.count(), 3u) << "it is still on its way";
        for (const std::uint32_t number : {1u, 5u, 9u}) {
            EXPECT_EQ(rows.find(number) != nullptr, number != first);
        }
    }
}

// Against a map that nobody can get wrong, through more rows than there is room for at first. No
// row moves.
TEST(RowsUnderway, AgreeWithAMap) {
    RowsUnderway rows(16);
    rows.reserve(10);
    std::map<std::uint32_t, RowUnderway*> untaken;
    std::set<RowUnderway*> taken;
    Random random(7);
    for (int step = 0; step < 40'000; ++step) {
        const auto number = static_cast<std::uint32_t>(random.below(1024));
        const auto known = untaken.find(number);
        ASSERT_EQ(rows.find(number), known == untaken.end() ? nullptr : known->second);
        if (known == untaken.end()) {
            untaken[number] = &rows.add(due_of(number));
        } else if (random.below(2) == 0) {
            end(rows, *known->second);
            untaken.erase(known);
        } else {
            rows.take(*known->second, due_of(number));
            taken.insert(known->second);
            untaken.erase(known);
        }
        if (taken.size() > 64) {
            RowUnderway& row = **taken.begin();
            row.enter(RowStage::ended);
            rows.remove(row);
            taken.erase(taken.begin());
        }
        ASSERT_EQ(rows.untaken(), untaken.size());
        ASSERT_EQ(rows.count(), untaken.size() + taken.size());
    }
    std::set<RowUnderway*> seen;
    rows.for_each_untaken([&](RowUnderway& row) { seen.insert(&row); });
    EXPECT_EQ(seen.size(), untaken.size());
}

TEST(RowsUnderway, BeginAnewInAPlaceThatWasUsed) {
    RowsUnderway rows(1);
    RowUnderway& first = rows.add(due_of(1));
    first.tries = 1;
    first.cause = LateCause::lane;
    end(rows, first);
    const RowUnderway& second = rows.add(due_of(2));
    EXPECT_EQ(&second, &first);
    EXPECT_EQ(second.tries, 0u);
    EXPECT_EQ(second.cause, LateCause::none);
    EXPECT_EQ(second.stage, RowStage::wanted);
}

// Every way that is drawn in rows_underway.hpp, and no other.
TEST(RowUnderway, GoesItsWayInStepsThatAreDrawn) {
    using enum RowStage;
    const std::set<std::pair<RowStage, RowStage>> drawn{
        {arming, wanted},   {armed, wanted},    {bound, wanted},      {again, wanted},
        {wanted, arming},   {again, arming},    {arming, armed},      {armed, bound},
        {waiting, bound},   {armed, waiting},   {again, waiting},     {wanted, waiting},
        {armed, in_flight}, {bound, in_flight}, {waiting, in_flight}, {bound, again},
        {in_flight, again}, {arming, again},    {armed, again}};
    for (std::uint8_t from = 0; from <= static_cast<std::uint8_t>(ended); ++from) {
        for (std::uint8_t to = 0; to <= static_cast<std::uint8_t>(ended); ++to) {
            const std::pair step{static_cast<RowStage>(from), static_cast<RowStage>(to)};
            const bool expected =
                drawn.contains(step) || (step.second == ended && step.first != ended);
            EXPECT_EQ(may_follow(step.first, step.second), expected) << int{from} << int{to};
        }
    }
}

}  // namespace
}  // namespace driftless
