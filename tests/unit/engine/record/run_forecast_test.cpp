// The forecast by the order of the run: in the order of the file it is the plan's, in any other
// order that of an infinite cache which is asked in that order, and passes share nothing.
#include "engine/record/run_forecast.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "engine/plan/cache_forecast.hpp"
#include "engine/plan/server_forecast.hpp"
#include "proto/core/hash.hpp"

namespace driftless {
namespace {

constexpr std::uint32_t block = 16;
constexpr std::uint32_t server_block = 4;

/// Ids that are chained, or that name contents alone.
void add_row(Trace& trace, Random& random, bool chained, std::uint32_t shortest) {
    std::vector<std::uint64_t> ids;
    std::uint64_t chain = 0;
    const std::uint64_t blocks = random.below(8);
    for (std::uint64_t k = 0; k < blocks; ++k) {
        const std::uint64_t pick = random.below(3);
        chain = chain * 3 + pick + 1;
        ids.push_back(chained ? chain : pick);
    }
    TraceRow row;
    row.index = static_cast<std::uint32_t>(trace.rows.size());
    row.name_space = static_cast<std::uint32_t>(random.below(2));
    // Lengths that come again, on the borders of blocks and between them, beyond the ids and not.
    row.input_length = shortest + static_cast<std::uint32_t>(random.below(blocks * 4 + 5)) * 4;
    row.output_length = 1;
    row.ids_begin = trace.ids.size();
    row.ids_count = static_cast<std::uint32_t>(ids.size());
    trace.ids.append(ids);
    trace.rows.push_back(row);
}

Trace make_trace(std::uint64_t seed, bool chained, std::uint32_t shortest) {
    Random random(seed);
    Trace trace;
    trace.block_size = block;
    for (int i = 0; i < 150; ++i) {
        add_row(trace, random, chained, shortest);
    }
    trace.name_spaces = 2;
    return trace;
}

Plan plan_of(const Trace& trace) {
    return make_plan(trace, {}).value();
}

Due due_of_row(std::uint32_t row, std::uint32_t pass = 0, std::uint32_t user = 0) {
    Due due;
    due.row = due.request = row;
    due.pass = pass;
    due.user = user;
    return due;
}

ForecastRules rules_for(AroundPrompt around) {
    ForecastRules rules;
    rules.in_run_order = true;
    rules.users = 1;
    rules.around = around;
    rules.server_block = server_block;
    return rules;
}

/// The same rows, numbered in that order.
Trace reordered(const Trace& trace, const std::vector<std::uint32_t>& order) {
    Trace other = trace;
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        other.rows[i] = trace.rows[order[i]];
        other.rows[i].index = i;
    }
    return other;
}

TEST(RunForecast, IsThatOfTheFileInAnyOrder) {
    // Of templates longer than a block the plan does not see that what is behind the words is
    // equal.
    constexpr AroundPrompt arounds[] = {{0, 0}, {3, 0}, {0, 5}, {7, 15}, {2, 9}};
    for (const AroundPrompt around : arounds) {
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            const Trace trace = make_trace(seed, seed % 2 == 0, around.pre + around.post + 1);
            std::vector<std::uint32_t> order(trace.rows.size());
            for (std::uint32_t i = 0; i < order.size(); ++i) {
                order[i] = i;
            }
            Random random(seed);
            for (std::size_t left = order.size(); seed > 2 && left > 1; --left) {
                std::swap(order[left - 1], order[random.below(left)]);
            }
            const Trace played = reordered(trace, order);
            CacheForecast in_file(played, around.post);
            const std::vector<std::uint32_t> at_server =
                expect_server_cached(played, around, server_block, plan_of(played)).value();
            RunForecast forecast(trace, plan_of(trace), rules_for(around), nullptr);
            std::uint64_t sum = 0;
            for (std::uint32_t i = 0; i < order.size(); ++i) {
                const ExpectedHits hits = forecast.fired(due_of_row(order[i]));
                ASSERT_EQ(hits.tokens, in_file.next(played.rows[i])) << i << ", seed " << seed;
                ASSERT_EQ(hits.server, at_server[i]) << i << ", seed " << seed;
                sum += hits.tokens;
            }
            EXPECT_GT(sum, 0U);
        }
    }
}

// Each pass begins with an empty cache, however the passes of several users overlap.
TEST(RunForecast, KeepsPassesApart) {
    const Trace trace = make_trace(3, true, 1);
    const Plan plan = plan_of(trace);
    ForecastRules rules = rules_for({});
    rules.users = 2;
    RunForecast both(trace, plan, rules, nullptr);
    RunForecast alone(trace, plan, rules_for({}), nullptr);
    std::vector<std::uint32_t> first;
    for (std::uint32_t row = 0; row < trace.rows.size(); ++row) {
        first.push_back(alone.fired(due_of_row(row)).tokens);
    }
    for (std::uint32_t pass = 0; pass < 50; ++pass) {
        for (std::uint32_t row = 0; row < trace.rows.size(); ++row) {
            ASSERT_EQ(both.fired(due_of_row(row, pass, 0)).tokens, first[row]) << pass;
            if (pass >= 2) {  // two passes behind
                ASSERT_GE(both.fired(due_of_row(row, pass - 2, 1)).tokens, first[row]) << pass;
            }
        }
    }
    // A user that begins where all others had been long ago.
    EXPECT_EQ(both.fired(due_of_row(0, 0, 2)).tokens, 0U);
}

// What all passes share one pass leaves to the next, and no more; where rows end inside of it, too.
TEST(RunForecast, LeavesSharedBlocksToOtherPasses) {
    Trace trace;
    trace.block_size = block;
    trace.name_spaces = 1;
    const std::vector<std::vector<std::uint64_t>> prompts = {
        {1, 2, 3, 4}, {1, 2}, {1, 2, 3, 5}, {7}};
    for (const std::vector<std::uint64_t>& ids : prompts) {
        TraceRow row;
        row.index = static_cast<std::uint32_t>(trace.rows.size());
        row.ids_begin = trace.ids.size();
        row.ids_count = static_cast<std::uint32_t>(ids.size());
        row.input_length = row.ids_count * block + 2;
        row.output_length = 1;
        trace.ids.append(ids);
        trace.rows.push_back(row);
    }
    const std::vector<std::uint32_t> shared = {3, 2, 3, 0};
    ForecastRules rules = rules_for({});
    rules.shared_blocks = shared;
    RunForecast forecast(trace, plan_of(trace), rules, nullptr);
    const auto blocks = [&](std::uint32_t row, std::uint32_t pass) {
        return forecast.fired(due_of_row(row, pass)).tokens / block;
    };
    EXPECT_EQ(blocks(1, 0), 0U);
    EXPECT_EQ(blocks(0, 0), 2U);
    EXPECT_EQ(blocks(3, 0), 0U);
    EXPECT_EQ(blocks(2, 1), 3U) << "the whole of what is shared";
    EXPECT_EQ(blocks(0, 1), 3U);
    EXPECT_EQ(blocks(0, 1), 4U) << "its own pass has more";
    EXPECT_EQ(blocks(1, 2), 2U);
    EXPECT_EQ(blocks(3, 2), 0U);
}

// A row that is sent again finds all of its own blocks but the last token's.
TEST(RunForecast, FindsItsFirstTry) {
    Trace trace;
    trace.block_size = block;
    trace.name_spaces = 1;
    for (const std::uint64_t id : {1, 2, 3}) {
        trace.ids.push_back(id);
    }
    TraceRow row;
    row.ids_count = 3;
    row.input_length = 3 * block;
    row.output_length = 1;
    trace.rows.push_back(row);
    RunForecast forecast(trace, plan_of(trace), rules_for({}), nullptr);
    EXPECT_EQ(forecast.fired(due_of_row(0)).tokens, 0U);
    EXPECT_EQ(forecast.fired(due_of_row(0)).tokens, 2 * block);
}

// Of a run that is resumed: what left in earlier segments is in the cache.
TEST(RunForecast, KnowsEarlierSegments) {
    const Trace trace = make_trace(4, true, 1);
    Plan plan = plan_of(trace);
    RunForecast whole(trace, plan, rules_for({}), nullptr);
    RowEnds ends;
    for (std::uint32_t row = 0; row < 50; ++row) {
        (void)whole.fired(due_of_row(row));
        ends[row] = true;
    }
    ends[60] = false;  // it was not sent
    std::erase_if(plan.rows, [](const Planned& planned) { return planned.row < 50; });
    RunForecast resumed(trace, plan, rules_for({}), &ends);
    for (std::uint32_t row = 50; row < trace.rows.size(); ++row) {
        EXPECT_EQ(resumed.fired(due_of_row(row)).tokens, whole.fired(due_of_row(row)).tokens);
    }
}

}  // namespace
}  // namespace driftless
