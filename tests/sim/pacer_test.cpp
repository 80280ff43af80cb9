// Rows leave at their instants; those that lack bytes, a lane or a place leave as soon as they can,
// and say what they lacked.
#include "engine/replay/pacer.hpp"

#include <gtest/gtest.h>

#include "tests/sim/pacing.hpp"

namespace driftless::sim {
namespace {

using Rows = std::vector<SmallRow>;
using Outcomes = std::vector<Outcome>;

TEST(Pacer, FiresNothingBeforeTimeZeroIsSet) {
    Pacing pacing(Rows(1));
    pacing.arm();
    pacing.open();
    EXPECT_FALSE(pacing.step());
    EXPECT_EQ(pacing.pacer.next_due(pacing.driver.now()), never);
    EXPECT_FALSE(pacing.pacer.done());
    pacing.begin(milliseconds(1));
    EXPECT_FALSE(pacing.step());
    EXPECT_EQ(pacing.pacer.next_due(pacing.driver.now()), pacing.zero);
}

// At its instant, and no sooner, though all was prepared before.
TEST(Pacer, FiresOnTime) {
    Pacing pacing(Rows{{milliseconds(3)}});
    pacing.arm();
    pacing.open();
    pacing.begin(microseconds(-2990));
    EXPECT_TRUE(pacing.pacer.fire_on_time());
    EXPECT_EQ(pacing.pacer.rows_fired(), 1u);
    const std::vector<Event> events = pacing.fired();
    ASSERT_EQ(events.size(), 1u);
    const Instant due = pacing.zero + milliseconds(3);
    EXPECT_GE(events[0].stamp_ns, due.ns);
    EXPECT_LT(events[0].stamp_ns, (due + microseconds(1)).ns);
    EXPECT_EQ(events[0].fired.late_cause, LateCause::none);
}

// Then it is `step` that fires it, when it can.
TEST(Pacer, DoesNotWaitForWhatARowLacks) {
    Pacing pacing(Rows(2), [] {
        Pacing::Options options;
        options.settings.inflight_max = 1;
        return options;
    }());
    pacing.begin(microseconds(10));
    pacing.open();
    EXPECT_FALSE(pacing.pacer.fire_on_time()) << "no bytes";
    pacing.arm();
    EXPECT_TRUE(pacing.pacer.fire_on_time());
    pacing.open();
    EXPECT_FALSE(pacing.pacer.fire_on_time()) << "no place in flight";
    pacing.answer_all();
    pacing.lanes.pool.close_all();
    EXPECT_FALSE(pacing.pacer.fire_on_time()) << "no lane";
    EXPECT_EQ(pacing.pacer.rows_fired(), 1u);
}

TEST(Pacer, ARowWithoutBytesLeavesWhenTheyAreThere) {
    Pacing pacing(Rows(1));
    pacing.open();
    pacing.begin(milliseconds(-1));
    EXPECT_FALSE(pacing.step());
    EXPECT_TRUE(pacing.pacer.needs_arm(pacing.driver.now()));
    pacing.arm();
    EXPECT_FALSE(pacing.pacer.needs_arm(pacing.driver.now()));
    EXPECT_TRUE(pacing.step());
    const std::vector<Event> events = pacing.fired();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].fired.late_cause, LateCause::prepare);
    EXPECT_EQ(pacing.health.take(pacing.driver.now()).late_arms, 1);
}

TEST(Pacer, ARowWithoutALaneHasOneOpened) {
    Pacing pacing(Rows(1));
    pacing.arm();
    pacing.begin(milliseconds(-1));
    EXPECT_TRUE(pacing.step());
    EXPECT_EQ(pacing.lanes.parts.targets[0].connecting, 1u);
    EXPECT_EQ(pacing.pacer.next_due(pacing.driver.now()), never) << "an answer or a connect";
    EXPECT_FALSE(pacing.step());
    while (pacing.lanes.shelf.count() == 0) {
        pacing.turn();
    }
    const Instant now = pacing.driver.now();
    EXPECT_EQ(pacing.pacer.next_due(now), now);
    EXPECT_TRUE(pacing.step());
    const std::vector<Event> events = pacing.fired();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].fired.late_cause, LateCause::lane);
    EXPECT_EQ(pacing.health.take(pacing.driver.now()).missing_lanes, 1);
}

// A row that is due does not overtake one that waits, though a connection has come meanwhile.
TEST(Pacer, NoRowOvertakesOneThatWaits) {
    Pacing pacing(Rows{{milliseconds(0)}, {milliseconds(1)}});
    pacing.arm();
    pacing.begin(microseconds(-10));
    EXPECT_TRUE(pacing.step());
    for (int i = 0; i < 100 && pacing.lanes.shelf.count() == 0; ++i) {
        pacing.turn();
    }
    EXPECT_FALSE(pacing.pacer.fire_on_time());
    EXPECT_TRUE(pacing.step());
    const std::vector<Event> events = pacing.fired();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].request, 0u);
}

TEST(Pacer, ARowTakesTheConnectionThatIsUnderWay) {
    Pacing pacing(Rows(2));
    pacing.arm();
    EXPECT_TRUE(pacing.lanes.pool.open_one(0));
    pacing.begin(milliseconds(-1));
    EXPECT_TRUE(pacing.step());
    EXPECT_EQ(pacing.lanes.parts.targets[0].connecting, 1u);
    EXPECT_TRUE(pacing.step());
    EXPECT_EQ(pacing.lanes.parts.targets[0].connecting, 2u) << "that one is the first row's";
}

// Rows that wait go before one that is due now, or it would take their lane.
TEST(Pacer, RowsThatWaitGoFirst) {
    Pacing pacing(Rows(2));
    pacing.arm();
    pacing.begin(milliseconds(-1));
    EXPECT_TRUE(pacing.step());
    while (pacing.lanes.shelf.count() == 0) {
        pacing.turn();
    }
    EXPECT_TRUE(pacing.step());
    const std::vector<Event> events = pacing.fired();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].request, 0u);
}

TEST(Pacer, ARowWithoutAPlaceWaitsForAnAnswer) {
    Pacing::Options options;
    options.settings.inflight_max = 1;
    Pacing pacing(Rows(2), options);
    pacing.arm();
    pacing.open();
    pacing.open();
    pacing.begin(Duration{0});
    EXPECT_TRUE(pacing.step());
    EXPECT_FALSE(pacing.step());
    EXPECT_EQ(pacing.pacer.next_due(pacing.driver.now()), never);
    EXPECT_EQ(pacing.pacer.next_due(pacing.zero), never);
    EXPECT_EQ(pacing.pacer.next_due(pacing.zero - Duration{1}), pacing.zero);
    pacing.pass(milliseconds(2));
    (void)pacing.step();
    pacing.answer_all();
    EXPECT_TRUE(pacing.step());
    const std::vector<Event> events = pacing.fired();
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[1].fired.late_cause, LateCause::inflight);
    EXPECT_GT(events[1].fired.held_ns, 0);
    EXPECT_EQ(events[1].fired.inflight, 0u);
}

// A row waits for a lane, or over TLS for its records; meanwhile the writer hangs, which counts,
// too.
TEST(Pacer, WhatHoldsBackARowThatIsLateCounts) {
    TlsWorld world(1, fair_tls(), 1);
    for (const bool tls : {false, true}) {
        Pacing::Options options = over_tls(world);
        options.tls = tls ? &world : nullptr;
        Pacing pacing(Rows(1), options);
        pacing.arm();
        if (tls) {
            pacing.open();
        }
        pacing.begin(milliseconds(-1));
        EXPECT_TRUE(pacing.step());
        pacing.fill_ring();
        while (pacing.lanes.pool.seal_slice() || pacing.lanes.parts.targets[0].connecting > 0) {
            pacing.turn();
        }
        EXPECT_FALSE(pacing.step());
        const Instant held_until = pacing.driver.now();
        (void)pacing.drain();
        const Instant now = pacing.driver.now();
        EXPECT_EQ(pacing.pacer.next_due(now), now);
        EXPECT_TRUE(pacing.step());
        const std::vector<Event> events = pacing.fired();
        ASSERT_EQ(events.size(), 1u);
        EXPECT_EQ(events[0].fired.late_cause, LateCause::writer);
        EXPECT_GT(events[0].fired.held_ns, milliseconds(1).ns);
        EXPECT_LE(events[0].fired.held_ns, (held_until - pacing.zero).ns);
    }
}

// Over TLS a late row that is all records leaves before a lane is sought for one behind it.
TEST(Pacer, ALateRowLeavesBeforeOneThatWaits) {
    TlsWorld world(1, fair_tls(), 1);
    Pacing pacing(Rows(2), over_tls(world));
    pacing.arm();
    pacing.open();
    pacing.begin(milliseconds(-1));
    EXPECT_TRUE(pacing.step());
    EXPECT_EQ(pacing.lanes.sealing.late_count(), 1u);
    EXPECT_TRUE(pacing.step());
    EXPECT_EQ(pacing.lanes.parts.targets[0].connecting, 1u) << "for the other one, which waits";
    while (pacing.lanes.pool.seal_slice() || pacing.lanes.shelf.count() == 0) {
        pacing.turn();
    }
    EXPECT_TRUE(pacing.step());
    const std::vector<Event> events = pacing.fired();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].request, 0u);
    EXPECT_EQ(events[0].fired.late_cause, LateCause::prepare)
        << "it was no records when it was due";
    EXPECT_EQ(pacing.lanes.sealing.late_count(), 0u);
    EXPECT_TRUE(pacing.step());
    while (pacing.lanes.pool.seal_slice()) {
    }
    EXPECT_TRUE(pacing.step());
    EXPECT_EQ(pacing.pacer.rows_fired(), 2u);
}

// The writer hangs: no row leaves that it could not account for.
TEST(Pacer, ARowWithoutRoomInTheRingWaitsForTheWriter) {
    Pacing pacing(Rows(1));
    pacing.arm();
    pacing.open();
    pacing.begin(Duration{0});
    pacing.fill_ring();
    EXPECT_FALSE(pacing.step());
    EXPECT_EQ(pacing.pacer.rows_fired(), 0u);
    (void)pacing.drain();
    EXPECT_TRUE(pacing.step());
    EXPECT_EQ(pacing.fired()[0].fired.late_cause, LateCause::writer);
}

// It is done when all have ended and the schedule knows.
TEST(Pacer, IsDoneWhenAllHasEnded) {
    Pacing pacing(Rows(1));
    pacing.arm();
    pacing.open();
    pacing.begin(Duration{0});
    EXPECT_TRUE(pacing.step());
    pacing.answer_all();
    EXPECT_FALSE(pacing.pacer.done());
    EXPECT_FALSE(pacing.schedule.over());
    (void)pacing.step();
    EXPECT_TRUE(pacing.pacer.done());
    EXPECT_TRUE(pacing.schedule.over());
    EXPECT_EQ(pacing.armer.rows().count(), 0u) << "its place is free";
}

// Every row gets its end, in portions, whether it was armed or not; none leaves any more.
TEST(Pacer, EndsWhatIsLeftAtAStop) {
    Pacing pacing(Rows(5));
    pacing.arm(INT64_MAX);
    pacing.begin(milliseconds(-1));
    EXPECT_TRUE(pacing.step());  // one waits for a lane
    pacing.pacer.stop();
    EXPECT_EQ(pacing.bodies.used_bytes(), BodyPool::leaf_bytes) << "of the row that waits";
    EXPECT_EQ(pacing.pacer.next_due(pacing.driver.now()), never);
    EXPECT_TRUE(pacing.pacer.drop_unsent(2));
    EXPECT_EQ(pacing.ends(), Outcomes(2, Outcome::not_sent));
    EXPECT_TRUE(pacing.pacer.drop_unsent(100));
    EXPECT_EQ(pacing.ends(), Outcomes(3, Outcome::not_sent));
    EXPECT_FALSE(pacing.pacer.drop_unsent(100));
    (void)pacing.step();
    EXPECT_TRUE(pacing.pacer.done());
    EXPECT_EQ(pacing.pacer.rows_fired(), 0u);
    EXPECT_EQ(pacing.bodies.used_bytes(), 0u);
}

// Closed sessions: a turn leaves behind the answer of its parent; behind one that never came, it
// gets its end unsent.
TEST(Pacer, ATurnWaitsForItsParent) {
    for (const bool answered : {true, false}) {
        Pacing::Options options;
        options.dependencies = {{.row = 1, .on = 0, .trigger = Trigger::completion}};
        Pacing pacing(Rows{{milliseconds(0)}, {milliseconds(1)}}, options);
        pacing.arm();
        pacing.open();
        pacing.open();
        pacing.begin(milliseconds(-5));
        EXPECT_TRUE(pacing.step());
        EXPECT_FALSE(pacing.step());
        EXPECT_EQ(pacing.pacer.rows_fired(), 1u);
        pacing.arm();
        RowUnderway* parent = nullptr;
        pacing.lanes.pool.for_each(LaneState::busy, [&](Lane& lane) {
            parent = lane.exchange.row;
            lane.end(Outcome::cancelled);
        });
        ASSERT_NE(parent, nullptr);
        pacing.answer_all();
        parent->answered = answered;
        while (pacing.step()) {
        }
        EXPECT_EQ(pacing.pacer.rows_fired(), answered ? 2u : 1u);
        const Outcomes ends = pacing.ends();
        EXPECT_EQ(ends, answered ? Outcomes{Outcome::cancelled}
                                 : (Outcomes{Outcome::cancelled, Outcome::not_sent}));
    }
}

// Two rows lose their connections before they are due. The later one is built again while the
// first is bound: it is the armer's until the pacer has taken it from there.
TEST(Pacer, BindsWhatWasBuiltAgain) {
    TlsWorld world(1, fair_tls(), 1);
    Pacing pacing(Rows{{milliseconds(10)}, {milliseconds(20)}}, over_tls(world));
    pacing.arm();
    pacing.open();
    pacing.open();
    pacing.begin(seconds(1));
    const auto bind_all = [&pacing] {
        while (pacing.pacer.bind_ahead(INT64_MAX)) {
        }
    };
    bind_all();
    for (const std::uint32_t request : {0u, 1u}) {
        pacing.lanes.pool.for_each(LaneState::bound, [&](Lane& lane) {
            if (lane.tls->row->due.request == request) {  // as where its server closes it
                pacing.lanes.sealing.lose(lane, false);
                lane.broken = true;
                lane.enter(LaneState::closing);
                lane.progress.notify();
            }
        });
    }
    pacing.turn();
    pacing.open();
    pacing.open();
    (void)pacing.step();
    EXPECT_EQ(pacing.armer.again_count(), 2u);
    for (const std::uint32_t left : {1u, 0u}) {
        while (pacing.armer.ready(pacing.due(1 - left)) == nullptr) {
            ASSERT_TRUE(pacing.armer.step(pacing.driver.now(), INT64_MAX, 4096));
        }
        if (left == 1) {
            (void)pacing.step();
        }
        EXPECT_EQ(pacing.armer.again_count(), 1u);
    }
    bind_all();
    EXPECT_EQ(pacing.armer.again_count(), 0u);
}

}  // namespace
}  // namespace driftless::sim
