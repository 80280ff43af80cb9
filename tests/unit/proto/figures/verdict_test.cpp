// The verdict of a run and what it says of rows.

#include "proto/figures/verdict.hpp"

#include "engine/host/calibration.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

// As design and schema spell them.
TEST(Verdict, HasAName) {
    EXPECT_STREQ(name_of(Verdict::certified), "certified");
    EXPECT_STREQ(name_of(Verdict::certified_with_exclusions), "certified-with-exclusions");
    EXPECT_STREQ(name_of(Verdict::client_limited), "client-limited");
    EXPECT_STREQ(name_of(Verdict::host_noisy), "host-noisy");
    EXPECT_STREQ(name_of(Verdict::network_limited), "network-limited");
    EXPECT_STREQ(name_of(Verdict::uncalibrated), "uncalibrated");
}

constexpr std::int64_t second_ns = 1'000'000'000;

SummaryFigures figures_of(std::uint64_t rows) {
    return {.rows = rows, .fired = rows, .taints = {.sent = rows}};
}

/// In the first 2 ms of the second that begins at `from_ns`.
void taint_rows(SummaryFigures& figures, Suspect suspect, std::uint64_t rows,
                std::int64_t from_ns = 0) {
    figures.tainted_rows += rows;
    figures.taints.rows.insert(figures.taints.rows.end(), rows,
                               {from_ns, from_ns + 2'000'000, 2'000'000, suspect});
}

void taint_late_rows(SummaryFigures& figures, LateCause cause, std::uint64_t rows,
                     std::int64_t from_ns = 0) {
    Record record{.late_cause = cause, .tainted = {std::string(taint_late)}};
    taint_rows(figures, tainted_row_of(record).suspect, rows, from_ns);
    figures.tainted_late[static_cast<std::size_t>(cause)] += rows;
}

/// A second in which the engine was busy, and kept from its CPU, for such shares of it.
ClientSample second_of(double busy, double taken) {
    return {.to_ns = second_ns,
            .busy_receive_ns = static_cast<std::int64_t>(busy * second_ns),
            .run_delay_ns = static_cast<std::int64_t>(taken * second_ns),
            .steal_ns = 0};
}

ClientTotals totals_of(double busy, double taken) {
    ClientTotals totals;
    totals.add(second_of(busy, taken));
    return totals;
}

Verdict verdict_of(const SummaryFigures& figures, const ClientTotals& client) {
    return judge_calibrated(figures, client, {.drift_ns = 500'000}).verdict;
}

TEST(Verdict, TheSentenceIsTrueInBurstsToo) {
    const Judgement judged =
        judge_calibrated(figures_of(1000), totals_of(0.3, 0), {.drift_ns = 500'000});
    EXPECT_EQ(judged.verdict, Verdict::certified);
    ASSERT_EQ(judged.reasons.size(), 2u);
    EXPECT_EQ(judged.reasons[0], "all rows were sent at most 0.000 ms late; limit 0.500 ms");
    EXPECT_EQ(judged.reasons[1],
              "the engine was busy for at most 30.0 % of a second, and nothing was lost");
    // Of both figures: what the first row of an instant was allowed, and the last of the largest
    // one.
    SummaryFigures figures = figures_of(1000);
    figures.sending.instant_rows_max = 100;
    figures.taints.untainted.drift_max_ns = 4'600'000;
    figures.taints.untainted.receive_delay_max_ns = 90'000;
    figures.taints.untainted.wire_delay_max_ns = 3'000;
    const TaintLimits limits{.drift_ns = 1'500'000,
                             .rank_ns = 40'000,
                             .drift_most_ns = 5'000'000,
                             .receive_delay_ns = 900'000,
                             .wire_ns = 400'000};
    const Judgement other_judged = judge_calibrated(figures, totals_of(0.3, 0), limits);
    EXPECT_EQ(
        other_judged.reasons[0],
        "all rows were sent at most 4.600 ms late; limit 1.500 ms (5.000 ms for the last of 100 "
        "rows at one instant)");
    EXPECT_EQ(other_judged.reasons[1],
              "all rows reached the wire at most 0.003 ms later; limit 0.400 ms");
    EXPECT_EQ(other_judged.reasons[2], "all rows were read at most 0.090 ms late; limit 0.900 ms");
}

TEST(Verdict, CountsRowsThatWereSentAndExclusions) {
    SummaryFigures figures = figures_of(1000);
    Sample drift;
    for (int row = 0; row < 12; ++row) {
        drift.add(2'031'000'000);
    }
    figures.sending.held_by_user.drift = drift.distribution();
    const Judgement judged = judge_calibrated(figures, totals_of(0.3, 0), {.drift_ns = 500'000});
    EXPECT_EQ(judged.verdict, Verdict::certified);
    EXPECT_EQ(judged.reasons[1],
              "12 rows that --max-inflight held back are judged from their release: they were sent "
              "up to 2031.000 ms late (median 2031.000 ms)");
    // 14 of 14 rows that were sent are all of them, however many were not.
    figures = figures_of(14);
    figures.rows = 2000;
    taint_late_rows(figures, LateCause::prepare, 14);
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0)), Verdict::client_limited);
    figures = figures_of(1000);
    taint_late_rows(figures, LateCause::wake, 10);
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0)), Verdict::certified_with_exclusions);
    taint_late_rows(figures, LateCause::wake, 1);
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0)), Verdict::host_noisy);
}

/// Of a host whose drift is calibrated, while others took this share of it.
Judgement judge(const SummaryFigures& figures, double taken) {
    return judge_calibrated(figures, totals_of(0.3, taken), {.drift_ns = 1});
}

// Rows that were only read late, by a known bound, are in the client's error of the figures: where
// that is small they are no reason to leave anything out, be they ever so many.
TEST(Verdict, AFigureMayBeMovedByAHundredth) {
    SummaryFigures figures = figures_of(1000);
    taint_rows(figures, Suspect::reading, 850);
    figures.tainted_read_late = 850;
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0.2)), Verdict::host_noisy);
    figures.taints.read_late_only = 850;
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0.2)), Verdict::host_noisy) << "no bound is known";
    figures.moved = {{"TTFT p99", 6e9, 12e6}, {"TPOT mean", 9e6, 1e4}};
    EXPECT_EQ(judge(figures, 0.2).verdict, Verdict::certified);
    EXPECT_TRUE(says(judge(figures, 0.2).reasons[0],
                     "this client may have moved TTFT p99 by up to 12.000 ms; limit 50.000 ms"));
    taint_late_rows(figures, LateCause::wake, 10);
    EXPECT_EQ(judge(figures, 0.2).verdict, Verdict::certified_with_exclusions);
    taint_late_rows(figures, LateCause::wake, 1);
    EXPECT_EQ(judge(figures, 0.2).verdict, Verdict::host_noisy);
    // A hundredth, at least a millisecond (of TPOT a tenth of that), at most 50.
    TaintLimits limits;
    EXPECT_EQ((MovedFigure{"TTFT p99", 20e6, 0}).allowed_ns(limits), 1e6);
    EXPECT_EQ((MovedFigure{"TTFT p99", 2e9, 0}).allowed_ns(limits), 20e6);
    EXPECT_EQ((MovedFigure{"E2E mean", 20e9, 0}).allowed_ns(limits), 50e6);
    EXPECT_EQ((MovedFigure{"TPOT mean", 5e6, 0, 0.1}).allowed_ns(limits), 1e5);
    limits.error_ns = 3'000'000;
    EXPECT_EQ((MovedFigure{"TTFT p99", 20e6, 0}).allowed_ns(limits), 3e6);
    // A figure that may be off by too much is certified by no limit that its rows have kept.
    figures = figures_of(1000);
    figures.moved = {{"TTFT mean", 1e9, 5e6}, {"E2E p99", 20e6, 1e6}};
    EXPECT_EQ(judge(figures, 0.2).verdict, Verdict::certified);
    figures.moved[1].by_ns = 1e6 + 1;
    EXPECT_EQ(judge(figures, 0.2).verdict, Verdict::host_noisy);
    EXPECT_TRUE(says(judge(figures, 0.2).reasons[0], "may have moved E2E p99 by up to 1.000 ms"));
    EXPECT_TRUE(says(judge(figures, 0.2).reasons[1], "others used the CPU"));
    EXPECT_EQ(judge(figures, 0).verdict, Verdict::client_limited);
    taint_rows(figures, Suspect::network, 1);
    EXPECT_EQ(judge(figures, 0).verdict, Verdict::client_limited)
        << "the network did not read late";
}

// What the writer can take is told where it was near to it, or lost something.
TEST(Verdict, NamesTheWritersRateNearIt) {
    ClientSample sample = second_of(0.3, 0);
    sample.chunks = 400'000;
    sample.writer_chunks = 300'000;
    sample.writer_cpu_ns = 300'000'000;
    sample.writer_run_delay_ns = 500'000'000;
    const auto judge = [&](const SummaryFigures& figures) {
        ClientTotals client;
        client.add(sample);
        return judge_calibrated(figures, client, {.drift_ns = 500'000});
    };
    EXPECT_EQ(judge(figures_of(1000)).reasons.back(),
              "the engine was busy for at most 30.0 % of a second, and nothing was lost");
    const std::string rate =
        "; 400000 events came in one second, and it reads 1000000 in a second of CPU time; its own "
        "CPU (--writer-cpu) gives it more";
    sample.writer_run_delay_ns = 600'000'000;
    EXPECT_EQ(
        judge(figures_of(1000)).reasons.back(),
        "the engine was busy for at most 30.0 % of a second, and nothing was lost; the writer "
        "was busy for 75.0 % of its available CPU time" +
            rate);
    SummaryFigures lost = figures_of(1000);
    lost.tainted_rows = lost.tainted_lost = 1;
    EXPECT_EQ(judge(lost).reasons.front(),
              "1 row lost payload in the client's own ring: the writer was too slow" + rate);
    sample.ring_dropped_payloads = 5;  // what it read in that second is all that it could
    EXPECT_EQ(
        judge(lost).reasons.front(),
        "1 row lost payload in the client's own ring: the writer was too slow; 400000 events "
        "came in one second, and it read 300000 with the 30.0 % of a CPU that it got; its own "
        "CPU (--writer-cpu) gives it more");
    EXPECT_EQ(judge(lost).verdict, Verdict::client_limited);
}

// What rows in flight measured is lost when a run dies: never certified, and ours beyond 1 %.
TEST(Verdict, InterruptedRowsAndWorkOfOthers) {
    SummaryFigures figures = figures_of(1000);
    const auto interrupt = [&figures](std::uint64_t rows) {
        figures.outcomes[static_cast<std::size_t>(Outcome::interrupted)] = rows;
        figures.interrupted_untainted = rows;
        return judge_calibrated(figures, totals_of(0.3, 0), {.drift_ns = 500'000});
    };
    EXPECT_EQ(interrupt(0).verdict, Verdict::certified);
    const Judgement judged = interrupt(1);
    EXPECT_EQ(judged.verdict, Verdict::certified_with_exclusions);
    EXPECT_TRUE(says(judged.reasons[0], "leave the tainted and interrupted rows out: 0.1 %"));
    EXPECT_TRUE(says(judged.reasons[1], "1 row was in flight when"));
    EXPECT_EQ(interrupt(10).verdict, Verdict::certified_with_exclusions);
    EXPECT_EQ(interrupt(11).verdict, Verdict::client_limited);
    figures = figures_of(100);
    taint_late_rows(figures, LateCause::prepare, 40);
    taint_late_rows(figures, LateCause::wake, 3);
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0)), Verdict::client_limited);
    figures = figures_of(100);
    taint_late_rows(figures, LateCause::guard, 40);
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0)), Verdict::client_limited);
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0.4)), Verdict::host_noisy);
}

// A queue behind us is the network's, unless others had the CPU that empties it.
TEST(Verdict, RowsThatWaitedForTheWireOrALaneAreTheNetworks) {
    SummaryFigures figures = figures_of(100);
    taint_rows(figures, Suspect::wire, 40);
    figures.tainted_wire_late = 40;
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0)), Verdict::network_limited);
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0.4)), Verdict::host_noisy);
    const Judgement judged = judge_calibrated(figures, totals_of(0.3, 0), {.wire_ns = 200'000});
    EXPECT_TRUE(says(judged.reasons[0], "40.0 % of the rows that were sent are tainted or lost"));
    EXPECT_TRUE(says(judged.reasons[1], "40 rows reached the wire more than 0.200 ms after"));

    // The kernel stamps by the real-time clock: who sets it moves the stamps.
    ClientTotals stepped;
    ClientSample second = second_of(0.3, 0);
    second.clock_steps = 2;
    stepped.add(second);
    EXPECT_FALSE(says(judged.reasons.back(), "clock was set"));
    EXPECT_TRUE(says(judge_calibrated(figures, stepped, {.wire_ns = 200'000}).reasons[2],
                     "this host's clock was set during the run"));
    figures = figures_of(100);
    taint_late_rows(figures, LateCause::lane, 40);
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0)), Verdict::client_limited);
    ClientTotals totals;
    ClientSample slow = second_of(0.3, 0);
    slow.slow_connects = 12;
    totals.add(slow);
    EXPECT_EQ(verdict_of(figures, totals), Verdict::network_limited);
}

/// Ten ordinary seconds, and others on the CPU in one of them.
ClientTotals ten_seconds(int disturbed, double taken) {
    ClientTotals totals;
    for (int i = 0; i < 10; ++i) {
        ClientSample second = second_of(0.1, i == disturbed ? taken : 0);
        second.from_ns = i * second_ns;
        second.to_ns = (i + 1) * second_ns;
        totals.add(second);
    }
    return totals;
}

// A hog of 0.2 s blames the host for what was late in its second, and for nothing else.
TEST(Verdict, BlameIsWhatCoincides) {
    SummaryFigures figures = figures_of(100);
    taint_rows(figures, Suspect::wire, 40, 3 * second_ns + second_ns / 2);
    EXPECT_EQ(verdict_of(figures, ten_seconds(7, 0.2)), Verdict::network_limited);
    EXPECT_EQ(verdict_of(figures, ten_seconds(3, 0.2)), Verdict::host_noisy);
    const Judgement elsewhere = judge_calibrated(figures, ten_seconds(7, 0.2), {});
    EXPECT_FALSE(says(elsewhere.reasons.back(), "others used the CPU"));
    EXPECT_TRUE(says(judge_calibrated(figures, ten_seconds(3, 0.2), {}).reasons[1],
                     "others used the CPU for 200.000 ms of a second (20.0 %; --realtime or"));
    // A turn of others that was as long as the row was late explains it, however short.
    figures = figures_of(100);
    taint_rows(figures, Suspect::work, 40, second_ns / 2);
    ClientTotals totals;
    ClientSample second = second_of(0.1, 0);
    second.spin_gap_max_ns = 999'999;  // half of the lateness, less one
    totals.add(second);
    EXPECT_EQ(verdict_of(figures, totals), Verdict::client_limited);
    second.spin_gap_max_ns = 1'000'000;
    totals.add(second);
    EXPECT_EQ(verdict_of(figures, totals), Verdict::host_noisy);
    // A long stream meets many seconds; the one in which bytes waited as long as its own is meant.
    figures = figures_of(100);
    figures.tainted_rows = figures.tainted_read_late = 40;
    figures.taints.rows.assign(40, {0, 10 * second_ns, 300'000'000, Suspect::reading});
    totals = ten_seconds(7, 0.4);
    totals.each[2].receive_delay_max_ns = 300'000'000;
    EXPECT_EQ(verdict_of(figures, totals), Verdict::client_limited);
    totals.each[2].receive_delay_max_ns = 0;
    totals.each[7].receive_delay_max_ns = 300'000'000;
    EXPECT_EQ(verdict_of(figures, totals), Verdict::host_noisy);
}

// Others may have the CPU as long as no row was late for it, and what is left is enough.
TEST(Verdict, TakenCpusAndRowsWithoutARecordCount) {
    EXPECT_EQ(verdict_of(figures_of(100), totals_of(0.3, 0.49)), Verdict::certified);
    EXPECT_EQ(verdict_of(figures_of(100), totals_of(0.3, 0.51)), Verdict::host_noisy);
    SummaryFigures late = figures_of(100);
    taint_late_rows(late, LateCause::guard, 2);
    const Judgement noisy = judge_calibrated(late, totals_of(0.3, 0.51), {.drift_ns = 1});
    ASSERT_EQ(noisy.reasons.size(), 3u);
    EXPECT_EQ(noisy.reasons[0],
              "the engine was busy for 30.0 % of one second, and others used its CPU for 51.0 %; "
              "above 60.0 % of its available CPU time, queues grow");
    EXPECT_TRUE(says(noisy.reasons[1], "at that time others used the CPU for"));
    const Judgement judged =
        judge_calibrated(figures_of(100), totals_of(0.1, 0.34), {.drift_ns = 1});
    EXPECT_TRUE(says(judged.reasons.back(), "others used its CPU for at most 34.0 % of a second"));
    // What left and has no record was measured by nobody: as lost as an interrupted row.
    SummaryFigures figures = figures_of(1000);
    figures.taints.sent = 1000;
    figures.unrecorded = 5;
    const Judgement few = judge_calibrated(figures, totals_of(0.1, 0), {.drift_ns = 1});
    EXPECT_EQ(few.verdict, Verdict::certified_with_exclusions);
    EXPECT_EQ(few.reasons[1], "5 rows were sent but have no record: their measurements are lost");
    figures.more_unrecorded = true;
    EXPECT_EQ(verdict_of(figures, totals_of(0.1, 0)), Verdict::client_limited);
    figures.more_unrecorded = false;
    figures.unrecorded = 900;
    const Judgement many = judge_calibrated(figures, totals_of(0.1, 0), {.drift_ns = 1});
    EXPECT_EQ(many.verdict, Verdict::client_limited);
    figures = figures_of(100);
    figures.fired = 0;
    const Judgement other_judged = judge_calibrated(figures, totals_of(0.1, 0), {.drift_ns = 1});
    EXPECT_EQ(other_judged.verdict, Verdict::uncalibrated);
    EXPECT_EQ(other_judged.reasons[0], "no row was sent, so there is nothing to certify");
}

TEST(Verdict, WithoutACalibrationTheBarIsStillHeldAgainst) {
    SummaryFigures figures = figures_of(100);
    taint_late_rows(figures, LateCause::guard, 3);
    const Judgement judged =
        judge_uncalibrated("--calibration none", figures, {}, taint_limits({}));
    EXPECT_EQ(judged.verdict, Verdict::uncalibrated);
    ASSERT_GE(judged.reasons.size(), 2u);
    EXPECT_EQ(judged.reasons[0], "--calibration none");
    EXPECT_EQ(judged.reasons[1], "3 rows sent more than 5.000 ms late, cause: guard");
    EXPECT_EQ(judge_uncalibrated("old", figures, {}, {}).reasons.size(), 1u);
    figures.tainted_client_failed = 1;
    ClientTotals client{.sums = {.overflows = 2}};
    const Judgement lost = judge_uncalibrated("none", figures, client, taint_limits({}));
    ASSERT_GE(lost.reasons.size(), 4u);
    EXPECT_TRUE(says(lost.reasons[1], "1 row failed because"));
    EXPECT_EQ(lost.reasons[2], "the completion queue overflowed 2 times");
}

TEST(Verdict, OneLossIsEnoughAndNamed) {
    SummaryFigures lost = figures_of(100'000);
    lost.tainted_rows = 1;
    lost.tainted_lost = 1;
    EXPECT_EQ(verdict_of(lost, totals_of(0.3, 0)), Verdict::client_limited);
    ClientTotals starved = totals_of(0.3, 0);
    starved.sums.no_buffers = 1;
    EXPECT_EQ(verdict_of(figures_of(100), starved), Verdict::client_limited);
    ClientTotals overflowed = totals_of(0.3, 0);
    overflowed.sums.overflows = 1;
    EXPECT_EQ(verdict_of(figures_of(100), overflowed), Verdict::client_limited);
    // One row is enough: it says nothing about the server, and more may have been on the brink.
    SummaryFigures figures = figures_of(100'000);
    figures.tainted_rows = figures.tainted_client_failed = 1;
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0.4)), Verdict::client_limited);
    figures = figures_of(100);
    taint_rows(figures, Suspect::ours, 40);
    figures.tainted_limit = 40;
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0.4)), Verdict::client_limited);
    figures = figures_of(100);
    taint_rows(figures, Suspect::ours, 1);
    figures.tainted_limit = 1;
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0)), Verdict::certified_with_exclusions);
    figures = figures_of(100);
    taint_rows(figures, Suspect::network, 40);
    figures.tainted_retransmitted = 40;
    figures.retransmitted_rows = 41;
    figures.retransmits = 60;
    EXPECT_EQ(verdict_of(figures, totals_of(0.3, 0)), Verdict::network_limited);
    EXPECT_EQ(judge_calibrated(figures, totals_of(0.3, 0), {}).reasons[1],
              "the kernel sent 60 TCP segments of 41 rows' requests again; for 40 rows the network "
              "may have lost a part, so the server got the request late; for 1 row the first "
              "copy had arrived, so the request was in time");
}

TEST(Verdict, SecondsAndTheHostsFloorHaveLimits) {
    EXPECT_EQ(verdict_of(figures_of(100), totals_of(0.59, 0)), Verdict::certified);
    EXPECT_EQ(verdict_of(figures_of(100), totals_of(0.61, 0)), Verdict::client_limited);
    EXPECT_EQ(verdict_of(figures_of(100), totals_of(0.61, 0.3)), Verdict::host_noisy);
    ClientTotals totals = totals_of(0.3, 0);
    ClientSample end = second_of(1, 0);
    end.from_ns = second_ns;
    end.to_ns = second_ns + second_ns / 100;
    end.busy_receive_ns = second_ns / 100;
    totals.add(end);
    EXPECT_EQ(verdict_of(figures_of(100), totals), Verdict::certified);
    Calibration calibration{.wake_sleep = {.p99_ns = 50'000}, .fire_large = {.p99_ns = 20'000}};
    const auto rehearsal = [](std::int64_t chunks, std::int64_t p99_ns) {
        return Rehearsal{.chunks = chunks,
                         .drift = {1000, 100, p99_ns, p99_ns, p99_ns},
                         .receive_delay = {1000, 100, 2 * p99_ns, 2 * p99_ns, 2 * p99_ns}};
    };
    calibration.rehearsals = {rehearsal(10'000, 10'000), rehearsal(30'000, 70'000),
                              rehearsal(60'000, 90'000)};
    const TaintLimits calm = taint_limits(calibration, 5'000, {});
    EXPECT_EQ(calm.drift_ns, 500'000);  // the sleeping thread
    EXPECT_EQ(std::tuple(calm.rank_ns, calm.receive_delay_ns), std::tuple(20'000, 200'000));
    EXPECT_EQ(calm.wire_ns, 200'000);
    const TaintLimits busy = taint_limits(calibration, 60'000, {});
    EXPECT_EQ(busy.drift_ns, 700'000);  // the median rehearsal
    EXPECT_EQ(busy.receive_delay_ns, 1'400'000);
    const TaintLimits strict = taint_limits(calibration, 60'000, {699'999, 1'399'999});
    EXPECT_EQ(std::tuple(strict.drift_ns, strict.drift_most_ns), std::tuple(699'999, 699'999));
    EXPECT_EQ(strict.receive_delay_ns, 1'399'999);
    // What was measured on a noisy host permits no more than the bar, at no place of an instant.
    Calibration other_calibration{.wake_sleep = {.p99_ns = 10'100'000},
                                  .fire_large = {.p99_ns = 2'200'000}};
    const TaintLimits limits = taint_limits(other_calibration, 0, {});
    EXPECT_EQ(limits.drift_ns, 5'000'000);
    EXPECT_EQ(drift_limit_ns(limits, 1000), 5'000'000);
    EXPECT_EQ(limits.wire_ns, 5'000'000);
    EXPECT_EQ(limits.receive_delay_ns, 5'000'000);  // not measured: the bar
}

SummaryFigures cache(std::uint64_t expected, std::uint64_t observed, std::uint64_t rows_above) {
    return {.rows = 100,
            .expected_cached_tokens = expected,
            .expected_cached_tokens_reported = expected,
            .cached_tokens = observed,
            .cache_rows_reported = 100,
            .cache_rows_above = rows_above};
}

std::vector<std::string> warnings_of(const SummaryFigures& f) {
    return warnings_of(f, SummaryInfo());
}

bool warns(const SummaryFigures& f, const char* part) {
    const std::vector<std::string> warnings = warnings_of(f);
    return warnings.size() == 1 && warnings[0].find(part) != std::string::npos;
}

// As many hits as an empty cache can have, and 16 words that are alike by accident in each row
// above its forecast, at -1, 0 and +1.
TEST(Warnings, NameAWarmCacheWhereHitsAreNotExpected) {
    EXPECT_TRUE(warnings_of(cache(51200, 51200, 0)).empty());
    EXPECT_TRUE(warnings_of(cache(51200, 51215, 1)).empty());
    EXPECT_TRUE(warnings_of(cache(51200, 51216, 1)).empty());
    EXPECT_FALSE(warnings_of(cache(51200, 51217, 1)).empty());
    EXPECT_TRUE(warnings_of(SummaryFigures()).empty());
    // The second of two identical runs: every row hits all of its blocks.
    const SummaryFigures f = cache(51200, 996'659, 98);
    EXPECT_TRUE(warns(f, "the prefix cache was warm from an earlier run, so TTFT is too low"));
    EXPECT_TRUE(warns(f, "1946.6 % of what an empty cache can hit"));
    EXPECT_TRUE(warns(f, "--cache-salt random"));
    EXPECT_TRUE(warns(cache(0, 99'000, 90), "an empty cache can hit none"));
    // Evictions hide in the sum what the first rows hit; the stretch shows it.
    SummaryFigures other_f = cache(51200, 51200, 20);
    other_f.cache_excess = 30'720;
    EXPECT_TRUE(
        warns(other_f, "warm from an earlier run, so TTFT is too low: rows hit 30720 tokens that"));
    EXPECT_TRUE(warns(other_f, "--cache-salt random"));
    // A server with blocks of 16 shares up to a block of the trace more: it may be that.
    EXPECT_TRUE(warns(cache(51200, 51200 + 100 * 256, 100), "its blocks are smaller"));
    EXPECT_TRUE(warns(cache(51200, 51200 + 100 * 511, 100), "its blocks are smaller"));
    EXPECT_TRUE(warns(cache(51200, 51200 + 100 * 512, 100), "was warm from an earlier run, so"));
    // Where the server's blocks are known, hits in them are no sign of a warm cache, and one more
    // is.
    SummaryFigures third_f = cache(51200, 51200 + 100 * 256, 100);
    third_f.server_cache_rows = 100;
    third_f.server_cache_expected = third_f.cached_tokens - 1600;
    EXPECT_TRUE(warnings_of(third_f).empty());
    --third_f.server_cache_expected;
    EXPECT_TRUE(warns(third_f, "was warm from an earlier run, so"));
    // Every row shares the template's first tokens.
    third_f = cache(51200, 51200 + 100 * 19, 100);
    third_f.template_pre = 19;
    third_f.cached_tokens += 1600;
    EXPECT_TRUE(warnings_of(third_f).empty());
    ++third_f.cached_tokens;
    EXPECT_FALSE(warnings_of(third_f).empty());
}

/// A row with a prompt of 100 tokens and 10 to come.
Record sent_row(Outcome outcome) {
    Record record{.fired_ns = 0, .input_length = 100, .output_length = 10, .outcome = outcome};
    if (is_whole(outcome)) {
        record.prompt_tokens = 100;
        record.output_tokens = 10;
        record.tokens_source = TokensSource::usage;
    }
    return record;
}

/// A run of 1,000 requests at one server, and what that counted of them.
struct Counted {
    explicit Counted(double requests, std::size_t whole = 1000) {
        add(Outcome::ok, whole);
        add(Outcome::timeout_total, 1000 - whole);
        f.timeline.spans = {{0, 0, 1}};
        info.run.urls = {"http://a:1/v1/chat/completions"};
        info.server.emplace().urls = {{"http://a:1/metrics", "vllm", 9}};
        count(ServerFigure::requests, requests);
    }
    void add(Outcome outcome, std::size_t rows) {
        for (std::size_t i = 0; i < rows; ++i) {
            f.sent.add(sent_row(outcome));
        }
    }
    void count(ServerFigure figure, std::optional<double> value) {
        info.server->counters[static_cast<std::size_t>(figure)] = value;
    }
    void tokens(double prompt, double generated) {
        count(ServerFigure::prompt_tokens, prompt);
        count(ServerFigure::generated_tokens, generated);
    }
    std::string warning() const {
        const std::vector<std::string> all = driftless::warnings_of(f, info);
        return all.empty() ? "" : all.front();
    }
    bool says(const char* part) const { return warning().find(part) != std::string::npos; }
    SummaryFigures f;
    SummaryInfo info;
};

// 5 requests and 2 % are what counters may be early or late.
TEST(Warnings, OthersUsedTheServerOrTokensDiffer) {
    EXPECT_EQ(std::tuple(Counted(1000).warning(), Counted(1025).warning()), std::tuple("", ""));
    EXPECT_TRUE(
        Counted(1026).says("grew by 1026 requests and this run sent 1000 requests: others"));
    Counted more(1200);
    more.add(Outcome::ok, 200);
    EXPECT_EQ(more.warning(), "");
    EXPECT_EQ(Counted(975).warning(), "");
    EXPECT_TRUE(Counted(974).says("--metrics URL"));
    EXPECT_EQ(Counted(700, 700).warning(), "");
    // Tokens have the same slack: of 1,000 requests, 2 % and those of 5.
    Counted fits(1000);
    fits.tokens(102'500, 10'250);
    EXPECT_EQ(fits.warning(), "");
    fits.tokens(97'500, 9'750);
    EXPECT_EQ(fits.warning(), "");
    Counted others(1500);
    others.tokens(150'000, 15'000);
    EXPECT_TRUE(
        others.says("grew by 1500 requests, 150000 prompt tokens and 15000 generated "
                    "tokens and this run sent 1000 requests, 100000 prompt tokens and "
                    "10000 generated tokens: others used them"));
    Counted no_requests(0);
    no_requests.count(ServerFigure::requests, std::nullopt);
    no_requests.tokens(102'501, 10'000);
    EXPECT_TRUE(no_requests.says("102501 prompt tokens and this run sent 100000 prompt tokens: "));
    no_requests.tokens(97'499, 10'000);
    EXPECT_TRUE(no_requests.says("grew by 97499 prompt tokens and this run had answers of 100000"));
    Counted otherwise(1000);
    otherwise.tokens(100'000, 12'000);
    EXPECT_TRUE(
        otherwise.says("12000 generated tokens and this run sent 10000 generated tokens: "
                       "the servers count tokens differently"));
}

// What failed may have been counted whole, in part, or not at all.
TEST(Warnings, TokensMayBeCountedTwiceOrNotAtAll) {
    Counted part(1000, 500);
    for (const double share : {0.5, 0.75, 1.0}) {
        part.tokens(100'000 * share, 10'000 * share);
        part.count(ServerFigure::requests, 1000 * share);
        EXPECT_EQ(part.warning(), "") << share;
    }
    part.tokens(102'501, 10'000);
    EXPECT_NE(part.warning(), "");
    // Twice as much of everything: the page of a gateway beside those of its servers.
    Counted twice(2000);
    twice.tokens(200'000, 20'000);
    EXPECT_TRUE(
        twice.says("others sent as much at the same time, or the page counts each request"));
    twice.info.server->urls.push_back({"http://worker:1/metrics", "vllm", 9});
    EXPECT_TRUE(twice.says("count the same requests twice, like a gateway's page"));
    twice.tokens(200'000, 23'000);
    EXPECT_TRUE(twice.says("others used them at the same time"));
    // A server whose usage is missing: nobody can tell.
    Counted silent(1000);
    Record row = sent_row(Outcome::ok);
    row.prompt_tokens.reset();
    row.tokens_source = TokensSource::chunks;
    silent.f.sent.add(row);
    silent.tokens(1e9, 1e9);
    EXPECT_EQ(silent.warning(), "");
}

// Where it cannot be said soundly, nothing is said.
TEST(Warnings, NothingIsSaidOfPartsTurnsAndProbes) {
    Counted elsewhere(500);
    elsewhere.info.server->urls[0].url = "http://b:1/metrics";
    EXPECT_EQ(elsewhere.warning(), "");
    Counted gap(2000);
    gap.info.server->failures = 1;
    EXPECT_EQ(gap.warning(), "");
    Counted resumed(2000);
    resumed.f.timeline.spans.push_back({1, 1, 2});
    EXPECT_EQ(resumed.warning(), "");
    Counted killed(10);
    killed.info.unfinished = Unfinished{3, 1};
    EXPECT_EQ(killed.warning(), "");
    Counted one_of_two(500);
    one_of_two.info.run.urls.push_back("http://b:1/v1/chat/completions");
    EXPECT_EQ(one_of_two.warning(), "");
    // Pages of several servers in turn look like restarts: what is counted is held against what was
    // sent all the same, and where it is sure, nothing but that is said.
    Counted restarted(2000);
    restarted.info.server->urls[0].restarts = 1;
    EXPECT_TRUE(restarted.says("give --metrics the page of each (URL,URL)"));
    Counted few(1000);
    few.info.server->urls[0].restarts = 1;
    EXPECT_EQ(few.warning(), "");
    few.info.server->urls[0].several = true;
    EXPECT_TRUE(few.says("was answered by several servers in turn"));
    // Probes of the other shards behind one shard's first page are no strangers.
    Counted merged(1100);
    merged.tokens(100'000, 10'000);
    EXPECT_NE(merged.warning(), "");
    merged.f.sent.add_probes(100);
    EXPECT_EQ(merged.warning(), "");
}

// Turns that were sent before the turn before them had ended are counted among those of which that
// is known; where nothing is known the count is null.

Record turn(std::optional<bool> overtaken) {
    return {.overtaken = overtaken, .fired_ns = 5, .ended_ns = 9, .outcome = Outcome::truncated};
}

bool summary_says(const Summary& summary, const char* part) {
    return summary_json(summary.figures(), {}).find(part) != std::string::npos;
}

TEST(OvertakenTurns, AreCountedWhereTheyAreKnown) {
    Summary summary;
    summary.add(turn(std::nullopt));
    EXPECT_TRUE(summary_says(summary, R"("follow_up_turns":0,"overtaken_turns":null,)"));
    summary.add(turn(false));
    EXPECT_TRUE(summary_says(summary, R"("follow_up_turns":1,"overtaken_turns":0,)"));
    summary.add(turn(true));
    summary.add(turn(true));
    EXPECT_EQ(summary.figures().follow_up_turns, 3u);
    EXPECT_EQ(summary.figures().overtaken_turns, 2u);
    EXPECT_TRUE(summary_says(summary, R"("follow_up_turns":3,"overtaken_turns":2,)"));
}

// What the summary makes of requests that were abandoned. Expectations are worked out by hand.

constexpr std::int64_t ms = 1'000'000;

/// Fired at 0; two tokens, 20 ms apart.
Record with_tokens(Outcome outcome, std::int64_t ttft_ns) {
    Record record{.fired_ns = 0, .outcome = outcome};
    record.first_token_ns = record.ttft_ns = record.ttft_due_ns = ttft_ns;
    record.last_token_ns = record.e2e_ns = ttft_ns + 20 * ms;
    record.ended_ns = ttft_ns + 21 * ms;
    record.tpot_ns = 20e6;
    record.input_length = 100;
    record.output_tokens = 2;
    return record;
}

// What clients give up has not failed: its first token counts, and nothing behind that.
TEST(Abandoned, IsCountedApart) {
    Summary summary(GoodputRules{{{}, "", {15 * ms, std::nullopt, std::nullopt}}});
    summary.add(with_tokens(Outcome::ok, 10 * ms));
    summary.add(with_tokens(Outcome::abandoned, 14 * ms));
    Record silent{.fired_ns = 0, .outcome = Outcome::abandoned};
    for (const std::int64_t waited_ns : {5 * ms, 16 * ms}) {
        silent.ended_ns = waited_ns;
        summary.add(silent);
    }
    const SummaryFigures f = summary.figures();
    EXPECT_EQ(std::tuple(f.rows, f.failed), std::tuple(4u, 0u));
    EXPECT_EQ(std::tuple(f.abandoned.requests, f.abandoned.no_first_token), std::tuple(3u, 2u));
    EXPECT_EQ(f.abandoned.undecided, 2u);  // the last one had waited for longer than it may take
    EXPECT_EQ(std::tuple(f.goodput().decided, f.abandoned.input_tokens, f.abandoned.output_tokens),
              std::tuple(2u, 100u, 2u));
    EXPECT_EQ(std::tuple(f.output_tokens, f.ended_sent()), std::tuple(2u, 1u));
    EXPECT_EQ(std::tuple(f.ttft.count, f.ttft.max), std::tuple(2u, 14e6));
    EXPECT_EQ(std::tuple(f.e2e.count, f.tpot.count), std::tuple(1u, 1u));
    EXPECT_TRUE(f.errors.empty());
}

Record sent_record(std::uint32_t row, std::optional<std::uint32_t> segments, bool tainted) {
    Record record{.row = row,
                  .fired_ns = 1000,
                  .drift_ns = 1000,
                  .outcome = Outcome::timeout_first_byte,
                  .retransmits = segments};
    if (tainted) {
        record.tainted = {"retransmitted"};
    }
    return record;
}

// Segments are summed; a row that left and was not counted is told, and one that gave up before the
// kernel sent anything again.
TEST(Retransmits, AreCountedByWhatTheyMean) {
    Summary summary;
    summary.add(sent_record(0, 0, false));
    summary.add(sent_record(1, 2, false));
    summary.add(sent_record(2, 3, true));
    summary.add(sent_record(3, std::nullopt, false));
    summary.add(sent_record(4, 0, true));
    const SummaryFigures f = summary.figures();
    EXPECT_EQ(std::tuple(f.retransmits, f.retransmitted_rows), std::tuple(5u, 2u));
    EXPECT_EQ(std::tuple(f.tainted_retransmitted, f.tainted_unacknowledged), std::tuple(1u, 1u));
    EXPECT_EQ(f.retransmits_unknown, 1u);
}

}  // namespace
}  // namespace driftless
