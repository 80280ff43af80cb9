// Dual fire: each row stands twice in the plan, at one due, and who goes first is drawn and
// balanced.
#include "engine/plan/dual_fire.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace driftless {
namespace {

/// Rows in threes at an instant, all of them with one prompt of two blocks.
Trace trace_of(std::uint32_t rows) {
    Trace trace;
    trace.block_size = 16;
    trace.name_spaces = 1;
    trace.ids.push_back(1);
    trace.ids.push_back(2);
    for (std::uint32_t i = 0; i < rows; ++i) {
        TraceRow row;
        row.index = i;
        row.at_ns = std::int64_t{i / 3} * 1'000'000;
        row.input_length = 40;
        row.output_length = 5;
        row.ids_count = 2;
        trace.rows.push_back(row);
    }
    return trace;
}

Plan single_plan(const Trace& trace, PlanOptions options = {}) {
    Result<Plan> plan = make_plan(trace, options);
    EXPECT_TRUE(plan);
    return std::move(plan).value();
}

Plan dual_of(const Trace& trace, const Plan& plan, std::uint64_t seed) {
    Result<Plan> dual = dual_plan(trace, plan, plan, seed);
    EXPECT_TRUE(dual);
    return std::move(dual).value();
}

TEST(DualFire, SendsEachRowToBothSidesAtOneInstant) {
    const Trace trace = trace_of(30);
    const Plan plan = single_plan(trace);
    const Plan dual = dual_of(trace, plan, 7);
    EXPECT_TRUE(dual.dual);
    ASSERT_EQ(dual.rows.size(), 60u);
    for (std::size_t i = 0; i < plan.rows.size(); ++i) {
        const Planned& first = dual.rows[2 * i];
        const Planned& second = dual.rows[2 * i + 1];
        EXPECT_EQ(first.row, plan.rows[i].row);
        EXPECT_EQ(second.row, plan.rows[i].row);
        EXPECT_EQ(first.due_ns, plan.rows[i].due_ns);
        EXPECT_EQ(second.due_ns, plan.rows[i].due_ns);
        EXPECT_NE(first.side, second.side);
        EXPECT_NE(first.side, Side::none);
        EXPECT_NE(second.side, Side::none);
        EXPECT_EQ(first.side, first_side(7, trace.rows[first.row].index));
    }
    EXPECT_EQ(dual.burst_rows_max, 6u);
    EXPECT_EQ(dual.input_tokens, 2 * 30 * 40u);
    EXPECT_EQ(dual.output_tokens, 2 * 30 * 5u);
    EXPECT_EQ(dual.foretold.cached_tokens, 2 * plan.foretold.cached_tokens);
    EXPECT_EQ(dual.last_due_ns, plan.last_due_ns);
}

// Of two neighbours in the file one begins with a and the other with b; which is a fair coin: of
// 10,000 tosses 5,000, give or take 4 standard deviations of 50.
TEST(DualFire, DrawsABalancedOrder) {
    int heads = 0;
    for (std::uint32_t pair = 0; pair < 10'000; ++pair) {
        EXPECT_NE(first_side(3, 2 * pair), first_side(3, 2 * pair + 1));
        heads += first_side(3, 2 * pair) == Side::a ? 1 : 0;
    }
    EXPECT_NEAR(heads, 5'000, 200);
}

TEST(DualFire, DrawsAnotherOrderWithAnotherSeed) {
    int same = 0;
    for (std::uint32_t pair = 0; pair < 10'000; ++pair) {
        same += first_side(3, 2 * pair) == first_side(4, 2 * pair) ? 1 : 0;
    }
    EXPECT_NEAR(same, 5'000, 200);
}

// A row keeps its order, whatever is selected beside it.
TEST(DualFire, OrderIsTheRowsOwn) {
    const Trace trace = trace_of(30);
    PlanOptions late;
    late.start_ns = 3'000'000;
    const Plan all = dual_of(trace, single_plan(trace), 7);
    const Plan some = dual_of(trace, single_plan(trace, late), 7);
    ASSERT_EQ(some.rows.size(), 42u);
    for (std::size_t i = 0; i < some.rows.size(); ++i) {
        EXPECT_EQ(some.rows[i].row, all.rows[i + 18].row);
        EXPECT_EQ(some.rows[i].side, all.rows[i + 18].side);
    }
}

TEST(DualFire, DigestTellsOfSidesAndOrder) {
    const Trace trace = trace_of(30);
    const Plan plan = single_plan(trace);
    std::set<std::uint64_t> digests = {plan.schedule_digest};
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        digests.insert(dual_of(trace, plan, seed).schedule_digest);
    }
    EXPECT_EQ(digests.size(), 5u);
    EXPECT_EQ(dual_of(trace, plan, 2).schedule_digest, dual_of(trace, plan, 2).schedule_digest);
}

// Each server has a cache of its own: the second request of a row is no hit of the first's.
TEST(DualFire, HitsAreThoseOfOneServer) {
    const Trace trace = trace_of(3);
    Plan a = single_plan(trace);
    Plan b = expect_cached(trace, 8, a);  // whose template displaces more
    a.server_cached = {0, 32, 32};
    b.server_cached = {0, 16, 16};
    Result<Plan> dual = dual_plan(trace, a, b, 1);
    ASSERT_TRUE(dual);
    for (const Planned& planned : dual.value().rows) {
        const Plan& own = planned.side == Side::a ? a : b;
        EXPECT_EQ(planned.expected_cached_tokens, own.rows[planned.row].expected_cached_tokens);
    }
    EXPECT_EQ(dual.value().rows[0].expected_cached_tokens, 0u);
    EXPECT_EQ(dual.value().rows[1].expected_cached_tokens, 0u);
    EXPECT_EQ(dual.value().server_cached, a.server_cached);
    EXPECT_EQ(dual.value().against_cached, b.server_cached);
}

TEST(DualFire, EachSideIsThePlanItWasMadeOf) {
    const Trace trace = trace_of(31);
    const Plan plan = single_plan(trace);
    const Plan dual = dual_of(trace, plan, 9);
    for (const Side side : {Side::a, Side::b}) {
        const Plan own = plan_of_side(trace, dual, side);
        EXPECT_FALSE(own.dual);
        EXPECT_EQ(own.schedule_digest, plan.schedule_digest);
        EXPECT_EQ(own.foretold.cached_tokens, plan.foretold.cached_tokens);
        EXPECT_EQ(own.burst_rows_max, plan.burst_rows_max);
        EXPECT_EQ(own.rows.size(), plan.rows.size());
    }
}

}  // namespace
}  // namespace driftless
