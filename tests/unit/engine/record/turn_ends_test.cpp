// Which rows are turns before another, and whether that one was sent before they had ended: in
// whatever order ends come, over segments, and with every end that is not known.
#include "engine/record/turn_ends.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/unit/engine/record/script.hpp"

namespace driftless {
namespace {

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
