// How late rows left, by stage, cause and place in their instant. Expectations are worked out by
// hand.
#include <gtest/gtest.h>

#include "proto/figures/run_timeline.hpp"

namespace driftless {
namespace {

Record sent(std::uint32_t row, std::int64_t due_ns, std::int64_t drift_ns) {
    Record record;
    record.row = row;
    record.due_ns = due_ns;
    record.fired_ns = due_ns + drift_ns;
    record.drift_ns = drift_ns;
    return record;
}

const Distribution& of_cause(const SendingFigures& figures, LateCause cause) {
    return figures.by_cause[static_cast<std::size_t>(cause)];
}

// From the due instant to the wire is drift and wire delay; the call's length stands beside them.
TEST(Sending, AddsTheStagesUp) {
    Sending sending;
    Record record = sent(0, 1'000, 300);
    record.submit_ns = 9'000;
    record.wire_ns = 1'000 + 300 + 5'000;
    record.receive_delay_ns = 70'000;
    sending.add(record);
    sending.add(sent(1, 2'000, 500));  // without kernel stamps
    sending.add(Record{});             // never sent
    const SendingFigures figures = sending.figures();
    EXPECT_EQ(figures.drift.count, 2u);
    EXPECT_EQ(figures.submit.max, 9'000);
    EXPECT_EQ(figures.wire_delay.count, 1u);
    EXPECT_EQ(figures.wire_delay.max, 5'000);
    EXPECT_EQ(figures.wire_drift.max, 5'300);
    EXPECT_EQ(figures.receive_delay.max, 70'000);
    EXPECT_EQ(figures.wire_unknown, 1u);
}

// Of five rows due at once the second and the last found no connection: the fourth left in its
// place, to which its limit was held. An instant of which nothing left says nothing.
TEST(Sending, CountsThePlacesOfRowsThatDidNotLeave) {
    Sending sending;
    for (std::uint32_t row = 0; row < 5; ++row) {
        Record record = sent(row, 1'000, 10);
        if (row == 1 || row == 4) {
            record.fired_ns.reset();
        }
        sending.add(record);
    }
    for (std::uint32_t row = 5; row < 15; ++row) {
        Record record{.row = row, .due_ns = 2'000};
        sending.add(record);
    }
    const SendingFigures figures = sending.figures();
    EXPECT_EQ(figures.drift.count, 3u);
    EXPECT_EQ(figures.instant_rows_max, 4u);
    ASSERT_EQ(figures.by_rank.size(), 2u);
    EXPECT_EQ(figures.by_rank[1].first, 2u);
    EXPECT_EQ(figures.by_rank[1].drift.count, 2u);
}

// Each late cause has its own drift; what the user held back is in none.
TEST(Sending, TellsCausesApart) {
    Sending sending;
    Record wake = sent(0, 0, 8'000);
    wake.late_cause = LateCause::wake;
    Record lane = sent(1, 0, 90'000);
    lane.late_cause = LateCause::lane;
    Record held = sent(2, 0, 5'000'000);
    held.late_cause = LateCause::inflight;
    held.wire_ns = 5'004'000;
    for (const Record& record : {wake, lane, held, sent(3, 1, 100)}) {
        sending.add(record);
    }
    const SendingFigures figures = sending.figures();
    EXPECT_EQ(figures.drift.count, 3u);
    EXPECT_EQ(figures.drift.max, 90'000);
    EXPECT_EQ(of_cause(figures, LateCause::none).count, 1u);
    EXPECT_EQ(of_cause(figures, LateCause::wake).max, 8'000);
    EXPECT_EQ(of_cause(figures, LateCause::lane).max, 90'000);
    EXPECT_EQ(of_cause(figures, LateCause::inflight).count, 0u);
    EXPECT_EQ(figures.wire_delay.count, 1u);
    EXPECT_EQ(figures.wire_drift.count, 0u);
}

// What a cap held back is told, with how long and how late; the host's cap is in the drift, too.
TEST(Sending, TellsWhatCapsHeldBack) {
    Sending sending;
    for (const LateCause cause : {LateCause::inflight, LateCause::limit, LateCause::budget}) {
        Record held = sent(cause == LateCause::limit ? 1 : 0, 0, 5'000'000);
        held.late_cause = cause;
        held.held_ns = cause == LateCause::limit ? 3'000'000 : 4'000'000;
        sending.add(held);
    }
    const SendingFigures figures = sending.figures();
    EXPECT_EQ(figures.held_by_user.held.count, 1u);
    EXPECT_EQ(figures.held_by_user.held.max, 4'000'000);
    EXPECT_EQ(figures.held_by_user.drift.max, 5'000'000);
    EXPECT_EQ(figures.held_by_budget.held.max, 4'000'000);
    EXPECT_EQ(figures.held_by_budget.drift.count, 1u);
    EXPECT_EQ(figures.held_by_host.held.max, 3'000'000);
    EXPECT_EQ(figures.held_by_host.drift.count, 1u);
    EXPECT_EQ(figures.drift.count, 1u);
}

// The place among the rows of one instant, in file order whatever the order of the records; a row
// that was held back keeps its place and is not counted.
TEST(Sending, RanksTheRowsOfAnInstant) {
    Sending sending;
    Record held = sent(6, 500, 9'000'000);
    held.late_cause = LateCause::inflight;
    sending.add(held);
    for (const std::uint32_t row : {4u, 2u, 5u, 3u}) {
        sending.add(sent(row, 500, row * 1'000));
    }
    sending.add(sent(0, 100, 10));
    sending.add(sent(7, 700, 20));
    sending.add(sent(8, 700, 5'000));
    const std::vector<RankFigures> ranks = sending.figures().by_rank;
    ASSERT_EQ(ranks.size(), 3u);
    EXPECT_EQ(ranks[0].first, 0u);  // rows 0, 2, 7
    EXPECT_EQ(ranks[0].last, 0u);
    EXPECT_EQ(ranks[0].drift.count, 3u);
    EXPECT_EQ(ranks[0].drift.median(), 20);
    EXPECT_EQ(ranks[0].drift.max, 2'000);
    EXPECT_EQ(ranks[1].first, 1u);  // rows 3, 8
    EXPECT_EQ(ranks[1].drift.count, 2u);
    EXPECT_EQ(ranks[1].drift.max, 5'000);
    EXPECT_EQ(ranks[2].first, 2u);  // rows 4, 5
    EXPECT_EQ(ranks[2].last, 3u);
    EXPECT_EQ(ranks[2].drift.count, 2u);
    EXPECT_EQ(ranks[2].drift.max, 5'000);
}

TEST(Sending, NothingSentIsNothing) {
    const SendingFigures figures = Sending().figures();
    EXPECT_EQ(figures.drift.count, 0u);
    EXPECT_TRUE(figures.by_rank.empty());
}

}  // namespace
}  // namespace driftless
