// Which rows are tainted: beyond a limit that grows by rank, and never for what the user wanted.
#include "engine/stats/taint.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

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
    Record record;
    record.drift_ns = 1'000'000'000;
    record.receive_delay_ns = 1'000'000'000;
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
    Record record;
    record.drift_ns = 101;
    record.held_ns = 101;
    record.late_cause = LateCause::limit;
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
    Record record;
    record.fired_ns = 10'000;
    record.submit_ns = 800;
    record.wire_ns = 11'000;
    EXPECT_EQ(taints_of(record, {.wire_ns = 1'000}), Reasons{});
    record.wire_ns = 11'001;
    EXPECT_EQ(taints_of(record, {.wire_ns = 1'000}), Reasons{"wire_late"});
    EXPECT_EQ(taints_of(record, {}), Reasons{});
}

// It had left when the call that fired it was over and its completion seen.
TEST(Taint, ARowWithoutAStampOfTheWireByWhatWasSeen) {
    const auto reasons = [](std::int64_t submit_ns, std::int64_t accept_ns) {
        Record record;
        record.fired_ns = 10'000;
        record.ended_ns = 12'000;
        record.submit_ns = submit_ns;
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

}  // namespace
}  // namespace driftless
