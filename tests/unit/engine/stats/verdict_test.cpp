// What the verdict of a run follows from: taints, losses, busy seconds, and whose doing they were.
#include "engine/stats/verdict.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

// As design and schema spell them.
TEST(Verdict, IsToldByItsName) {
    EXPECT_STREQ(name_of(Verdict::certified), "certified");
    EXPECT_STREQ(name_of(Verdict::certified_with_exclusions), "certified-with-exclusions");
    EXPECT_STREQ(name_of(Verdict::client_limited), "client-limited");
    EXPECT_STREQ(name_of(Verdict::host_noisy), "host-noisy");
    EXPECT_STREQ(name_of(Verdict::network_limited), "network-limited");
    EXPECT_STREQ(name_of(Verdict::uncalibrated), "uncalibrated");
}

constexpr std::int64_t second_ns = 1'000'000'000;

SummaryFigures figures_of(std::uint64_t rows) {
    SummaryFigures figures;
    figures.rows = rows;
    figures.fired = rows;
    return figures;
}

void taint_late_rows(SummaryFigures& figures, LateCause cause, std::uint64_t rows) {
    figures.tainted_rows += rows;
    figures.tainted_late[static_cast<std::size_t>(cause)] += rows;
}

/// A second in which the engine was busy, and kept from its CPU, for such shares of it.
ClientSample second_of(double busy, double taken) {
    ClientSample sample;
    sample.to_ns = second_ns;
    sample.busy_receive_ns = static_cast<std::int64_t>(busy * second_ns);
    sample.run_delay_ns = static_cast<std::int64_t>(taken * second_ns);
    sample.steal_ns = 0;
    return sample;
}

ClientTotals totals_of(double busy, double taken) {
    ClientTotals totals;
    totals.add(second_of(busy, taken));
    return totals;
}

Verdict verdict_of(const SummaryFigures& figures, const ClientTotals& client) {
    return judge_run(figures, client, {.drift_ns = 500'000}).verdict;
}

TEST(Verdict, ARunWithoutTaintsIsCertified) {
    const Judgement judged = judge_run(figures_of(1000), totals_of(0.3, 0), {.drift_ns = 500'000});
    EXPECT_EQ(judged.verdict, Verdict::certified);
    ASSERT_EQ(judged.reasons.size(), 1u);
    EXPECT_NE(judged.reasons[0].find("0.500 ms"), std::string::npos) << judged.reasons[0];
}

TEST(Verdict, UpToOneInAHundredTaintedRowsAreExclusions) {
    SummaryFigures figures = figures_of(1000);
    taint_late_rows(figures, LateCause::wake, 10);
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0)), Verdict::certified_with_exclusions);
    taint_late_rows(figures, LateCause::wake, 1);
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0)), Verdict::host_noisy);
}

// What rows in flight measured is lost when a run dies: never certified, and ours beyond 1 %.
TEST(Verdict, InterruptedRowsAreExclusions) {
    SummaryFigures figures = figures_of(1000);
    const auto interrupt = [&figures](std::uint64_t rows) {
        figures.outcomes[static_cast<std::size_t>(Outcome::interrupted)] = rows;
        figures.interrupted_untainted = rows;
        return judge_run(figures, totals_of(0.3, 0), {.drift_ns = 500'000});
    };
    EXPECT_EQ(interrupt(0).verdict, Verdict::certified);
    const Judgement judged = interrupt(1);
    EXPECT_EQ(judged.verdict, Verdict::certified_with_exclusions);
    EXPECT_NE(judged.reasons[0].find("1 row was in flight when"), std::string::npos)
        << judged.reasons[0];
    EXPECT_EQ(interrupt(10).verdict, Verdict::certified_with_exclusions);
    EXPECT_EQ(interrupt(11).verdict, Verdict::client_limited);
}

TEST(Verdict, SlowPreparationIsTheClients) {
    SummaryFigures figures = figures_of(100);
    taint_late_rows(figures, LateCause::prepare, 40);
    taint_late_rows(figures, LateCause::wake, 3);
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0)), Verdict::client_limited);
}

TEST(Verdict, WorkThatWasInterruptedByOthersIsTheHosts) {
    SummaryFigures figures = figures_of(100);
    taint_late_rows(figures, LateCause::guard, 40);
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0)), Verdict::client_limited);
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0.4)), Verdict::host_noisy);
}

// A queue behind us is the network's, unless others had the CPU that empties it.
TEST(Verdict, RowsThatWaitedForTheWireAreTheNetworks) {
    SummaryFigures figures = figures_of(100);
    figures.tainted_rows = figures.tainted_wire_late = 40;
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0)), Verdict::network_limited);
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0.4)), Verdict::host_noisy);
    const Judgement judged = judge_run(figures, totals_of(0.3, 0), {.wire_ns = 200'000});
    EXPECT_NE(judged.reasons[0].find("40 rows on the wire more than 0.200 ms after"),
              std::string::npos)
        << judged.reasons[0];
}

TEST(Verdict, LanesThatStoodTooLateAreTheNetworks) {
    SummaryFigures figures = figures_of(100);
    taint_late_rows(figures, LateCause::lane, 40);
    ClientTotals totals = totals_of(0.3, 0);
    EXPECT_EQ(verdict_of(figures, totals), Verdict::client_limited);
    totals.slow_connects = 12;
    EXPECT_EQ(verdict_of(figures, totals), Verdict::network_limited);
}

TEST(Verdict, OneLossOfOursIsEnough) {
    SummaryFigures lost = figures_of(100'000);
    lost.tainted_rows = 1;
    lost.tainted_lost = 1;
    EXPECT_EQ(verdict_of(lost, totals_of(0.3, 0)), Verdict::client_limited);
    ClientTotals starved = totals_of(0.3, 0);
    starved.no_buffers = 1;
    EXPECT_EQ(verdict_of(figures_of(100), starved), Verdict::client_limited);
    ClientTotals overflowed = totals_of(0.3, 0);
    overflowed.overflows = 1;
    EXPECT_EQ(verdict_of(figures_of(100), overflowed), Verdict::client_limited);
}

// One row is enough: it says nothing about the server, and more may have been on the brink.
TEST(Verdict, ARowThatFailedForOurOwnLackIsTheClients) {
    SummaryFigures figures = figures_of(100'000);
    figures.tainted_rows = figures.tainted_client_failed = 1;
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0.4)), Verdict::client_limited);
}

TEST(Verdict, RowsThatALimitOfTheHostHeldBackAreTheClients) {
    SummaryFigures figures = figures_of(100);
    figures.tainted_rows = figures.tainted_limit = 40;
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0.4)), Verdict::client_limited);
    figures.tainted_rows = figures.tainted_limit = 1;
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0)), Verdict::certified_with_exclusions);
}

TEST(Verdict, RequestsThatWereLostAreTheNetworks) {
    SummaryFigures figures = figures_of(100);
    figures.tainted_rows = figures.tainted_retransmitted = 40;
    figures.retransmitted_rows = 41;
    figures.retransmits = 60;
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0)), Verdict::network_limited);
    const Judgement judged = judge_run(figures, totals_of(0.3, 0), {});
    EXPECT_NE(judged.reasons[0].find("41 rows had 60 segments sent again"), std::string::npos)
        << judged.reasons[0];
}

TEST(Verdict, ASecondAboveSixtyPercentIsNotCertified) {
    EXPECT_EQ(verdict_of(figures_of(100), totals_of(0.59, 0)), Verdict::certified);
    EXPECT_EQ(verdict_of(figures_of(100), totals_of(0.61, 0)), Verdict::client_limited);
    EXPECT_EQ(verdict_of(figures_of(100), totals_of(0.61, 0.3)), Verdict::host_noisy);
}

TEST(Verdict, TheEndOfARunIsNoSecond) {
    ClientTotals totals = totals_of(0.3, 0);
    ClientSample end = second_of(1, 0);
    end.from_ns = second_ns;
    end.to_ns = second_ns + second_ns / 100;
    end.busy_receive_ns = second_ns / 100;
    totals.add(end);
    EXPECT_EQ(verdict_of(figures_of(100), totals), Verdict::certified);
}

TEST(Verdict, LimitsAreTenTimesTheHostsOwnFloor) {
    Calibration calibration;
    calibration.wake_sleep.p99_ns = 50'000;
    calibration.fire_large.p99_ns = 20'000;
    const auto rehearsal = [](std::int64_t chunks, std::int64_t p99_ns) {
        Rehearsal one;
        one.chunks = chunks;
        one.drift = {1000, 100, p99_ns, p99_ns, p99_ns};
        one.receive_delay = {1000, 100, 2 * p99_ns, 2 * p99_ns, 2 * p99_ns};
        return one;
    };
    calibration.rehearsals = {rehearsal(10'000, 10'000), rehearsal(30'000, 70'000),
                              rehearsal(60'000, 90'000)};
    const TaintLimits calm = taint_limits(calibration, 5'000);
    EXPECT_EQ(calm.drift_ns, 500'000);  // the sleeping thread
    EXPECT_EQ(calm.rank_ns, 20'000);
    EXPECT_EQ(calm.receive_delay_ns, 200'000);
    EXPECT_EQ(calm.wire_ns, 200'000);
    const TaintLimits busy = taint_limits(calibration, 60'000);
    EXPECT_EQ(busy.drift_ns, 700'000);  // the median rehearsal
    EXPECT_EQ(busy.receive_delay_ns, 1'400'000);
}

}  // namespace
}  // namespace driftless
