// Shares: every row is dealt once; bursts are spread evenly; what belongs together stays together.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "engine/plan/plan.hpp"

namespace driftless {
namespace {

/// `burst` rows at each instant; sessions of the rows' index modulo `sessions`, 0: none.
Trace trace_of(std::uint32_t rows, std::uint32_t burst, std::uint32_t sessions = 0) {
    Trace trace;
    for (std::uint32_t session = 0; session < sessions; ++session) {
        trace.sessions.push_back("s" + std::to_string(session));
    }
    for (std::uint32_t i = 0; i < rows; ++i) {
        TraceRow row;
        row.index = i;
        row.at_ns = std::int64_t{i / burst} * 1'000'000;
        row.input_length = 40;
        row.output_length = 5;
        if (sessions > 0) {
            row.session = i % sessions;
        }
        trace.rows.push_back(row);
    }
    return trace;
}

Plan plan_of(const Trace& trace) {
    Result<Plan> plan = make_plan(trace, {});
    EXPECT_TRUE(plan);
    return std::move(plan).value();
}

TEST(Shares, DealEachRowOnceInTheOrderOfThePlan) {
    const Trace trace = trace_of(1001, 7);
    const Plan plan = plan_of(trace);
    for (const std::uint32_t shares : {1u, 2u, 3u, 8u, 2000u}) {
        const std::vector<std::uint32_t> owners = deal(trace, plan, shares, DealRule::rows);
        std::set<std::uint32_t> seen;
        for (std::uint32_t share = 0; share < shares; ++share) {
            const PlanShare part = share_of(plan, owners, share);
            ASSERT_EQ(part.plan.rows.size(), part.positions.size());
            EXPECT_TRUE(std::is_sorted(part.positions.begin(), part.positions.end()));
            EXPECT_EQ(part.plan.schedule_digest, plan.schedule_digest);
            EXPECT_EQ(part.plan.input_tokens, plan.input_tokens);
            for (std::size_t i = 0; i < part.positions.size(); ++i) {
                EXPECT_TRUE(seen.insert(part.positions[i]).second);
                EXPECT_EQ(part.plan.rows[i].row, plan.rows[part.positions[i]].row);
            }
        }
        EXPECT_EQ(seen.size(), plan.rows.size());
    }
}

TEST(Shares, SpreadTheRowsOfAnInstant) {
    const Trace trace = trace_of(28 * 5, 28);
    const Plan plan = plan_of(trace);
    const std::vector<std::uint32_t> owners = deal(trace, plan, 4, DealRule::rows);
    for (std::size_t begin = 0; begin < owners.size(); begin += 28) {
        std::map<std::uint32_t, int> rows;
        for (std::size_t i = begin; i < begin + 28; ++i) {
            ++rows[owners[i]];
        }
        for (const auto& [share, count] : rows) {
            EXPECT_EQ(count, 7) << share;
        }
    }
}

// Sparse rows have work for every share, too.
TEST(Shares, GoOnWhereTheInstantBeforeLeftOff) {
    const Trace trace = trace_of(9, 1);
    const std::vector<std::uint32_t> owners = deal(trace, plan_of(trace), 3, DealRule::rows);
    EXPECT_EQ(owners, (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

TEST(Shares, KeepTreesWhole) {
    const Trace trace = trace_of(60, 3, 7);
    const Plan plan = plan_of(trace);
    const std::vector<std::uint32_t> owners = deal(trace, plan, 3, DealRule::trees);
    std::map<std::uint32_t, std::set<std::uint32_t>> of_session;
    std::set<std::uint32_t> used;
    for (std::size_t i = 0; i < owners.size(); ++i) {
        of_session[trace.rows[plan.rows[i].row].session].insert(owners[i]);
        used.insert(owners[i]);
    }
    for (const auto& [session, shares] : of_session) {
        EXPECT_EQ(shares.size(), 1u) << session;
    }
    EXPECT_EQ(used.size(), 3u);
}

TEST(Shares, KeepBothRequestsOfARow) {
    const Trace trace = trace_of(50, 5);
    const Plan plan = plan_of(trace);
    const Result<Plan> dual = dual_plan(trace, plan, 3);
    ASSERT_TRUE(dual);
    const std::vector<std::uint32_t> owners = deal(trace, dual.value(), 3, DealRule::rows);
    std::map<std::uint32_t, std::vector<std::uint32_t>> of_row;
    for (std::size_t i = 0; i < owners.size(); ++i) {
        of_row[dual.value().rows[i].row].push_back(owners[i]);
    }
    std::map<std::uint32_t, int> rows;
    for (const auto& [row, shares] : of_row) {
        ASSERT_EQ(shares.size(), 2u);
        EXPECT_EQ(shares[0], shares[1]) << row;
        ++rows[shares[0]];
    }
    EXPECT_EQ(rows[0], 17);
    EXPECT_EQ(rows[2], 16);
}

TEST(Shares, WithRowsAreAtLeastTwoOrNone) {
    const Trace trace = trace_of(3, 3);
    const Plan plan = plan_of(trace);
    EXPECT_TRUE(shares_with_rows(trace, plan, 1, DealRule::rows).empty());
    EXPECT_EQ(shares_with_rows(trace, plan, 2, DealRule::rows).size(), 2u);
    EXPECT_EQ(shares_with_rows(trace, plan, 8, DealRule::rows).size(), 3u);
    const Trace one = trace_of(3, 3, 1);
    EXPECT_TRUE(shares_with_rows(one, plan_of(one), 8, DealRule::trees).empty()) << "one tree";
}

TEST(Shares, DivideANumberWithoutLosingAny) {
    for (const std::uint32_t total : {0u, 1u, 5u, 64u, 1001u}) {
        for (const std::uint32_t shares : {1u, 2u, 3u, 8u}) {
            std::uint32_t sum = 0;
            for (std::uint32_t share = 0; share < shares; ++share) {
                sum += part_of(total, shares, share);
            }
            EXPECT_EQ(sum, total);
            EXPECT_LE(part_of(total, shares, 0) - part_of(total, shares, shares - 1), 1u);
        }
    }
}

// Engines within shards: numbers that no two have, and all of them.
TEST(Shares, PlacesWithinPlacesNumberAll) {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t shard = 0; shard < 3; ++shard) {
        for (std::uint32_t engine = 0; engine < 4; ++engine) {
            const ShardPlace place = ShardPlace{engine, 4}.within({shard, 3});
            EXPECT_EQ(place.count, 12u);
            for (std::uint32_t own = 0; own < 5; ++own) {
                numbers.push_back(place.number_of(own));
                // As the engine numbers it, then the shard.
                EXPECT_EQ(numbers.back(),
                          (ShardPlace{shard, 3}.number_of(ShardPlace{engine, 4}.number_of(own))));
            }
        }
    }
    std::sort(numbers.begin(), numbers.end());
    for (std::uint32_t number = 0; number < 60; ++number) {
        EXPECT_EQ(numbers[number], number);
    }
}

}  // namespace
}  // namespace driftless
