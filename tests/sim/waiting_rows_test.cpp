// Rows that found no lane get one in order, those that are sent again first; where no connection
// can be had they end.
#include "engine/replay/waiting_rows.hpp"

#include "tests/sim/by_hand.hpp"

namespace driftless::sim {
namespace {

struct Waiting : ByHand {
    explicit Waiting(std::uint32_t count = 4, const Options& options = {})
        : ByHand(std::vector<SmallRow>(count), options) {
        arm();
    }
    ~Waiting() {
        rows.stop();
        rows.forget();
    }

    /// The next row is due, and waits.
    RowUnderway& add() {
        RowUnderway& row = take();
        rows.add(row);
        return row;
    }
    /// The next row has left, has lost its connection, is built again, and waits for another one.
    RowUnderway& add_retry() {
        RowUnderway& row = take();
        row.enter(RowStage::in_flight);
        lanes.in_flight.add(row);
        row.tries = 1;
        row.enter(RowStage::again);
        armer.arm_again(row);
        arm();
        CHECK(armer.take_again() == &row);
        rows.add(row);
        return row;
    }
    /// The idle lane has carried an answer.
    void use_idle_lane() { lanes.shelf.find(0, {}, driver.now())->used = true; }
    void fail_connect(std::int32_t sys_errno = ECONNREFUSED) {
        lanes.parts.targets[0].failures += 1;
        lanes.parts.targets[0].failure_errno = sys_errno;
    }

    RowsAhead ahead{trace, schedule, armer, armer_targets(), false};
    WaitingRows rows{lanes, armer, ring, ahead};

  private:
    std::size_t armer_targets() { return lanes.parts.targets.size(); }
};

Waiting::Options places(std::uint32_t inflight_max, std::uint32_t lanes_max = 8) {
    Waiting::Options options;
    options.settings.inflight_max = inflight_max;
    options.settings.lanes_max = lanes_max;
    return options;
}

using Outcomes = std::vector<Outcome>;

TEST(WaitingRows, LeaveInTheirOrderToTheirOwnServer) {
    Waiting waiting;
    EXPECT_TRUE(waiting.rows.empty());
    RowUnderway& first = waiting.add();
    RowUnderway& second = waiting.add();
    EXPECT_EQ(std::tuple(first.stage, waiting.rows.count(0)), std::tuple(RowStage::waiting, 2u));
    EXPECT_FALSE(waiting.rows.can_leave()) << "no lane";
    EXPECT_FALSE(waiting.rows.step().done);
    for (RowUnderway* row : {&first, &second}) {
        waiting.open();
        EXPECT_TRUE(waiting.rows.can_leave());
        const WaitingRows::Step step = waiting.rows.step();
        EXPECT_TRUE(step.done);
        EXPECT_EQ(step.row, row);
        ASSERT_NE(step.lane, nullptr);
        EXPECT_EQ(step.lane->state, LaneState::busy);
        step.lane->exchange.row = row;
    }
    EXPECT_TRUE(waiting.rows.empty());
    for (RowUnderway* row : {&first, &second}) {
        row->enter(RowStage::in_flight);
        waiting.lanes.in_flight.add(*row);
        waiting.armer.give_back(*row);
    }
    // No lane does for a row of another server.
    Waiting::Options options = places(8);
    options.rows.armer.targets = 2;
    Waiting other_waiting(4, options);
    (void)other_waiting.add();
    other_waiting.open(1);
    EXPECT_EQ(other_waiting.rows.count(0), 1u);
    EXPECT_EQ(other_waiting.rows.count(1), 0u);
    EXPECT_FALSE(other_waiting.rows.can_leave() || other_waiting.rows.step().done);
}

// Rows go to two servers in turn, and one place in flight comes free at a time: whichever was due
// first goes first, so that no server is favoured.
TEST(WaitingRows, LeaveInTheOrderOfTheirDuesOverAllServers) {
    Waiting::Options options = places(1);
    options.rows.armer.targets = 2;
    Waiting waiting(4, options);
    std::vector<RowUnderway*> rows;
    for (const std::uint32_t target : {0U, 1U, 0U, 1U}) {
        waiting.open(target);
        rows.push_back(&waiting.add());
    }
    for (RowUnderway* row : rows) {
        const WaitingRows::Step step = waiting.rows.step();
        ASSERT_TRUE(step.done);
        EXPECT_EQ(step.row, row);
        step.lane->exchange.row = row;
        row->enter(RowStage::in_flight);
        waiting.lanes.in_flight.add(*row);
        EXPECT_FALSE(waiting.rows.can_leave()) << "no place";
        waiting.armer.give_back(*row);
        step.lane->end(Outcome::cancelled);
        while (row->stage != RowStage::ended) {
            waiting.turn();
        }
    }
}

// All places in flight are taken: a row waits, though there is a lane; a retry, which has its
// place, does not.
TEST(WaitingRows, ARetryGoesFirstOnAFreshConnection) {
    Waiting waiting(4, places(1));
    RowUnderway& retry = waiting.add_retry();
    (void)waiting.add();
    EXPECT_TRUE(waiting.lanes.in_flight.full());
    EXPECT_EQ(waiting.rows.count(0), 1u) << "without those that are sent once more";
    waiting.open();
    EXPECT_TRUE(waiting.rows.can_leave());
    const WaitingRows::Step step = waiting.rows.step();
    ASSERT_EQ(step.row, &retry);
    step.lane->exchange.row = &retry;
    retry.enter(RowStage::in_flight);
    waiting.armer.give_back(retry);
    waiting.open();
    EXPECT_FALSE(waiting.rows.can_leave() || waiting.rows.step().done);
    // Both could have the only lane.
    Waiting other_waiting;
    RowUnderway& other_retry = other_waiting.add_retry();
    (void)other_waiting.add();
    other_waiting.open();
    const WaitingRows::Step other_step = other_waiting.rows.step();
    ASSERT_EQ(other_step.row, &other_retry);
    other_step.lane->exchange.row = &other_retry;
    other_retry.enter(RowStage::in_flight);
    other_waiting.armer.give_back(other_retry);
    // The connection that it was lost with was used, and another used one may be as stale.
    Waiting third_waiting;
    (void)third_waiting.add_retry();
    third_waiting.open();
    third_waiting.use_idle_lane();
    EXPECT_FALSE(third_waiting.rows.can_leave() || third_waiting.rows.step().done);
    RowUnderway& row = third_waiting.add();
    const WaitingRows::Step third_step = third_waiting.rows.step();
    ASSERT_EQ(third_step.row, &row) << "for others it does";
    third_step.lane->exchange.row = &row;
    row.enter(RowStage::in_flight);
    third_waiting.lanes.in_flight.add(row);
    third_waiting.armer.give_back(row);
}

// A connection is opened for a row that waits, once.
TEST(WaitingRows, HaveAConnectionOpenedAgain) {
    Waiting waiting;
    EXPECT_FALSE(waiting.rows.answer_failures());
    EXPECT_EQ(waiting.lanes.parts.targets[0].connecting, 0u) << "nobody waits";
    (void)waiting.add();
    EXPECT_FALSE(waiting.rows.answer_failures() || waiting.rows.answer_failures());
    EXPECT_EQ(waiting.lanes.parts.targets[0].connecting, 1u);
    Waiting full(4, places(1));
    (void)full.leave();
    (void)full.add();
    EXPECT_FALSE(full.rows.answer_failures());
    EXPECT_EQ(full.lanes.parts.targets[0].connecting, 0u) << "all places are taken";
    Waiting idle;
    idle.open();
    (void)idle.add();
    EXPECT_FALSE(idle.rows.answer_failures());
    EXPECT_EQ(idle.lanes.parts.targets[0].connecting, 0u);
    // A connect that failed ends one row, the first; for the next another one is opened.
    Waiting other_waiting;
    RowUnderway& first = other_waiting.add();
    const RowUnderway& second = other_waiting.add();
    other_waiting.fail_connect();
    EXPECT_TRUE(other_waiting.rows.answer_failures());
    EXPECT_EQ(std::tuple(first.stage, first.storage), std::tuple(RowStage::ended, nullptr));
    EXPECT_EQ(second.stage, RowStage::waiting);
    EXPECT_EQ(other_waiting.lanes.parts.targets[0].failures, 0u);
    EXPECT_EQ(other_waiting.lanes.parts.targets[0].connecting, 1u);
    const std::vector<Event> events = other_waiting.drain();
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(std::tuple(events[0].kind, events[0].stamp_ns, events[1].end.outcome),
              std::tuple(EventKind::armed, Event::never_armed, Outcome::connect_failed));
    EXPECT_EQ(events[1].end.sys_errno, ECONNREFUSED);
}

TEST(WaitingRows, AFailureEndsARetryFirstAndWaitsForTheWriter) {
    Waiting waiting;
    RowUnderway& retry = waiting.add_retry();
    (void)waiting.add();
    waiting.fail_connect();
    EXPECT_TRUE(waiting.rows.answer_failures());
    EXPECT_EQ(std::tuple(retry.stage, waiting.rows.count(0)), std::tuple(RowStage::ended, 1u));
    EXPECT_EQ(waiting.lanes.in_flight.count(), 0u) << "its place is free";
    // A connection that was opened ahead of need has failed: that is no row's end, now or later.
    Waiting unwanted;
    unwanted.fail_connect();
    EXPECT_FALSE(unwanted.rows.answer_failures());
    (void)unwanted.add();
    EXPECT_FALSE(unwanted.rows.answer_failures());
    EXPECT_TRUE(unwanted.ends().empty());
    // Without room for its end a row waits on; a retry has its place in the ring.
    Waiting other_waiting;
    RowUnderway& row = other_waiting.add();
    other_waiting.fail_connect();
    other_waiting.fill_ring();
    EXPECT_FALSE(other_waiting.rows.answer_failures());
    EXPECT_EQ(row.stage, RowStage::waiting);
    RowUnderway& other_retry = other_waiting.add_retry();
    EXPECT_TRUE(other_waiting.rows.answer_failures());
    EXPECT_EQ(other_retry.stage, RowStage::ended);
    (void)other_waiting.drain();
    other_waiting.fail_connect();
    EXPECT_TRUE(other_waiting.rows.answer_failures());
    EXPECT_EQ(row.stage, RowStage::ended);
}

TEST(WaitingRows, SayHowTheConnectFailed) {
    struct Case {
        LaneTarget failure;
        Outcome outcome;
    };
    const auto failure = [](std::int32_t sys_errno, bool tls, bool timed_out) {
        return LaneTarget{
            .failure_errno = sys_errno, .failure_is_tls = tls, .failure_timed_out = timed_out};
    };
    for (const Case& each : {Case{failure(0, false, true), Outcome::timeout_connect},
                             Case{failure(1, true, false), Outcome::tls_failed},
                             Case{failure(EMFILE, false, false), Outcome::client_failed},
                             Case{failure(ENETUNREACH, false, false), Outcome::connect_failed}}) {
        Waiting waiting;
        (void)waiting.add();
        LaneTarget& target = waiting.lanes.parts.targets[0];
        target.failure_errno = each.failure.failure_errno;
        target.failure_is_tls = each.failure.failure_is_tls;
        target.failure_timed_out = each.failure.failure_timed_out;
        target.failures = 1;
        EXPECT_TRUE(waiting.rows.answer_failures());
        EXPECT_EQ(waiting.ends(), Outcomes{each.outcome});
    }
}

// All connections that are allowed stand, to another server: the one that is idle there gives way.
TEST(WaitingRows, HaveRoomMadeForThem) {
    Waiting::Options options = places(8, 1);
    options.rows.armer.targets = 2;
    Waiting waiting(4, options);
    waiting.open(1);
    (void)waiting.add();
    EXPECT_FALSE(waiting.rows.answer_failures());
    EXPECT_EQ(waiting.lanes.shelf.count(1), 0u);
    while (waiting.lanes.pool.in_use() > 0) {
        waiting.turn();
    }
    EXPECT_FALSE(waiting.rows.answer_failures());
    EXPECT_EQ(waiting.lanes.parts.targets[0].connecting, 1u);
    // A used connection that no row may take gives way to the fresh one that a retry needs: also
    // where it is kept for rows that may not leave before the retry has ended.
    Waiting other_waiting(4, places(1, 1));
    other_waiting.open();
    other_waiting.use_idle_lane();
    (void)other_waiting.add_retry();
    (void)other_waiting.add();
    EXPECT_FALSE(other_waiting.rows.answer_failures());
    EXPECT_EQ(other_waiting.lanes.shelf.count(0), 0u);
}

// A stop cancels what has left; what has not gets its end one by one, as the ring has room, and no
// connection is opened any more.
TEST(WaitingRows, EndAtAStopOrAreForgotten) {
    Waiting waiting(3);
    (void)waiting.add_retry();
    (void)waiting.add();
    (void)waiting.add();
    waiting.rows.stop();
    EXPECT_EQ(waiting.ends(), Outcomes{Outcome::cancelled});
    EXPECT_FALSE(waiting.rows.answer_failures());
    EXPECT_EQ(waiting.lanes.parts.targets[0].connecting, 0u);
    waiting.fill_ring();
    EXPECT_FALSE(waiting.rows.end_one());
    (void)waiting.drain();
    EXPECT_TRUE(waiting.rows.end_one());
    EXPECT_EQ(waiting.ends(), Outcomes{Outcome::not_sent});
    EXPECT_TRUE(waiting.rows.end_one());
    EXPECT_FALSE(waiting.rows.end_one());
    EXPECT_TRUE(waiting.rows.empty());
    EXPECT_EQ(waiting.bodies.used_bytes(), 0u);
    Waiting other_waiting(2);
    (void)other_waiting.add();
    (void)other_waiting.add();
    other_waiting.rows.stop();
    other_waiting.rows.forget();
    EXPECT_TRUE(other_waiting.rows.empty() && other_waiting.ends().empty());
    EXPECT_EQ(other_waiting.bodies.used_bytes(), 0u);
}

}  // namespace
}  // namespace driftless::sim
