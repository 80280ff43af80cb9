// One lane, driven by hand: what happens between two turns of its coroutine.

#include "engine/replay/lanes.hpp"

#include "engine/replay/between_fires.hpp"
#include "engine/replay/pacer.hpp"
#include "tests/sim/by_hand.hpp"

namespace driftless::sim {

namespace {

class OneLane : public testing::Test {
  protected:
    OneLane() {
        CHECK(static_cast<bool>(bodies_.open(1 << 20)));
        (void)lanes_.pool.open_one(0);
        while (lanes_.shelf.count() == 0) {
            turn();
            resume(64);
        }
    }
    ~OneLane() override {
        lanes_.pool.close_all();
        while (lanes_.pool.in_use() > 0) {
            turn();
            resume(64);
        }
        loop_.jobs().reap();
    }

    void turn() {
        (void)driver_.turn({driver_.now() + milliseconds(1), 16, Wait::sleep, true});
        (void)driver_.collect_stamps(16, nullptr);
    }
    void resume(std::size_t most) { (void)loop_.ready().run(most); }

    /// Fires as the pacer does.
    Lane& fire(std::uint32_t number, std::string_view request) {
        Lane& lane = *lanes_.pool.take_idle(0, {});
        RowUnderway& row = rows_.emplace_back();
        row.due.request = number;
        row.taken = true;
        row.stage = RowStage::armed;
        row.storage = bodies_.take(request.size());
        std::memcpy(row.storage, request.data(), request.size());
        row.bytes = {row.storage, request.size()};
        lanes_.exchanges.prepare(lane, row, {100, 1 << 20});
        driver_.flush();
        lanes_.exchanges.fired(lane, driver_.now());
        return lane;
    }

    std::uint32_t rows_ended() {
        std::uint32_t ended = 0;
        for (const Event* event = ring_.front(); event != nullptr; event = ring_.front()) {
            ended += event->kind == EventKind::end ? 1 : 0;
            ring_.pop();
        }
        return ended;
    }

    SimDriver driver_{1, Weather{}, mock::CoreOptions{}};
    Loop loop_{driver_, 8};
    ReplaySettings settings_;
    std::deque<RowUnderway> rows_;
    BodyPool bodies_;
    EventRing ring_{1 << 16, 4};
    Lanes lanes_{loop_, {Endpoint{}}, settings_, bodies_, ring_};
};

// A lane is idle again before its coroutine knows it. Where it is fired on at once, and the answer
// and the end of the connection come before the coroutine does, the row still gets its end.
TEST_F(OneLane, SettlesARowThatCameAndWentWhileItSlept) {
    Lane& lane = fire(0, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
    resume(1);  // the lane's life: begins the exchange
    while (!lane.exchange.over) {
        turn();
    }
    resume(1);  // the exchange: settles; the life behind it waits for its turn
    ASSERT_EQ(lanes_.shelf.count(), 1u);
    ASSERT_EQ(&fire(1, "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), &lane);
    while (!lane.broken) {
        turn();
    }
    resume(64);
    EXPECT_EQ(lanes_.in_flight.count(), 0u);
    EXPECT_EQ(rows_ended(), 2u);
}

// Connections are opened, handed to rows and closed again, never more than there may be, and
// nothing of a closed one stays behind.

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
    return Pool::Options{.settings = {.lanes_max = lanes_max}};
}

// Servers that close what has been idle for so long.
Pool::Options closing_after(Duration idle) {
    return Pool::Options{.server = {.keep_alive_timeout = idle}};
}

TEST(LanePool, OpensNoMoreThanThereMayBe) {
    Pool lanes(at_most(2));
    EXPECT_TRUE(lanes.pool.open_one(0));
    EXPECT_FALSE(lanes.pool.full());
    EXPECT_TRUE(lanes.pool.open_one(0) && lanes.pool.full());
    EXPECT_FALSE(lanes.pool.open_one(0));
    EXPECT_EQ(std::tuple(lanes.pool.in_use(), lanes.parts.counts.connects), std::tuple(2u, 2u));
    Pool other_lanes;
    EXPECT_TRUE(other_lanes.pool.open_one(0));
    EXPECT_EQ(other_lanes.parts.targets[0].connecting, 1u);
    EXPECT_EQ(other_lanes.parts.targets[0].open, 0u);
    EXPECT_EQ(other_lanes.parts.counts.open_max, 0u);
    other_lanes.open();
    EXPECT_EQ(other_lanes.parts.targets[0].connecting, 0u);
    EXPECT_EQ(other_lanes.parts.targets[0].open, 2u);
    EXPECT_EQ(other_lanes.parts.counts.open_max, 2u);
    EXPECT_EQ(other_lanes.lanes.shelf.count(), 2u);
    other_lanes.pool.close_all();
    other_lanes.turn_until_empty();
    EXPECT_EQ(other_lanes.parts.targets[0].open, 0u);
    EXPECT_EQ(other_lanes.parts.counts.open_max, 2u);
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
    EXPECT_FALSE(lane.used || lane.broken || lane.timed_out);
    EXPECT_EQ(lane.answers_left, Lane::answers_unknown);
}

TEST(LanePool, MakesRoomByTheOldestAtTheServerThatIsNamed) {
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
    // For one server room is made at another; that one's connections stay.
    Pool::Options options;
    options.rows.armer.targets = 2;
    Pool other_lanes(options);
    other_lanes.open(0);
    other_lanes.open(1);
    EXPECT_TRUE(other_lanes.pool.make_room(1));
    EXPECT_EQ(other_lanes.lanes.shelf.count(0), 1u);
    EXPECT_EQ(other_lanes.lanes.shelf.count(1), 0u);
}

TEST(LanePool, ALaneIsTakenOnceAndIdleSinceItStood) {
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
    // A lane that stands idle is idle since its connect, as far as nobody has used it.
    Pool other_lanes;
    const Instant before = other_lanes.driver.now();
    other_lanes.open();
    const Lane& other_lane = *other_lanes.lanes.shelf.oldest(0);
    EXPECT_GT(other_lane.idle_since, before);
    EXPECT_EQ(other_lane.idle_since, other_lane.connected);
    EXPECT_LT(other_lane.idle_since, other_lanes.driver.now());
}

// The server ended it: that says how long it keeps what is idle.
TEST(LanePool, RetiresWhatIsClosed) {
    Pool lanes(closing_after(seconds(2)));
    lanes.open();
    lanes.pass(milliseconds(2100));
    lanes.turn_until_empty();
    EXPECT_EQ(std::tuple(lanes.pool.in_use(), lanes.lanes.shelf.count()), std::tuple(0u, 0u));
    EXPECT_EQ(lanes.parts.counts.closed_idle, 1u);
    EXPECT_EQ(lanes.parts.counts.retired_idle, 0u);
    EXPECT_EQ(lanes.parts.targets[0].open, 0u);
    EXPECT_EQ(lanes.parts.targets[0].failures, 0u) << "no row answers for it";
    EXPECT_LT(lanes.parts.targets[0].quiet_until, lanes.driver.now());
    // A server that accepts connections and keeps none is left in peace for a while.
    Pool other_lanes(closing_after(milliseconds(100)));
    other_lanes.open();
    for (int i = 0; i < 1000 && other_lanes.lanes.shelf.count() > 0; ++i) {
        other_lanes.turn();
    }
    EXPECT_EQ(other_lanes.parts.counts.closed_idle, 1u);
    const Duration quiet = other_lanes.parts.targets[0].quiet_until - other_lanes.driver.now();
    EXPECT_GT(quiet, Connecting::failure_quiet - milliseconds(2));
    EXPECT_LE(quiet, Connecting::failure_quiet);
    EXPECT_FALSE(other_lanes.lanes.shelf.limit(0).known()) << "too young to be of its age";
    // What connects is cancelled, what is idle ends; nothing is left that the kernel holds.
    Pool third_lanes;
    third_lanes.open();
    third_lanes.open();
    EXPECT_TRUE(third_lanes.pool.open_one(0));
    (void)third_lanes.loop.ready().run(64);
    EXPECT_GT(third_lanes.driver.in_flight(), 0u);
    third_lanes.pool.close_all();
    EXPECT_EQ(third_lanes.lanes.shelf.count(), 0u);
    third_lanes.turn_until_empty();
    EXPECT_EQ(third_lanes.pool.in_use(), 0u);
    EXPECT_EQ(third_lanes.driver.in_flight(), 0u);
    EXPECT_EQ(third_lanes.driver.sockets_open(), 0u);
    EXPECT_EQ(third_lanes.loop.timers().next(), never);
}

// With its last row a session gives its connection up; where that row went on another one, nobody
// needs the first.
TEST(LanePool, ClosesWhatASessionLeavesBehind) {
    Pool lanes(Pool::Options{.settings = {.connection = ConnectionRule::sticky}});
    lanes.open();
    lanes.open();
    LaneWish wish{.session = 0};
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

// Connections stand before rows need them, as many as they need, and idle ones go before their
// server ends them.

struct Supply : ByHand {
    explicit Supply(std::uint32_t rows, const Options& options = {})
        : Supply(std::vector<SmallRow>(rows), options) {}
    explicit Supply(const std::vector<SmallRow>& rows, const Options& options = {})
        : ByHand(rows, options) {}

    /// Opens what is wanted, and waits until it stands.
    std::uint32_t open_all() {
        std::uint32_t opened = 0;
        while (supply.open_one(driver.now())) {
            ++opened;
        }
        for (const LaneTarget& target : lanes.parts.targets) {
            while (target.connecting > 0) {
                turn();
            }
        }
        return opened;
    }

    RowsAhead ahead{trace, schedule, armer, lanes.parts.targets.size(), false};
    LaneSupply supply{settings, lanes, ahead};
};

Supply::Options servers(std::uint32_t targets) {
    Supply::Options options;
    options.rows.armer.targets = targets;
    options.settings.lanes_max = 4096;
    return options;
}

TEST(LaneSupply, OpensAsManyAsRowsNeedAndMayHave) {
    Supply lanes(3);
    EXPECT_EQ(lanes.open_all(), 3u);
    EXPECT_EQ(lanes.supply.in_stock(0), 3u);
    EXPECT_EQ(lanes.open_all(), 0u);
    Lane& taken = *lanes.lanes.pool.take_idle(0, {});
    EXPECT_EQ(lanes.supply.in_stock(0), 2u);
    EXPECT_EQ(lanes.open_all(), 1u);
    lanes.arm();
    taken.exchange.row = &lanes.leave();
    // What is under way counts.
    Supply other_lanes(2);
    EXPECT_TRUE(other_lanes.supply.open_one(other_lanes.driver.now()));
    EXPECT_TRUE(other_lanes.supply.open_one(other_lanes.driver.now()));
    EXPECT_EQ(other_lanes.supply.in_stock(0), 0u);
    EXPECT_FALSE(other_lanes.supply.open_one(other_lanes.driver.now()));
    Supply few(3, Supply::Options{.settings = {.lanes_max = 2}});
    EXPECT_EQ(few.open_all(), 2u);
    EXPECT_TRUE(few.lanes.pool.full());
    // ... and none of the servers goes without.
    Supply::Options options = servers(2);
    options.settings.lanes_max = 2;
    Supply third_lanes(6, options);
    EXPECT_EQ(third_lanes.open_all(), 2u);
    EXPECT_EQ(third_lanes.supply.in_stock(0), 1u);
    EXPECT_EQ(third_lanes.supply.in_stock(1), 1u);
}

// After a failure none is opened ahead of need for a while.
TEST(LaneSupply, SharesWhatMayStandIdleAndWaitsBehindFailures) {
    Supply lanes(1);
    const Instant quiet = lanes.driver.now() + milliseconds(200);
    lanes.lanes.parts.targets[0].quiet_until = quiet;
    EXPECT_FALSE(lanes.supply.open_one(quiet - Duration{1}));
    EXPECT_TRUE(lanes.supply.open_one(quiet));
    // At most 1,024 stand idle; servers share them as rows need them.
    Supply few(1024, servers(2));
    (void)few.supply.open_one(few.driver.now());
    EXPECT_EQ(few.lanes.parts.targets[0].wanted, 512u);
    std::vector<SmallRow> rows(2000);
    for (std::size_t row = 0; row < rows.size(); ++row) {
        rows[row].due = Duration{static_cast<std::int64_t>(row) * 100'000};
    }
    Supply many(rows, servers(2));
    many.ahead.look_ahead_a_second(0);
    EXPECT_EQ(many.open_all(), LaneSupply::idle_max);
    EXPECT_EQ(many.lanes.parts.targets[0].wanted, 512u);
    EXPECT_EQ(many.lanes.parts.targets[1].wanted, 512u);
}

// Rows of one instant leave together, each on its own connection: all of them stand by then, and
// when they have left no more are kept than before.
TEST(LaneSupply, StandsReadyOrKeepsAFixedNumber) {
    std::vector<SmallRow> rows(2100);
    rows.back().due = milliseconds(500);
    Supply lanes(rows, servers(1));
    lanes.ahead.look_ahead_a_second(0);
    EXPECT_EQ(lanes.ahead.largest_crowd(0), 2099u);
    EXPECT_EQ(lanes.open_all(), 2099u);
    for (std::size_t row = 0; row + 1 < rows.size(); ++row) {
        EXPECT_EQ(lanes.ahead.largest_crowd(0), 2099u);
        (void)lanes.ahead.take();
    }
    (void)lanes.ahead.take();
    EXPECT_EQ(lanes.ahead.largest_crowd(0), 0u);
    // `--connections 5` at two servers: three each, whatever rows need, busy ones included.
    Supply::Options options = servers(2);
    options.settings.connections_fixed = 5;
    Supply other_lanes(1, options);
    EXPECT_EQ(other_lanes.open_all(), 6u);
    Lane& taken = *other_lanes.lanes.pool.take_idle(0, {});
    EXPECT_EQ(other_lanes.supply.in_stock(0), 3u);
    EXPECT_EQ(other_lanes.open_all(), 0u);
    other_lanes.arm();
    taken.exchange.row = &other_lanes.leave();
}

// The server closes after 4 s: the connection is replaced after 3 s, and goes when its successor
// stands.
TEST(LaneSupply, ReplacesWhatGrowsOld) {
    Supply lanes(1);
    lanes.lanes.shelf.limit(0).hear({.timeout_s = 4, .max = {}});
    EXPECT_EQ(lanes.open_all(), 1u);
    EXPECT_FALSE(lanes.supply.age_slice(lanes.driver.now(), seconds(1)));
    lanes.pass(milliseconds(3000));
    EXPECT_TRUE(lanes.supply.age_slice(lanes.driver.now(), seconds(1))) << "its age shows";
    EXPECT_EQ(lanes.lanes.shelf.ageing(0), 1u);
    EXPECT_EQ(lanes.supply.in_stock(0), 0u);
    EXPECT_FALSE(lanes.supply.age_slice(lanes.driver.now(), seconds(1))) << "no successor yet";
    EXPECT_EQ(lanes.open_all(), 1u);
    EXPECT_TRUE(lanes.supply.age_slice(lanes.driver.now(), seconds(1)));
    EXPECT_EQ(lanes.lanes.shelf.ageing(0), 0u);
    EXPECT_EQ(lanes.lanes.shelf.young(0), 1u);
    EXPECT_EQ(lanes.lanes.parts.counts.retired_idle, 1u);
    EXPECT_FALSE(lanes.supply.age_slice(lanes.driver.now(), seconds(1)));
    // One that may not be used any more goes without a successor.
    Supply other_lanes(1);
    other_lanes.lanes.shelf.limit(0).hear({.timeout_s = 4, .max = {}});
    (void)other_lanes.open_all();
    other_lanes.pass(milliseconds(3500));
    EXPECT_TRUE(other_lanes.supply.age_slice(other_lanes.driver.now(), Duration{0}));
    EXPECT_TRUE(other_lanes.supply.age_slice(other_lanes.driver.now(), Duration{0}));
    EXPECT_EQ(other_lanes.lanes.shelf.count(0), 0u);
    EXPECT_EQ(other_lanes.lanes.parts.counts.retired_idle, 1u);
    // At the limit on connections it goes first, in a gap of 50 ms at least.
    Supply third_lanes(1, Supply::Options{.settings = {.lanes_max = 1}});
    third_lanes.lanes.shelf.limit(0).hear({.timeout_s = 4, .max = {}});
    (void)third_lanes.open_all();
    third_lanes.pass(milliseconds(3000));
    EXPECT_TRUE(third_lanes.supply.age_slice(third_lanes.driver.now(), milliseconds(50)));
    EXPECT_FALSE(
        third_lanes.supply.age_slice(third_lanes.driver.now(), milliseconds(50) - Duration{1}));
    EXPECT_TRUE(third_lanes.supply.age_slice(third_lanes.driver.now(), milliseconds(50)));
    EXPECT_EQ(third_lanes.lanes.shelf.count(0), 0u);
}

// Why a row is late, and for how long it was held back: each cause by itself, and which of two is
// named.

constexpr Instant at(std::int64_t ms) {
    return Instant{1'000'000'000} + milliseconds(ms);
}

struct Cause {
    LateCause cause;
    Duration held;
    bool operator==(const Cause&) const = default;
};
const Cause no_cause{LateCause::none, Duration{0}};

// One place in flight, and four rows; the ring and the places are really full when they are said
// to be.
class Causes : public testing::Test {
  protected:
    explicit Causes(bool capped_by_host = false)
        : hand_(std::vector<SmallRow>(4), options(capped_by_host)) {
        hand_.arm();
    }
    static ByHand::Options options(bool capped_by_host) {
        ByHand::Options options;
        options.settings.inflight_max = 1;
        options.settings.lanes_max = 1;
        options.settings.capped_by_host = capped_by_host;
        return options;
    }

    /// The only place is taken then.
    void take_place(Instant when) {
        flying_ = &hand_.leave();
        late_.note_fire(when, when);
    }
    /// ... and comes free then; that is read when `note_caps` comes.
    void free_place(Instant when) { hand_.answer(*flying_, when); }

    /// Of a row that was due then, when its turn comes now.
    Cause begin(Instant due, Instant now) {
        row_ = RowUnderway{};
        late_.begin(row_, due, now);
        EXPECT_EQ(row_.turn, now);
        return {row_.cause, Duration{row_.held_ns}};
    }
    /// ... which did not leave then, and does now.
    Cause end(Instant due) {
        late_.end(row_, due);
        return {row_.cause, Duration{row_.held_ns}};
    }
    /// What the record says of a row whose turn has come in time.
    LateCause of(Instant due, Duration drift) {
        EXPECT_EQ(begin(due, due), no_cause);
        return late_.of(row_, due, drift);
    }

    ByHand hand_;
    LateCauses late_{hand_.driver, hand_.settings, hand_.lanes, hand_.ring};
    RowUnderway row_;
    RowUnderway* flying_ = nullptr;
};

class CappedByHost : public Causes {
  protected:
    CappedByHost() : Causes(true) {}
};

TEST_F(Causes, ThereIsNoneWhereNothingWasAmiss) {
    EXPECT_EQ(begin(at(5), at(5)), no_cause);
    EXPECT_EQ(late_.of_caps(), LateCause::none);
    EXPECT_EQ(late_.of_no_lane(), LateCause::lane);
}

// 5 us count as on time; above that something else ran, or the thread woke late.
TEST_F(Causes, ALateRowWasKeptByOtherWorkOrByALateWake) {
    late_.note_work_end(at(2));
    const Duration late = LateCauses::on_time_max + Duration{1};
    EXPECT_EQ(std::tuple(of(at(1), LateCauses::on_time_max), of(at(1), late), of(at(2), late)),
              std::tuple(LateCause::none, LateCause::guard, LateCause::wake));
    late_.note_fire(at(3), at(4));  // of another row
    EXPECT_EQ(of(at(3), late), LateCause::burst);
    EXPECT_EQ(of(at(1), late), LateCause::guard) << "what held back the first of a burst";
    EXPECT_EQ(of(at(4), late), LateCause::wake);
}

// Rows that were due while the place was taken waited for it until it came free, not until we read
// so; one that is due after that did not.
TEST_F(Causes, APlaceInFlightHoldsBackUntilItComesFree) {
    take_place(at(0));
    EXPECT_EQ(late_.of_caps(), LateCause::inflight);
    free_place(at(10));
    late_.note_caps(at(12));
    EXPECT_EQ(late_.of_caps(), LateCause::none);
    EXPECT_EQ(begin(at(4), at(12)), (Cause{LateCause::inflight, milliseconds(6)}));
    EXPECT_EQ(begin(at(10), at(12)), no_cause);
}

// Nobody has seen its end yet: it holds back until now.
TEST_F(Causes, APlaceThatIsTakenStillHoldsBackUntilTheLastLook) {
    take_place(at(0));
    late_.note_caps(at(7));
    EXPECT_EQ(begin(at(4), at(8)), (Cause{LateCause::inflight, milliseconds(3)}));
}

// The process was stopped from 20 on, with a place free; what filled it afterwards kept no row from
// leaving before that.
TEST_F(Causes, RoomThatNobodyUsedIsNotTimeHeldBack) {
    take_place(at(0));
    free_place(at(10));
    late_.note_caps(at(10));
    take_place(at(50));
    free_place(at(60));
    late_.note_caps(at(60));
    EXPECT_EQ(begin(at(20), at(60)), (Cause{LateCause::inflight, milliseconds(10)}));
    EXPECT_EQ(begin(at(5), at(60)), (Cause{LateCause::inflight, milliseconds(5 + 10)}));
}

TEST_F(CappedByHost, IsALimitThatNobodyAskedFor) {
    take_place(at(0));
    EXPECT_EQ(late_.of_caps(), LateCause::limit);
    late_.note_caps(at(7));
    EXPECT_EQ(begin(at(4), at(8)), (Cause{LateCause::limit, milliseconds(3)}));
}

// As many connections as the host allows are there, though the row may leave.
TEST_F(CappedByHost, LacksLanesByItsLimit) {
    EXPECT_EQ(late_.of_no_lane(), LateCause::lane);
    hand_.open();
    EXPECT_EQ(late_.of_no_lane(), LateCause::limit);
}

TEST_F(Causes, LanesThatTheUserCappedAreLanes) {
    hand_.open();
    EXPECT_TRUE(hand_.lanes.pool.full());
    EXPECT_EQ(late_.of_no_lane(), LateCause::lane);
}

// A ring without room holds back until the last look that found none; it goes before all else.
TEST_F(Causes, TheWriterHoldsBackAsLongAsItsRingIsFull) {
    take_place(at(0));
    hand_.fill_ring();
    EXPECT_EQ(late_.of_caps(), LateCause::writer);
    late_.note_caps(at(3));
    (void)hand_.drain();
    EXPECT_EQ(late_.of_caps(), LateCause::inflight);
    late_.note_caps(at(5));
    EXPECT_EQ(begin(at(1), at(5)), (Cause{LateCause::writer, milliseconds(2)}));
    EXPECT_EQ(begin(at(3), at(5)), (Cause{LateCause::inflight, milliseconds(2)}));
}

// A row whose bytes were not there has kept those behind it, too.
TEST_F(Causes, AnUnbuiltRowKeepsThoseBehindIt) {
    late_.note_next(LateCause::prepare, at(1));
    late_.note_next(LateCause::prepare, at(2));
    late_.note_next(LateCause::none, at(4));
    EXPECT_EQ(begin(at(0), at(4)), (Cause{LateCause::prepare, Duration{0}}));
    EXPECT_EQ(begin(at(3), at(4)), (Cause{LateCause::prepare, Duration{0}}));
    EXPECT_EQ(begin(at(4), at(4)), no_cause);
}

// The next row waits for room that bodies take which nobody may send: a limit, with its time.
TEST_F(Causes, BodiesThatNobodyTakesAreALimit) {
    late_.note_next(LateCause::limit, at(1));
    late_.note_next(LateCause::none, at(4));
    EXPECT_EQ(begin(at(1), at(4)), (Cause{LateCause::limit, milliseconds(3)}));
}

// What was due while the loop did not run is late for that, and not for what was unbuilt for it.
TEST_F(Causes, AStopGoesBeforeWhatItEntailed) {
    late_.note_next(LateCause::prepare, at(0));
    late_.note_away(at(10), at(20), at(12));
    late_.note_next(LateCause::none, at(30));
    EXPECT_EQ(begin(at(9), at(30)).cause, LateCause::prepare);
    EXPECT_EQ(begin(at(10), at(30)).cause, LateCause::wake);
    EXPECT_EQ(begin(at(19), at(30)).cause, LateCause::wake);
    EXPECT_EQ(begin(at(20), at(30)).cause, LateCause::prepare);
}

// Rows that were due in the first stop have not left when the second comes: both are theirs.
TEST_F(Causes, StopsAddUpWhileRowsOfTheFirstAreLeft) {
    late_.note_away(at(10), at(20), at(12));
    late_.note_away(at(22), at(30), at(12));
    EXPECT_EQ(begin(at(12), at(30)).cause, LateCause::wake);
    EXPECT_EQ(begin(at(21), at(30)).cause, LateCause::wake);
    late_.note_away(at(40), at(50), at(41));
    EXPECT_EQ(begin(at(35), at(50)).cause, LateCause::none) << "a new one: all had left before";
    EXPECT_EQ(begin(at(40), at(50)).cause, LateCause::wake);
}

// What the user asked for would have delayed it anyway.
TEST_F(Causes, ACapGoesBeforeAStop) {
    take_place(at(0));
    late_.note_away(at(1), at(9), at(4));
    free_place(at(10));
    late_.note_caps(at(12));
    EXPECT_EQ(begin(at(4), at(12)), (Cause{LateCause::inflight, milliseconds(6)}));
}

// A row waits for a lane when its turn has come; then the places are full, too, or the ring is.
TEST_F(Causes, WhatHeldARowBehindItsTurnCounts) {
    EXPECT_EQ(begin(at(1), at(1)), no_cause);
    row_.cause = LateCause::lane;
    take_place(at(2));
    late_.note_caps(at(6));
    EXPECT_EQ(end(at(1)), (Cause{LateCause::inflight, milliseconds(5)}));
}

TEST_F(Causes, WhatHeldARowBeforeItsTurnIsNotCountedAgain) {
    take_place(at(0));
    late_.note_caps(at(6));
    EXPECT_EQ(begin(at(1), at(7)), (Cause{LateCause::inflight, milliseconds(5)}));
    row_.cause = LateCause::lane;
    row_.held_ns = 0;
    EXPECT_EQ(end(at(1)), (Cause{LateCause::lane, Duration{0}}));
}

// A retry has left already: what holds back others holds back nothing of it.
TEST_F(Causes, ARetryIsNotHeldBack) {
    (void)begin(at(1), at(1));
    row_.tries = 1;
    take_place(at(2));
    late_.note_caps(at(6));
    EXPECT_EQ(end(at(1)), no_cause);
}

TEST_F(Causes, WhatNobodyWantedStaysTheCause) {
    take_place(at(1));
    hand_.fill_ring();
    late_.note_caps(at(3));
    EXPECT_EQ(begin(at(1), at(3)), (Cause{LateCause::writer, milliseconds(2)}));
    (void)hand_.drain();
    late_.note_caps(at(6));
    EXPECT_EQ(end(at(1)), (Cause{LateCause::writer, milliseconds(5)}));
}

// No connection more may be open: that was so until it leaves, now.
TEST_F(CappedByHost, HoldsBackARowWithoutALaneUntilItLeaves) {
    const Instant due = hand_.driver.now();
    (void)begin(due, due);
    row_.cause = LateCause::limit;
    hand_.pass(milliseconds(3));
    const Cause cause = end(due);
    EXPECT_EQ(cause.cause, LateCause::limit);
    EXPECT_GE(cause.held, milliseconds(3));
    EXPECT_LT(cause.held, milliseconds(4));
}

// A cause that is known is not replaced by how late the row was.
TEST_F(Causes, ACauseThatIsKnownStands) {
    row_.cause = LateCause::lane;
    EXPECT_EQ(late_.of(row_, at(0), Duration{0}), LateCause::lane);
    EXPECT_EQ(late_.of(row_, at(0), seconds(1)), LateCause::lane);
}

}  // namespace
}  // namespace driftless::sim
