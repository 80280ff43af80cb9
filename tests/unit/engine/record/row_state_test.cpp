// A long answer leaves no memory to the rows after it.

#include "engine/record/row_state.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/plan/forecast.hpp"
#include "proto/core/hash.hpp"
#include "tests/unit/engine/record/script.hpp"
#include "tests/unit/made.hpp"

namespace driftless {

namespace {

TEST(AnswerState, KeepsNoMemoryOfALongOne) {
    AnswerState answer;
    answer.reset(true);
    answer.text.content.assign(1 << 20, 'x');
    answer.text.reasoning.assign(100, 'x');
    answer.chunk_stamps.resize(100'000);
    answer.chunk_tokens.resize(100'000);
    answer.reset(true);
    EXPECT_LE(answer.text.content.capacity(), 64U * 1024);
    EXPECT_GE(answer.text.reasoning.capacity(), 100U) << "a short one's serves the next";
    EXPECT_LE(answer.chunk_stamps.capacity(), 8U * 1024);
    EXPECT_LE(answer.chunk_tokens.capacity(), 8U * 1024);
    EXPECT_EQ(answer.first_token_ns, no_stamp);
}

// The forecast by the order of the run: in the order of the file it is the plan's, in any other
// order that of an infinite cache which is asked in that order, and passes share nothing.

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
    row.name_space = static_cast<std::uint32_t>(random.below(2));
    // Lengths that come again, on the borders of blocks and between them, beyond the ids and not.
    row.input_length = shortest + static_cast<std::uint32_t>(random.below(blocks * 4 + 5)) * 4;
    row.output_length = 1;
    append_row(trace, row, ids);
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
    Trace trace{.block_size = block, .name_spaces = 1};
    const std::vector<std::vector<std::uint64_t>> prompts = {
        {1, 2, 3, 4}, {1, 2}, {1, 2, 3, 5}, {7}};
    for (const std::vector<std::uint64_t>& ids : prompts) {
        TraceRow row;
        row.input_length = static_cast<std::uint32_t>(ids.size() * block + 2);
        row.output_length = 1;
        append_row(trace, row, ids);
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
    Trace trace{.block_size = block, .name_spaces = 1};
    for (const std::uint64_t id : {1, 2, 3}) {
        trace.ids.push_back(id);
    }
    TraceRow row{.ids_count = 3, .input_length = 3 * block, .output_length = 1};
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

// Which rows are turns before another, and whether that one was sent before they had ended: in
// whatever order ends come, over segments, and with every end that is not known.

constexpr auto answer = Trigger::completion;
constexpr auto sending = Trigger::dispatch;

// Rows 0, 1, 2, .. of the sessions that are named; -1: of none.
ScriptTrace trace_of(const std::vector<int>& sessions, std::vector<Dependency> dependencies = {}) {
    ScriptTrace input(static_cast<std::uint32_t>(sessions.size()));
    for (std::size_t i = 0; i < sessions.size(); ++i) {
        if (sessions[i] >= 0) {
            input.trace.rows[i].session = static_cast<std::uint32_t>(sessions[i]);
            input.trace.sessions.resize(std::max<std::size_t>(
                input.trace.sessions.size(), static_cast<std::size_t>(sessions[i]) + 1));
        }
    }
    input.trace.dependencies = std::move(dependencies);
    return input;
}

struct Bench {
    ScriptTrace input;
    TurnEnds turns;
    explicit Bench(ScriptTrace made, const RowEnds* earlier = nullptr)
        : input(std::move(made)), turns(input.trace, input.plan, earlier) {}

    void end(std::uint32_t row, OptionalNs ended_ns) { turns.end(input.trace.rows[row], ended_ns); }
    std::optional<bool> overtaken(std::uint32_t row, std::int64_t fired_ns) const {
        return turns.overtaken(input.trace.rows[row], fired_ns);
    }
};

// Without sessions and dependencies nothing comes after anything.
TEST(TurnEnds, OfRowsThatStandAlone) {
    Bench bench(trace_of({-1, -1}));
    bench.end(0, 5);
    EXPECT_EQ(bench.overtaken(1, 3), std::nullopt);
}

// The turn before is the row before it in its session; rows of no session have none.
TEST(TurnEnds, TheRowBeforeInTheSession) {
    Bench bench(trace_of({0, 1, -1, 0, -1}));
    bench.end(0, 50);
    bench.end(1, 1'000);
    bench.end(2, 1'000);
    EXPECT_EQ(bench.overtaken(0, 0), std::nullopt);
    EXPECT_EQ(bench.overtaken(3, 49), true);
    EXPECT_EQ(bench.overtaken(3, 50), false);
    EXPECT_EQ(bench.overtaken(3, 51), false);
    EXPECT_EQ(bench.overtaken(4, 0), std::nullopt);
}

// In the order of the trace, which is that of time, not of the file.
TEST(TurnEnds, InTheOrderOfTheTrace) {
    ScriptTrace input = trace_of({0, 0});
    std::swap(input.trace.rows[0].index, input.trace.rows[1].index);
    Bench bench(input);
    bench.end(0, 50);
    EXPECT_EQ(bench.overtaken(1, 49), true);
    EXPECT_EQ(bench.overtaken(0, 0), std::nullopt);
}

// A turn that is open when the next one ends has been overtaken.
TEST(TurnEnds, TurnsThatAreOpenStill) {
    Bench bench(trace_of({0, 0, 0}));
    EXPECT_EQ(bench.overtaken(1, 10), true);
    bench.end(1, 20);
    EXPECT_EQ(bench.overtaken(2, 30), false);  // of the row before it alone
}

// Where the trace says what a row waited for, its session says nothing, and what it did not wait
// for has not been overtaken.
TEST(TurnEnds, WhatTheRowWaitedFor) {
    Bench bench(trace_of({0, 0, 0, 0, -1}, {{2, 0, answer, 7},
                                            {3, 1, sending, 0},
                                            {4, 0, answer, 0},
                                            {4, 1, answer, 0},
                                            {4, 2, sending, 0}}));
    bench.end(0, 50);
    EXPECT_EQ(bench.overtaken(2, 49), true);
    EXPECT_EQ(bench.overtaken(2, 50), false);  // whatever row 1 does
    EXPECT_EQ(bench.overtaken(3, 0), std::nullopt);
    EXPECT_EQ(bench.overtaken(4, 100), true);  // row 1 is open
    bench.end(1, 90);
    EXPECT_EQ(bench.overtaken(4, 100), false);
    EXPECT_EQ(bench.overtaken(4, 60), true);
}

// A row without recorded waits goes by its session, also where others have some.
TEST(TurnEnds, RowsWithoutWaitsBesideOthers) {
    Bench bench(trace_of({0, 0, 0}, {{1, 0, answer, 0}}));
    bench.end(1, 50);
    EXPECT_EQ(bench.overtaken(2, 49), true);
    EXPECT_EQ(bench.overtaken(2, 50), false);
}

// A turn that was not sent, or is not selected, has no end; one that is known to be late counts.
TEST(TurnEnds, EndsThatNobodyKnows) {
    ScriptTrace input = trace_of({0, 0, 0, 1}, {{2, 0, answer, 0}, {2, 1, answer, 0}});
    input.plan.rows.erase(input.plan.rows.begin());
    Bench bench(input);
    bench.end(1, 50);
    EXPECT_EQ(bench.overtaken(1, 0), std::nullopt);
    EXPECT_EQ(bench.overtaken(2, 50), std::nullopt);
    EXPECT_EQ(bench.overtaken(2, 49), true);
    bench.end(1, std::nullopt);
    EXPECT_EQ(bench.overtaken(2, 0), std::nullopt);
}

// What ended in an earlier segment was over before this one began, though the instants of segments
// overlap; a row that was lost there has no end. Records may name any row.
TEST(TurnEnds, OverSegments) {
    const RowEnds earlier = {{0, true}, {1, false}, {4'000'000'000u, true}};
    ScriptTrace input = trace_of({0, 1, 0, 1});
    input.plan.rows.erase(input.plan.rows.begin(), input.plan.rows.begin() + 2);
    Bench bench(input, &earlier);
    EXPECT_EQ(bench.overtaken(2, -50), false);
    EXPECT_EQ(bench.overtaken(2, 50), false);
    EXPECT_EQ(bench.overtaken(3, 50), std::nullopt);
}

// Dual fire: a conversation with one server waits for none of the other's answers.
TEST(TurnEnds, OfOneSide) {
    ScriptTrace input = trace_of({0, 0});
    for (Planned& planned : input.plan.rows) {
        planned.side = Side::a;
    }
    const std::vector<Planned> of_a = input.plan.rows;
    for (Planned planned : of_a) {
        planned.side = Side::b;
        input.plan.rows.push_back(planned);
    }
    const RowEnds earlier = {{sending_number(0, 0, Side::b), true}};
    TurnEnds a(input.trace, input.plan, &earlier, Side::a);
    TurnEnds b(input.trace, input.plan, &earlier, Side::b);
    EXPECT_EQ(a.overtaken(input.trace.rows[1], 50), true);  // still open there
    EXPECT_EQ(b.overtaken(input.trace.rows[1], 50), false);
    a.end(input.trace.rows[0], 40);
    EXPECT_EQ(a.overtaken(input.trace.rows[1], 50), false);
}

// A sampled trace keeps the indices of its file: they have gaps.
TEST(TurnEnds, IndicesWithGaps) {
    ScriptTrace input = trace_of({0, 0});
    input.trace.rows[0].index = 70;
    input.trace.rows[1].index = 9;
    Bench bench(input);
    bench.end(0, 50);
    EXPECT_EQ(bench.overtaken(1, 49), true);
    EXPECT_EQ(bench.overtaken(1, 50), false);
}

// What the assembler makes of it: rows that end before the turn before them, behind it, not at all.
TEST(TurnEnds, InRecords) {
    ScriptTrace input = trace_of({0, 0, 0, 0, 0});
    Assembler assembler(input.config());
    assembler.begin({script_zero_ns});
    Script first(assembler, 0);
    Script second(assembler, 1);
    Script third(assembler, 2);
    first.fire(0);
    second.fire(1'000'000);
    EXPECT_EQ(second.head(2'000'000).text(3'000'000, "a").done(4'000'000).end(4'000'000).overtaken,
              true);
    EXPECT_EQ(first.head(5'000'000).text(5'000'000, "a").done(5'000'000).end(5'000'000).overtaken,
              std::nullopt);
    third.fire(6'000'000);
    EXPECT_EQ(third.end(7'000'000, Outcome::timeout_first_byte).overtaken, false);
    Script fourth(assembler, 3);
    fourth.fire(6'999'999);  // a turn that has failed is over, too
    EXPECT_EQ(fourth.end(9'000'000, Outcome::truncated).overtaken, true);
    Script last(assembler, 4);
    const Record& unsent = last.end(9'500'000, Outcome::not_sent);
    EXPECT_EQ(unsent.fired_ns, std::nullopt);
    EXPECT_EQ(unsent.overtaken, std::nullopt);
}

}  // namespace

}  // namespace driftless
