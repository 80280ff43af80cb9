// Between the last byte of an answer and the end of its row: who hears of it, and which rows wait
// for the place and the lane that come free.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/sim/pacing.hpp"

namespace driftless::sim {
namespace {

using Rows = std::vector<SmallRow>;

struct Settling : Pacing {
    explicit Settling(const Rows& rows, const Options& options = {}) : Pacing(rows, options) {
        arm();
    }

    /// All rows that are due leave, each on a connection of its own.
    void fire(std::uint32_t rows) {
        for (std::uint32_t i = 0; i < rows; ++i) {
            open();
        }
        begin(Duration{0});
        while (pacer.rows_fired() < rows) {
            CHECK(step());
        }
        lanes.pool.for_each(LaneState::busy, [this](const Lane& lane) {
            while (lane.unsent() > 0) {
                turn();
            }
        });
        arm();
    }
    /// What has come is read until an answer is whole. No lane goes on, and nobody is told.
    void read_answer() {
        for (int i = 0; i < 1000 && lanes.in_flight.answered().empty(); ++i) {
            (void)driver.turn({Instant{}, 1000, Wait::none, true});
        }
        CHECK(!lanes.in_flight.answered().empty());
    }
    Lane& lane_of(const RowUnderway& row) {
        Lane* found = nullptr;
        lanes.pool.for_each(LaneState::busy,
                            [&](Lane& lane) { found = lane.exchange.row == &row ? &lane : found; });
        CHECK(found != nullptr);
        return *found;
    }
};

// Three answers are there together: each ends the turn that has read it, so that somebody can act
// on it before the next one is read.
TEST(Settling, AnAnswerEndsTheTurnThatReadIt) {
    Settling settling(Rows(3));
    settling.fire(3);
    settling.driver.stand_still(seconds(1));
    for (int answer = 0; answer < 3; ++answer) {
        settling.read_answer();
        EXPECT_EQ(settling.lanes.in_flight.answered().count, 1u);
        EXPECT_FALSE(settling.step()) << "it tells the schedule";
        EXPECT_TRUE(settling.lanes.in_flight.answered().empty());
    }
    EXPECT_EQ(settling.lanes.in_flight.settling(), 3u);
    (void)settling.loop.ready().run(64);
    EXPECT_EQ(settling.lanes.in_flight.settling(), 0u);
    (void)settling.step();
    EXPECT_TRUE(settling.schedule.over());
}

// Its deadline may pass before its lane is done with.
TEST(Settling, ADeadlineChangesNothingAboutAWholeAnswer) {
    Settling settling(Rows(1));
    settling.fire(1);
    settling.driver.stand_still(seconds(1));
    settling.read_answer();
    const Lane& lane = settling.lane_of(*settling.lanes.in_flight.answered().first);
    const Instant over_since = lane.exchange.over_since;
    const Instant free_since = lane.exchange.free_since;
    ASSERT_TRUE(lane.timer.set());
    EXPECT_EQ(settling.loop.timers().expire(lane.timer.at(), 8), 1u);
    EXPECT_EQ(lane.exchange.over_since, over_since);
    EXPECT_EQ(lane.exchange.free_since, free_since);
    (void)settling.loop.ready().run(64);
    EXPECT_EQ(lane.state, LaneState::idle);
    EXPECT_EQ(settling.ends(), std::vector<Outcome>{Outcome::ok});
}

// One place in flight: a turn has to wait until the answer's row has its end, which is no time that
// it was held back for.
TEST(Settling, APlaceThatComesFreeAtOnceHoldsBackNothing) {
    for (const bool capped_by_host : {false, true}) {
        Settling::Options options;
        options.settings.inflight_max = 1;
        options.settings.capped_by_host = capped_by_host;
        options.dependencies = {{.row = 1, .on = 0, .trigger = Trigger::completion}};
        Settling settling(Rows(2), options);
        settling.open();
        settling.fire(1);
        (void)settling.fired();
        settling.driver.stand_still(seconds(1));
        settling.read_answer();
        EXPECT_FALSE(settling.step());
        EXPECT_EQ(settling.pacer.rows_fired(), 1u) << "the place is not free yet";
        (void)settling.loop.ready().run(64);
        EXPECT_TRUE(settling.step());
        const std::vector<Event> events = settling.fired();
        ASSERT_EQ(events.size(), 1u);
        EXPECT_EQ(events[0].fired.late_cause, LateCause::none);
        EXPECT_EQ(events[0].fired.held_ns, 0);
        EXPECT_EQ(events[0].fired.inflight, 0u);
    }
}

// The turn's bytes are not there: it does not wait for the lane first, or nobody would know why it
// was late.
TEST(Settling, ATurnWithoutBytesIsLateForThem) {
    Settling::Options options;
    options.dependencies = {{.row = 1, .on = 0, .trigger = Trigger::completion}};
    Settling settling(Rows(2), options);
    settling.open();
    settling.begin(Duration{0});
    EXPECT_TRUE(settling.step());
    (void)settling.fired();
    settling.driver.stand_still(seconds(1));
    settling.read_answer();
    EXPECT_FALSE(settling.step());
    EXPECT_EQ(settling.health.take(settling.driver.now()).late_arms, 1);
    (void)settling.loop.ready().run(64);
    settling.arm();
    EXPECT_TRUE(settling.step());
    const std::vector<Event> events = settling.fired();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].fired.late_cause, LateCause::prepare);
}

// --- Whether a row that is due has a lane, or must wait for one that comes free.

struct Finding : ByHand {
    Finding(const Rows& rows, const Options& options)
        : ByHand(rows, options),
          ahead(trace, schedule, armer, lanes.parts.targets.size(),
                settings.connection == ConnectionRule::sticky),
          waiting(lanes, armer, ring, ahead) {
        arm();
    }
    ~Finding() {
        waiting.stop();
        waiting.forget();
    }
    RowUnderway& armed(std::uint32_t request) {
        RowUnderway* row = armer.ready(due(request));
        CHECK(row != nullptr);
        return *row;
    }

    RowsAhead ahead;
    WaitingRows waiting;
};

// An idle lane is that of a row that waits, where one does.
TEST(FindsLane, WhereOneIsIdleAndNobodyWaits) {
    Finding finding(Rows(2), {});
    EXPECT_FALSE(finding.waiting.finds_lane(finding.armed(0)));
    finding.open();
    EXPECT_TRUE(finding.waiting.finds_lane(finding.armed(0)));
    EXPECT_TRUE(finding.waiting.finds_lane(finding.armed(1)));
    finding.waiting.add(finding.take());
    EXPECT_FALSE(finding.waiting.finds_lane(finding.armed(1)));
}

// A session's own connection may be the one that comes free; a row without a session has none.
TEST(FindsLane, NotWhereItsSessionKeepsAConnection) {
    Finding::Options options;
    options.settings.connection = ConnectionRule::sticky;
    Finding finding(Rows{{Duration{0}, 1}, {}}, options);
    finding.open();
    EXPECT_FALSE(finding.waiting.finds_lane(finding.armed(0)));
    EXPECT_TRUE(finding.waiting.finds_lane(finding.armed(1)));
}

TEST(FindsLane, WhereItIsBoundToOne) {
    TlsWorld world(1, fair_tls(), 1);
    Finding finding(Rows(2), over_tls(world));
    finding.open();
    ASSERT_NE(finding.lanes.pool.bind(0, finding.armed(0), {}, false), nullptr);
    EXPECT_TRUE(finding.waiting.finds_lane(finding.armed(0)));
    EXPECT_FALSE(finding.waiting.finds_lane(finding.armed(1)));
}

// A row that is due is bound late, and to no lane that a row before it waits for.
TEST(WaitingRows, AreNotOvertakenOverTls) {
    TlsWorld world(1, fair_tls(), 1);
    Finding finding(Rows(2), over_tls(world));
    RowUnderway& first = finding.take();
    finding.waiting.add(first);
    finding.open();
    RowUnderway& second = finding.take();
    EXPECT_FALSE(finding.waiting.bind(second));
    EXPECT_EQ(second.stage, RowStage::armed);
    EXPECT_TRUE(finding.waiting.step().done);
    EXPECT_EQ(first.stage, RowStage::bound);
    EXPECT_FALSE(finding.waiting.bind(second)) << "no lane";
    finding.open();
    EXPECT_TRUE(finding.waiting.bind(second));
    EXPECT_EQ(second.stage, RowStage::bound);
    EXPECT_EQ(finding.lanes.sealing.late_count(), 2u);
}

}  // namespace
}  // namespace driftless::sim
