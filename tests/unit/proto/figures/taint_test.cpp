// A row is blamed on the seconds in which its bytes can have waited.

#include "proto/figures/taint.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/figures/verdict.hpp"

namespace driftless {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

ClientTotals ten_seconds() {
    ClientTotals totals;
    for (std::int64_t i = 0; i < 10; ++i) {
        ClientSample second{.from_ns = i * second_ns, .to_ns = (i + 1) * second_ns};
        totals.add(second);
    }
    return totals;
}

std::vector<TaintedRow> stream_that_waited(std::int64_t late_ns) {
    return {{0, 10 * second_ns, late_ns, Suspect::reading}};
}

// The client was stopped for 2 s; what had come meanwhile was read in the second behind it, where
// the last of it had waited longest.
TEST(Blame, AStopMayLieBeforeTheSecondInWhichItsBacklogWasRead) {
    ClientTotals totals = ten_seconds();
    totals.each[4].gap_max_ns = 2 * second_ns;
    totals.each[4].receive_delay_max_ns = 2 * second_ns;
    totals.each[5].receive_delay_max_ns = 2 * second_ns + 8'000'000;
    const Blame blame = blame_of(stream_that_waited(2 * second_ns + 8'000'000), totals);
    EXPECT_EQ(blame.host, 1u);
    EXPECT_EQ(blame.client, 0u);
    EXPECT_EQ(blame.gap_max_ns, 2 * second_ns);
}

// A wait of 300 ms that was seen in the sixth second did not begin in the fourth.
TEST(Blame, AStopFarBeforeTheWaitExcusesNothing) {
    ClientTotals totals = ten_seconds();
    totals.each[3].gap_max_ns = 400'000'000;
    totals.each[5].receive_delay_max_ns = 300'000'000;
    const Blame blame = blame_of(stream_that_waited(300'000'000), totals);
    EXPECT_EQ(blame.host, 0u);
    EXPECT_EQ(blame.client, 1u);
}

std::string host_reason(const ClientTotals& totals) {
    Reasons reasons;
    add_host_reason(blame_of(stream_that_waited(second_ns), totals), totals, reasons);
    return reasons.empty() ? "" : reasons.front();
}

// A stop of 2 s ends in a second of which others took a part: two figures, each with its own words.
TEST(Blame, AStopLongerThanASecondIsToldApartFromTheShareOfASecond) {
    ClientTotals totals = ten_seconds();
    totals.each[4].gap_max_ns = 2 * second_ns;
    totals.each[4].receive_delay_max_ns = second_ns;
    EXPECT_EQ(host_reason(totals),
              "at that time the engine was stopped or kept from its CPU for up to 2000.000 ms "
              "without a break");
    totals.each[4].taken_ns = 136'494'000;
    EXPECT_EQ(
        host_reason(totals),
        "at that time others used the CPU for 136.494 ms of a second (13.6 %); the engine was "
        "stopped or kept from its CPU for up to 2000.000 ms without a break");
}

// Of several engines the one is named that was stopped, and that whose CPU others had.
TEST(Blame, NamesTheEngine) {
    ClientTotals totals;
    for (std::int64_t engine = 0; engine < 3; ++engine) {
        ClientSample second;
        second.engine = engine;
        second.to_ns = second_ns;
        second.spin_gap_max_ns = engine == 1 ? 2 * second_ns : 0;
        second.run_delay_ns = engine == 2 ? second_ns / 4 : 0;
        second.busy_fire_ns = engine == 0 ? second_ns / 2 : 0;
        totals.add(second);
    }
    EXPECT_EQ(host_reason(totals),
              "at that time others used the CPU of engine 2 for 250.000 ms of a second (25.0 %); "
              "engine 1 was stopped or kept from its CPU for up to 2000.000 ms without a break");
    Reasons reasons;
    add_load_reason(totals, reasons);
    EXPECT_EQ(reasons.front(),
              "engine 0 was busy for at most 50.0 % of a second, and nothing was lost; others used "
              "the CPU of engine 2 for at most 25.0 % of a second");
}

// Which rows are tainted: beyond a limit that grows by rank, and never for what the user wanted.

using Reasons = std::vector<std::string>;

Reasons taints_of(Record record, const TaintLimits& limits, std::uint32_t rank = 0) {
    add_taints(record, {}, limits, rank);
    return record.tainted;
}

TEST(Taint, ADriftBeyondTheLimitOfItsRank) {
    Record record;
    record.drift_ns = 120;
    EXPECT_EQ(taints_of(record, {.drift_ns = 100}), Reasons{"late"});
    EXPECT_EQ(taints_of(record, {.drift_ns = 120}), Reasons{});
    EXPECT_EQ(taints_of(record, {.drift_ns = 100, .rank_ns = 10}, 2), Reasons{});
    EXPECT_EQ(taints_of(record, {.drift_ns = 100, .rank_ns = 10}, 1), Reasons{"late"});
}

TEST(Taint, NoPlaceOfAnInstantIsAllowedMoreThanTheBar) {
    const TaintLimits limits{.drift_ns = 100, .rank_ns = 10, .drift_most_ns = 115};
    EXPECT_EQ(drift_limit_ns(limits, 0), 100);
    EXPECT_EQ(drift_limit_ns(limits, 1), 110);
    EXPECT_EQ(drift_limit_ns(limits, 2), 115);
    EXPECT_EQ(drift_limit_ns({.rank_ns = 10}, 5), 0);
    Record record;
    record.drift_ns = 115;
    EXPECT_EQ(taints_of(record, limits, 7), Reasons{});
    record.drift_ns = 116;
    EXPECT_EQ(taints_of(record, limits, 7), Reasons{"late"});
}

TEST(Taint, NothingWithoutLimits) {
    Record record{.drift_ns = 1'000'000'000, .receive_delay_ns = 1'000'000'000};
    EXPECT_EQ(taints_of(record, {}), Reasons{});
}

TEST(Taint, ARowThatTheUserHeldBackIsNot) {
    Record record;
    record.drift_ns = 1'000'000'000;
    record.held_ns = 1'000'000'000 - 100;
    record.late_cause = LateCause::inflight;
    EXPECT_EQ(taints_of(record, {.drift_ns = 100}), Reasons{});
    record.held_ns -= 1;  // later than its release by more than the limit: that was us
    EXPECT_EQ(taints_of(record, {.drift_ns = 100}), Reasons{"late"});
}

// Nobody asked for it: tainted by however little, and without a calibration, too.
TEST(Taint, ARowThatALimitOfTheHostHeldBackIs) {
    Record record{.drift_ns = 101, .held_ns = 101, .late_cause = LateCause::limit};
    EXPECT_EQ(taints_of(record, {}), Reasons{"limit"});
    EXPECT_EQ(taints_of(record, {.drift_ns = 100}), Reasons{"limit"});
}

TEST(Taint, ARowThatFailedForOurOwnLackIs) {
    Record record;
    record.outcome = Outcome::client_failed;
    EXPECT_EQ(taints_of(record, {}), Reasons{"client_failed"});
}

// Not every retransmission makes a request late, so that the count alone is no reason.
TEST(Taint, ARequestThatWasLostOnTheWayIs) {
    Record record;
    record.retransmits = 2;
    add_taints(record, {}, {}, 0);
    EXPECT_EQ(record.tainted, Reasons{});
    add_taints(record, {.request_lost = true}, {}, 0);
    EXPECT_EQ(record.tainted, Reasons{"retransmitted"});
}

TEST(Taint, TokensThatWereReadLate) {
    Record record;
    record.receive_delay_ns = 2'000;
    EXPECT_EQ(taints_of(record, {.receive_delay_ns = 1'000}), Reasons{"read_late"});
}

// From `fired_ns` on, whatever came between it and the wire: a call that took long, or a queue.
TEST(Taint, ARowThatWasOnTheWireLate) {
    Record record{.fired_ns = 10'000, .submit_ns = 800, .wire_ns = 11'000};
    EXPECT_EQ(taints_of(record, {.wire_ns = 1'000}), Reasons{});
    record.wire_ns = 11'001;
    EXPECT_EQ(taints_of(record, {.wire_ns = 1'000}), Reasons{"wire_late"});
    EXPECT_EQ(taints_of(record, {}), Reasons{});
}

// It had left when the call that fired it was over and its completion seen.
TEST(Taint, ARowWithoutAStampOfTheWireByWhatWasSeen) {
    const auto reasons = [](std::int64_t submit_ns, std::int64_t accept_ns) {
        Record record{.fired_ns = 10'000, .submit_ns = submit_ns, .ended_ns = 12'000};
        add_taints(record, {.accept_ns = accept_ns}, {.wire_ns = 1'000}, 0);
        return record.tainted;
    };
    EXPECT_EQ(reasons(1'000, 1'000), Reasons{});
    EXPECT_EQ(reasons(1'001, 1'000), Reasons{"wire_late"});
    EXPECT_EQ(reasons(1'000, 1'001), Reasons{"wire_late"});
    EXPECT_EQ(reasons(0, -1), Reasons{"wire_late"});  // never taken whole: not before its end
}

// What the taints were judged by stands in the record; a row that never left has neither.
TEST(Taint, TheDelaysOfTheRequestStandInTheRecord) {
    Record record;
    add_taints(record, {.accept_ns = 70, .request_waited_ns = 5}, {}, 0);
    EXPECT_EQ(record.wire_delay_bound_ns, std::nullopt);
    EXPECT_EQ(record.request_delay_ns, std::nullopt);
    record.fired_ns = 10'000;
    record.ended_ns = 12'000;
    record.submit_ns = 60;
    add_taints(record, {.accept_ns = 70, .request_waited_ns = 5}, {}, 0);
    EXPECT_EQ(record.wire_delay_bound_ns, 70);
    EXPECT_EQ(record.request_delay_ns, 5);
    add_taints(record, {}, {}, 0);
    EXPECT_EQ(record.wire_delay_bound_ns, 2'000) << "never taken: not before its end";
    record.wire_ns = 10'050;
    add_taints(record, {.accept_ns = 70}, {}, 0);
    EXPECT_EQ(record.wire_delay_bound_ns, 50);
}

TEST(Taint, ARowThatWasSentAgain) {
    Record record;
    record.fired_ns = 10'000;
    record.wire_ns = 1'000'000;  // of the second time
    record.stale_retries = 1;
    EXPECT_EQ(taints_of(record, {.wire_ns = 1'000}), Reasons{"retried"});
}

TEST(Taint, ARequestOfWhichAPartWaited) {
    Record record;
    add_taints(record, {.request_waited_ns = 1'000}, {.receive_delay_ns = 1'000}, 0);
    EXPECT_EQ(record.tainted, Reasons{});
    add_taints(record, {.request_waited_ns = 1'001}, {.receive_delay_ns = 1'000}, 0);
    EXPECT_EQ(record.tainted, Reasons{"sent_late"});
}

// When and to whom a taint happened, and the worst of the rows that have none.

Record sent_row() {
    Record record;
    record.due_ns = 1'000;
    record.fired_ns = 1'100;
    record.drift_ns = 100;
    record.submit_ns = 10;
    record.wire_ns = 1'150;
    record.ended_ns = 9'000;
    record.receive_delay_ns = 30;
    return record;
}

TEST(Tainted, SaysWhenItHappened) {
    Record record = sent_row();
    record.tainted = {std::string(taint_read_late)};
    TaintedRow row = tainted_row_of(record);
    EXPECT_EQ(row.from_ns, 1'100);
    EXPECT_EQ(row.to_ns, 9'000);
    EXPECT_EQ(row.late_ns, 30);
    EXPECT_EQ(row.suspect, Suspect::reading);
    record.tainted = {std::string(taint_wire_late)};
    row = tainted_row_of(record);
    EXPECT_EQ(row.to_ns, 1'150);
    EXPECT_EQ(row.late_ns, 50);
    EXPECT_EQ(row.suspect, Suspect::wire);
    record.tainted = {std::string(taint_late), std::string(taint_read_late)};
    record.late_cause = LateCause::guard;
    row = tainted_row_of(record);
    EXPECT_EQ(row.from_ns, 1'000);
    EXPECT_EQ(row.to_ns, 1'100);
    EXPECT_EQ(row.late_ns, 100);
    EXPECT_EQ(row.suspect, Suspect::work);
}

TEST(Tainted, ARowThatWasSentAgainIsTheNetworksUnlessWeLostSomething) {
    Record record = sent_row();
    record.tainted = {std::string(taint_retried)};
    EXPECT_EQ(tainted_row_of(record).suspect, Suspect::network);
    record.tainted.emplace_back(taint_payload_dropped);
    EXPECT_EQ(tainted_row_of(record).suspect, Suspect::ours);
    record = sent_row();
    record.sent_ns = 1'200;
    record.tainted = {std::string(taint_sent_late)};
    record.request_delay_ns = 90;
    EXPECT_EQ(tainted_row_of(record).late_ns, 90);
    EXPECT_EQ(tainted_row_of(record).to_ns, 1'200);
    EXPECT_EQ(tainted_row_of(record).suspect, Suspect::work);
}

// Without a kernel stamp by what the client saw; a record before schema 7 has the call alone.
TEST(Tainted, ARowWithoutAStampHasALength) {
    Record record = sent_row();
    record.wire_ns = std::nullopt;
    record.tainted = {std::string(taint_wire_late)};
    EXPECT_EQ(tainted_row_of(record).late_ns, 10);
    record.wire_delay_bound_ns = 700;
    EXPECT_EQ(tainted_row_of(record).late_ns, 700);
    EXPECT_EQ(tainted_row_of(record).to_ns, 1'800);
    TaintFigures figures;
    record.tainted.clear();
    figures.add(record);
    EXPECT_EQ(figures.untainted.wire_delay_max_ns, 700);
}

TEST(Tainted, ALackOfOursGoesBeforeWhatCameOfIt) {
    Record record = sent_row();
    record.tainted = {std::string(taint_limit), std::string(taint_wire_late)};
    EXPECT_EQ(tainted_row_of(record).suspect, Suspect::ours);
    record.tainted = {std::string(taint_retransmitted), std::string(taint_client_failed)};
    EXPECT_EQ(tainted_row_of(record).suspect, Suspect::ours);
    record.tainted = {std::string(taint_wire_late), std::string(taint_retransmitted)};
    EXPECT_EQ(tainted_row_of(record).suspect, Suspect::network);
}

TEST(Tainted, TheWorstIsOfTheOthers) {
    TaintFigures figures;
    figures.add(sent_row());
    Record worse = sent_row();
    worse.drift_ns = 5'000;
    worse.receive_delay_ns = 5'000;
    worse.tainted = {std::string(taint_late)};
    figures.add(worse);
    Record held = sent_row();
    held.drift_ns = 7'000;
    held.held_ns = 6'900;  // as the user wanted it
    held.late_cause = LateCause::inflight;
    figures.add(held);
    EXPECT_EQ(figures.untainted.drift_max_ns, 100);
    EXPECT_EQ(figures.untainted.receive_delay_max_ns, 30);
    EXPECT_EQ(figures.untainted.wire_delay_max_ns, 50);
}

// Of rows that were sent, or were to be; a row that nobody tried to send is in neither number.
TEST(Tainted, TheShareIsOfRowsThatWereSent) {
    TaintFigures figures;
    EXPECT_EQ(figures.share(0, 0), 0.0);
    figures.add(sent_row());
    figures.add(Record());
    EXPECT_EQ(figures.share(0, 0), 0.0);
    Record unsent;
    unsent.tainted = {std::string(taint_payload_dropped)};
    figures.add(unsent);
    EXPECT_EQ(figures.share(0, 0), 0.5);
    Record interrupted;
    interrupted.outcome = Outcome::interrupted;
    figures.add(interrupted);
    figures.add(sent_row());
    EXPECT_EQ(figures.share(1, 0), 0.5);   // two of four
    EXPECT_EQ(figures.share(1, 4), 0.75);  // six of eight
}

}  // namespace

}  // namespace driftless
