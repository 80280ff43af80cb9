// When and to whom a taint happened, and the worst of the rows that have none.
#include "engine/stats/tainted.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

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
