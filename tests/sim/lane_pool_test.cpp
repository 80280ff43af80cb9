// Connections are opened, handed to rows and closed again, never more than there may be, and
// nothing of a closed one stays behind.
#include <gtest/gtest.h>

#include "engine/replay/lanes.hpp"
#include "tests/sim/by_hand.hpp"

namespace driftless::sim {
namespace {

struct Pool : ByHand {
    explicit Pool(const Options& options = {}) : ByHand(std::vector<SmallRow>(2), options) {}

    /// Up to so many turns, until no connection is left.
    void turn_until_empty(int turns = 100) {
        for (int i = 0; i < turns && pool.in_use() > 0; ++i) {
            turn();
        }
    }

    LanePool& pool = lanes.pool;
    LaneParts& parts = lanes.parts;
};

Pool::Options at_most(std::uint32_t lanes_max) {
    Pool::Options options;
    options.settings.lanes_max = lanes_max;
    return options;
}

// Servers that close what has been idle for so long.
Pool::Options closing_after(Duration idle) {
    Pool::Options options;
    options.server.keep_alive_timeout = idle;
    return options;
}

TEST(LanePool, OpensNoMoreThanThereMayBe) {
    Pool lanes(at_most(2));
    EXPECT_TRUE(lanes.pool.open_one(0));
    EXPECT_FALSE(lanes.pool.full());
    EXPECT_TRUE(lanes.pool.open_one(0));
    EXPECT_TRUE(lanes.pool.full());
    EXPECT_FALSE(lanes.pool.open_one(0));
    EXPECT_EQ(lanes.pool.in_use(), 2u);
    EXPECT_EQ(lanes.parts.counts.connects, 2u);
}

TEST(LanePool, CountsWhatConnectsAndWhatStands) {
    Pool lanes;
    EXPECT_TRUE(lanes.pool.open_one(0));
    EXPECT_EQ(lanes.parts.targets[0].connecting, 1u);
    EXPECT_EQ(lanes.parts.targets[0].open, 0u);
    EXPECT_EQ(lanes.parts.counts.open_max, 0u);
    lanes.open();
    EXPECT_EQ(lanes.parts.targets[0].connecting, 0u);
    EXPECT_EQ(lanes.parts.targets[0].open, 2u);
    EXPECT_EQ(lanes.parts.counts.open_max, 2u);
    EXPECT_EQ(lanes.lanes.shelf.count(), 2u);
    lanes.pool.close_all();
    lanes.turn_until_empty();
    EXPECT_EQ(lanes.parts.targets[0].open, 0u);
    EXPECT_EQ(lanes.parts.counts.open_max, 2u);
}

// Its successor knows nothing of what was on it.
TEST(LanePool, AClosedLaneIsOpenedAsNew) {
    Pool lanes(at_most(1));
    lanes.open();
    Lane& lane = *lanes.lanes.shelf.oldest(0);
    lane.used = true;
    lane.timed_out = true;
    lane.answers_left = 0;
    lanes.pool.close_idle(lane);
    EXPECT_FALSE(lanes.pool.open_one(0)) << "it is in use until the kernel holds nothing of it";
    lanes.turn_until_empty();
    ASSERT_EQ(lanes.pool.in_use(), 0u);
    EXPECT_EQ(lane.state, LaneState::closed);
    lanes.open();
    EXPECT_EQ(lanes.lanes.shelf.oldest(0), &lane);
    EXPECT_FALSE(lane.used);
    EXPECT_FALSE(lane.broken);
    EXPECT_FALSE(lane.timed_out);
    EXPECT_EQ(lane.answers_left, Lane::answers_unknown);
}

TEST(LanePool, MakesRoomByTheOldestOneAtATime) {
    Pool lanes;
    EXPECT_FALSE(lanes.pool.make_room(0)) << "none is idle";
    lanes.open();
    Lane& first = *lanes.lanes.shelf.oldest(0);
    lanes.open();
    EXPECT_TRUE(lanes.pool.make_room(0));
    EXPECT_EQ(first.state, LaneState::closing);
    EXPECT_TRUE(lanes.pool.make_room(0)) << "that one is closing";
    EXPECT_EQ(lanes.lanes.shelf.count(), 1u);
    for (int i = 0; i < 100 && lanes.pool.in_use() > 1; ++i) {
        lanes.turn();
    }
    EXPECT_TRUE(lanes.pool.make_room(0));
    EXPECT_EQ(lanes.lanes.shelf.count(), 0u);
    lanes.turn_until_empty();
    EXPECT_FALSE(lanes.pool.make_room(0));
}

// For one server room is made at another; that one's connections stay.
TEST(LanePool, MakesRoomAtTheServerThatIsNamed) {
    Pool::Options options;
    options.armer.targets = 2;
    Pool lanes(options);
    lanes.open(0);
    lanes.open(1);
    EXPECT_TRUE(lanes.pool.make_room(1));
    EXPECT_EQ(lanes.lanes.shelf.count(0), 1u);
    EXPECT_EQ(lanes.lanes.shelf.count(1), 0u);
}

TEST(LanePool, ALaneIsTakenOnce) {
    Pool lanes;
    EXPECT_FALSE(lanes.pool.has_idle(0, {}));
    EXPECT_EQ(lanes.pool.take_idle(0, {}), nullptr);
    lanes.open();
    EXPECT_TRUE(lanes.pool.has_idle(0, {}));
    Lane* lane = lanes.pool.take_idle(0, {});
    ASSERT_NE(lane, nullptr);
    EXPECT_EQ(lane->state, LaneState::busy);
    EXPECT_EQ(lane->taken_as, ConnectionState::fresh);
    EXPECT_FALSE(lanes.pool.has_idle(0, {}));
    EXPECT_EQ(lanes.pool.take_idle(0, {}), nullptr);
    std::uint32_t busy = 0;
    lanes.pool.for_each(LaneState::busy, [&](Lane& other) { busy += &other == lane ? 1 : 100; });
    EXPECT_EQ(busy, 1u);
    lanes.arm();
    lane->exchange.row = &lanes.leave();
}

// A lane that stands idle is idle since its connect, as far as nobody has used it.
TEST(LanePool, AnUnusedLaneIsIdleSinceItStood) {
    Pool lanes;
    const Instant before = lanes.driver.now();
    lanes.open();
    const Lane& lane = *lanes.lanes.shelf.oldest(0);
    EXPECT_GT(lane.idle_since, before);
    EXPECT_EQ(lane.idle_since, lane.connected);
    EXPECT_LT(lane.idle_since, lanes.driver.now());
}

// The server ended it: that says how long it keeps what is idle.
TEST(LanePool, RetiresWhatItsServerCloses) {
    Pool lanes(closing_after(seconds(2)));
    lanes.open();
    lanes.pass(milliseconds(2100));
    lanes.turn_until_empty();
    EXPECT_EQ(lanes.pool.in_use(), 0u);
    EXPECT_EQ(lanes.lanes.shelf.count(), 0u);
    EXPECT_EQ(lanes.parts.counts.closed_idle, 1u);
    EXPECT_EQ(lanes.parts.counts.retired_idle, 0u);
    EXPECT_EQ(lanes.parts.targets[0].open, 0u);
    EXPECT_EQ(lanes.parts.targets[0].failures, 0u) << "no row answers for it";
    EXPECT_LT(lanes.parts.targets[0].quiet_until, lanes.driver.now());
}

// A server that accepts connections and keeps none is left in peace for a while.
TEST(LanePool, OpensNoneAheadAtAServerThatKeepsNone) {
    Pool lanes(closing_after(milliseconds(100)));
    lanes.open();
    for (int i = 0; i < 1000 && lanes.lanes.shelf.count() > 0; ++i) {
        lanes.turn();
    }
    EXPECT_EQ(lanes.parts.counts.closed_idle, 1u);
    const Duration quiet = lanes.parts.targets[0].quiet_until - lanes.driver.now();
    EXPECT_GT(quiet, Connecting::failure_quiet - milliseconds(2));
    EXPECT_LE(quiet, Connecting::failure_quiet);
    EXPECT_FALSE(lanes.lanes.shelf.limit(0).known()) << "too young to be of its age";
}

// What connects is cancelled, what is idle ends; nothing is left that the kernel holds.
TEST(LanePool, ClosesAll) {
    Pool lanes;
    lanes.open();
    lanes.open();
    EXPECT_TRUE(lanes.pool.open_one(0));
    (void)lanes.loop.ready().run(64);
    EXPECT_GT(lanes.driver.in_flight(), 0u);
    lanes.pool.close_all();
    EXPECT_EQ(lanes.lanes.shelf.count(), 0u);
    lanes.turn_until_empty();
    EXPECT_EQ(lanes.pool.in_use(), 0u);
    EXPECT_EQ(lanes.driver.in_flight(), 0u);
    EXPECT_EQ(lanes.driver.sockets_open(), 0u);
    EXPECT_EQ(lanes.loop.timers().next(), never);
}

// With its last row a session gives its connection up; where that row went on another one, nobody
// needs the first.
TEST(LanePool, ClosesWhatASessionLeavesBehind) {
    Pool::Options options;
    options.settings.connection = ConnectionRule::sticky;
    Pool lanes(options);
    lanes.open();
    lanes.open();
    LaneWish wish;
    wish.session = 0;
    Lane& home = *lanes.pool.take_idle(0, wish);
    lanes.arm();
    RowUnderway& row = lanes.take();
    lanes.armer.give_back(row);
    row.bytes = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n";
    lanes.lanes.exchanges.prepare(home, row, {100, 1 << 20});
    (void)lanes.driver.flush();
    lanes.lanes.exchanges.fired(home, lanes.driver.now());
    for (int i = 0; i < 1000 && home.state != LaneState::idle; ++i) {
        lanes.turn();
    }
    ASSERT_EQ(home.state, LaneState::idle);
    wish.last = true;
    wish.fresh = true;
    Lane& other = *lanes.pool.take_idle(0, wish);
    EXPECT_EQ(other.taken_as, ConnectionState::moved);
    EXPECT_NE(&other, &home);
    EXPECT_EQ(home.state, LaneState::closing);
    other.exchange.row = &lanes.leave();
}

}  // namespace
}  // namespace driftless::sim
