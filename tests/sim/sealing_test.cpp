// Lanes that are bound to a row each: whose turn it is, and what becomes of a row whose lane will
// not carry it.

#include "engine/replay/exchanges.hpp"
#include "tests/sim/pacing.hpp"

namespace driftless::sim {

namespace {

// Lanes without connections: nothing is made into records here (tls_test.cpp).
struct Bound : ByHand {
    Bound() : ByHand(std::vector<SmallRow>(4)) {
        arm();
        parts.targets.resize(1);
    }
    ~Bound() {
        for (Lane& lane : own) {
            if (lane.tls->row != nullptr) {
                (void)sealing.unbind(lane);
            }
        }
    }

    /// A new lane, bound to the schedule's next row.
    Lane& bind(bool late) {
        Lane& lane = own.emplace_back();
        lane.number = static_cast<std::uint32_t>(own.size() - 1);
        lane.enter(LaneState::connecting);
        lane.enter(LaneState::idle);
        lane.tls = std::make_unique<LaneTls>();
        sealing.bind(lane, take(), late);
        return lane;
    }
    /// The server has refused the connection, as by an alert.
    void refuse(Lane& lane) {
        lane.tls->stream.connect(*world.endpoints()[0].tls);
        lane.tls->stream.fail_closed();
        CHECK(lane.tls->stream.failure() != 0);
    }

    TlsWorld world{1, fair_tls(), 1};
    LaneParts parts{loop, settings, bodies, ring, {}, {}, {}};
    InFlight in_flight{parts};
    Sealing sealing{parts, in_flight};
    std::deque<Lane> own;
};

using Outcomes = std::vector<Outcome>;

TEST(Sealing, LateRowsGoFirst) {
    Bound bound;
    EXPECT_EQ(bound.sealing.next(), nullptr);
    Lane& first = bound.bind(false);
    Lane& second = bound.bind(false);
    EXPECT_EQ(bound.sealing.next(), &first);
    EXPECT_FALSE(bound.sealing.next_is_late());
    bound.sealing.now_late(second);
    EXPECT_EQ(bound.sealing.next(), &second);
    EXPECT_TRUE(bound.sealing.next_is_late());
    EXPECT_EQ(bound.sealing.late_count(), 1u);
    EXPECT_EQ(bound.sealing.late_front(), nullptr) << "none is ready";
    Lane& third = bound.bind(true);
    EXPECT_EQ(bound.sealing.next(), &second);
    EXPECT_EQ(bound.sealing.late_count(), 2u);
    (void)bound.sealing.unbind(second);
    EXPECT_EQ(bound.sealing.next(), &third);
    EXPECT_EQ(bound.sealing.late_count(), 1u);
}

// Rows that are due become records in the order in which they became late.
TEST(Sealing, LateRowsKeepTheirOrder) {
    Bound bound;
    Lane& first = bound.bind(false);
    Lane& second = bound.bind(false);
    Lane& third = bound.bind(true);
    bound.sealing.now_late(second);
    bound.sealing.now_late(first);
    for (Lane* lane : {&third, &second, &first}) {
        EXPECT_EQ(bound.sealing.next(), lane);
        (void)bound.sealing.unbind(*lane);
    }
}

TEST(Sealing, ALaneIsOfOneRow) {
    Bound bound;
    Lane& lane = bound.bind(false);
    EXPECT_EQ(bound.parts.targets[0].bound, 1u);
    EXPECT_EQ(lane.tls->row->lane, lane.number);
    RowUnderway& row = bound.sealing.unbind(lane);
    EXPECT_EQ(row.lane, RowUnderway::no_lane);
    EXPECT_EQ(lane.tls->row, nullptr);
    EXPECT_EQ(bound.parts.targets[0].bound, 0u);
    EXPECT_EQ(bound.sealing.next(), nullptr);
}

// Its bytes are records of a connection that is gone; its storage is its own.
TEST(Sealing, ARowThatIsDroppedKeepsItsStorage) {
    Bound bound;
    Lane& lane = bound.bind(false);
    const char* const storage = lane.tls->row->storage;
    RowUnderway& row = bound.sealing.drop(lane);
    EXPECT_EQ(std::tuple(row.stage, row.storage), std::tuple(RowStage::again, storage));
    EXPECT_TRUE(row.bytes.empty());
}

// A row whose connection ends is built again; those that ended young are counted.
TEST(Sealing, ARowThatIsLostIsBuiltAgain) {
    for (const bool late : {false, true}) {
        for (const bool young : {false, true}) {
            Bound bound;
            Lane& lane = bound.bind(late);
            RowUnderway& row = *lane.tls->row;
            bound.sealing.lose(lane, young);
            EXPECT_EQ(bound.parts.again.pop_front(), &row);
            EXPECT_EQ(row.losses, young ? 1u : 0u);
            EXPECT_NE(row.storage, nullptr);
            EXPECT_EQ(bound.sealing.late_count(), 0u);
            EXPECT_TRUE(bound.ends().empty());
        }
    }
}

// Three connections may end young under a late row.
TEST(Sealing, ALateRowEndsWithItsFourthConnectionOrARefusal) {
    for (const std::uint16_t before : {2, 3, 4}) {
        Bound bound;
        Lane& lane = bound.bind(true);
        RowUnderway& row = *lane.tls->row;
        row.losses = before;
        bound.sealing.lose(lane, true);
        const bool ended = before >= Sealing::losses_max;
        EXPECT_EQ(row.stage, ended ? RowStage::ended : RowStage::again) << before;
        EXPECT_EQ(row.storage == nullptr, ended);
        EXPECT_EQ(bound.ends(), ended ? Outcomes{Outcome::send_failed} : Outcomes{});
    }
    // A server that refuses every connection right behind the handshake does so again.
    for (const bool used : {false, true}) {
        for (const bool late : {false, true}) {
            Bound bound;
            Lane& lane = bound.bind(late);
            lane.used = used;
            bound.refuse(lane);
            bound.sealing.lose(lane, true);
            const bool ended = late && !used;
            EXPECT_EQ(bound.ends(), ended ? Outcomes{Outcome::tls_failed} : Outcomes{});
            EXPECT_EQ(bound.parts.again.count, ended ? 0u : 1u);
        }
    }
}

// Without room for its end it is tried again, but for one that has left, which has its place.
TEST(Sealing, ARowWithoutAPlaceIsTriedAgainOrGivenUp) {
    for (const std::uint16_t tries : {0, 1}) {
        Bound bound;
        Lane& lane = bound.bind(true);
        RowUnderway& row = *lane.tls->row;
        row.losses = Sealing::losses_max;
        row.tries = tries;
        if (tries > 0) {
            row.tries = 0;
            row.stage = RowStage::in_flight;
            bound.in_flight.add(row);
            row.stage = RowStage::bound;
            row.tries = tries;
        }
        bound.fill_ring();
        bound.sealing.lose(lane, true);
        EXPECT_EQ(row.stage, tries > 0 ? RowStage::ended : RowStage::again);
        EXPECT_EQ(bound.parts.again.count, tries > 0 ? 0u : 1u);
    }
    // A late row is the pacer's to end; any other waits for its turn without bytes.
    Bound bound;
    Lane& late = bound.bind(true);
    RowUnderway& late_row = *late.tls->row;
    Lane& early = bound.bind(false);
    RowUnderway& early_row = *early.tls->row;
    bound.sealing.give_up(late);
    bound.sealing.give_up(early);
    EXPECT_EQ(bound.parts.again.pop_front(), &late_row);
    EXPECT_TRUE(bound.parts.again.empty());
    EXPECT_NE(late_row.storage, nullptr);
    EXPECT_EQ(early_row.stage, RowStage::wanted);
    EXPECT_EQ(early_row.storage, nullptr);
    EXPECT_TRUE(early_row.bytes.empty());
    EXPECT_TRUE(bound.ends().empty());
}

// Between the last byte of an answer and the end of its row: who hears of it, and which rows wait
// for the place and the lane that come free.

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
TEST(Settling, AnAnswerEndsItsTurnWhateverItsDeadline) {
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
    // Its deadline may pass before its lane is done with.
    Settling other_settling(Rows(1));
    other_settling.fire(1);
    other_settling.driver.stand_still(seconds(1));
    other_settling.read_answer();
    const Lane& lane = other_settling.lane_of(*other_settling.lanes.in_flight.answered().first);
    const Instant over_since = lane.exchange.over_since;
    const Instant free_since = lane.exchange.free_since;
    ASSERT_TRUE(lane.timer.set());
    EXPECT_EQ(other_settling.loop.timers().expire(lane.timer.at(), 8), 1u);
    EXPECT_EQ(lane.exchange.over_since, over_since);
    EXPECT_EQ(lane.exchange.free_since, free_since);
    (void)other_settling.loop.ready().run(64);
    EXPECT_EQ(lane.state, LaneState::idle);
    EXPECT_EQ(other_settling.ends(), std::vector<Outcome>{Outcome::ok});
}

// One place in flight: a turn has to wait until the answer's row has its end, which is no time that
// it was held back for.
TEST(Settling, ATurnIsLateForItsBytesOnly) {
    for (const bool capped_by_host : {false, true}) {
        Settling::Options options;
        options.settings.inflight_max = 1;
        options.settings.capped_by_host = capped_by_host;
        options.rows.dependencies = {{.row = 1, .on = 0, .trigger = Trigger::completion}};
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
        EXPECT_EQ(std::tuple(events[0].fired.held_ns, events[0].fired.inflight), std::tuple(0, 0u));
    }
    // The turn's bytes are not there: it does not wait for the lane first, or nobody would know why
    // it was late.
    Settling::Options options;
    options.rows.dependencies = {{.row = 1, .on = 0, .trigger = Trigger::completion}};
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
TEST(FindsLane, WhereOneIsIdleForThatRow) {
    Finding finding(Rows(2), {});
    EXPECT_FALSE(finding.waiting.finds_lane(finding.armed(0)));
    finding.open();
    EXPECT_TRUE(finding.waiting.finds_lane(finding.armed(0)));
    EXPECT_TRUE(finding.waiting.finds_lane(finding.armed(1)));
    finding.waiting.add(finding.take());
    EXPECT_FALSE(finding.waiting.finds_lane(finding.armed(1)));
    // A session's own connection may be the one that comes free; a row without a session has none.
    Finding::Options options{.settings = {.connection = ConnectionRule::sticky}};
    Finding other_finding(Rows{{Duration{0}, 1}, {}}, options);
    other_finding.open();
    EXPECT_FALSE(other_finding.waiting.finds_lane(other_finding.armed(0)));
    EXPECT_TRUE(other_finding.waiting.finds_lane(other_finding.armed(1)));
    TlsWorld world(1, fair_tls(), 1);
    Finding third_finding(Rows(2), over_tls(world));
    third_finding.open();
    ASSERT_NE(third_finding.lanes.pool.bind(0, third_finding.armed(0), {}, false), nullptr);
    EXPECT_TRUE(third_finding.waiting.finds_lane(third_finding.armed(0)));
    EXPECT_FALSE(third_finding.waiting.finds_lane(third_finding.armed(1)));
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

// When a request left by the kernel's word: which stamps are a row's own, which are believed, and
// what is counted where there is none.

constexpr std::string_view request = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n";

struct Stamped : ByHand {
    explicit Stamped(const Options& options = {}) : ByHand(std::vector<SmallRow>(2), options) {
        arm();
        open();
    }

    /// A request leaves on an idle lane.
    Lane& fire() {
        Lane& lane = *lanes.pool.take_idle(0, {});
        RowUnderway& row = take();
        armer.give_back(row);
        row.bytes = request;
        lanes.exchanges.prepare(lane, row, {100, 1 << 20});
        (void)driver.flush();
        lanes.exchanges.fired(lane, driver.now());
        return lane;
    }
    /// Until its answer is there; nobody collects stamps meanwhile.
    void answer(const Lane& lane) {
        for (int i = 0; i < 1000 && lane.state == LaneState::busy; ++i) {
            (void)driver.turn({driver.now() + milliseconds(1), 16, Wait::sleep, true});
            (void)loop.ready().run(64);
        }
        CHECK(lane.state != LaneState::busy);
    }
    /// The packet that ends in this byte of the lane's request left at `kernel`.
    void stamp(Lane& lane, std::uint32_t byte, Instant kernel) {
        Completion done{.more = true,
                        .stamp = driver.now(),
                        .kernel_ns = kernel.ns,
                        .key = lane.exchange.first_key + byte};
        seen = done.stamp;
        lanes.stamps.take(lane, done);
    }
    std::vector<Event> wires() {
        std::vector<Event> events;
        for (const Event& event : drain()) {
            if (event.kind == EventKind::wire) {
                events.push_back(event);
            }
        }
        return events;
    }

    LaneCounts& counts = lanes.parts.counts;
    Instant seen;  ///< when the latest stamp was taken
};

Stamped::Options in(const Weather& weather) {
    return Stamped::Options{.weather = weather};
}

TEST(WireStamps, SayWhenARequestLeft) {
    Stamped stamped;
    const Lane& lane = stamped.fire();
    EXPECT_FALSE(lane.exchange.wire_known);
    stamped.pass(milliseconds(1));
    EXPECT_TRUE(stamped.lanes.stamps.collect());
    EXPECT_FALSE(stamped.lanes.stamps.collect());
    EXPECT_TRUE(lane.exchange.wire_known);
    const std::vector<Event> events = stamped.wires();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].request, lane.exchange.request);
    EXPECT_EQ(events[0].lane, lane.number);
    const std::int64_t delay_ns = events[0].wire_ns - lane.exchange.fired.ns;
    EXPECT_GE(delay_ns, 0);
    EXPECT_LE(delay_ns, microseconds(20).ns);
    EXPECT_EQ(stamped.counts.wire_stamps, 1u);
    EXPECT_EQ(stamped.counts.wire_delay_sum_ns, delay_ns);
    EXPECT_EQ(stamped.counts.wire_delay_max_ns, delay_ns);
    stamped.answer(lane);
    EXPECT_EQ(stamped.counts.wire_missing, 0u);
    Stamped other_stamped;
    other_stamped.answer(other_stamped.fire());
    EXPECT_EQ(other_stamped.counts.wire_stamps, 1u);
    EXPECT_EQ(other_stamped.counts.wire_missing, 0u);
    EXPECT_EQ(other_stamped.wires().size(), 1u);
    Stamped lost(in(Weather{.lose_stamp = 1}));
    lost.answer(lost.fire());
    EXPECT_EQ(std::tuple(lost.counts.wire_stamps, lost.counts.wire_missing), std::tuple(0u, 1u));
    Stamped without(in(Weather{.stamps = false}));
    EXPECT_EQ(without.counts.lanes_without_stamps, 1u);
    EXPECT_FALSE(without.lanes.shelf.oldest(0)->stamps.in_flight());
    without.answer(without.fire());
    EXPECT_EQ(without.counts.wire_missing, 0u);
    EXPECT_TRUE(without.wires().empty());
}

// The second request of a connection begins behind the bytes of the first.
TEST(WireStamps, AStampIsOfItsRequestAndTheFirstStands) {
    Stamped stamped;
    stamped.answer(stamped.fire());
    Lane& lane = stamped.fire();
    EXPECT_EQ(lane.exchange.first_key, request.size());
    const Instant fired = lane.exchange.fired;
    stamped.stamp(lane, UINT32_MAX, fired);  // the byte in front of it
    stamped.stamp(lane, static_cast<std::uint32_t>(request.size()), fired);
    EXPECT_EQ(stamped.counts.stamps_stray, 2u);
    EXPECT_FALSE(lane.exchange.wire_known);
    stamped.stamp(lane, static_cast<std::uint32_t>(request.size()) - 1, fired);
    EXPECT_EQ(stamped.counts.stamps_stray, 2u);
    EXPECT_TRUE(lane.exchange.wire_known);
    // The packet with its head is the first; what comes behind says nothing of it.
    Stamped other_stamped;
    Lane& other_lane = other_stamped.fire();
    const Instant other_fired = other_lane.exchange.fired;
    other_stamped.stamp(other_lane, 0, other_fired + Duration{7});
    other_stamped.stamp(other_lane, 1, other_fired + Duration{9});
    const std::vector<Event> events = other_stamped.wires();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].wire_ns, (other_fired + Duration{7}).ns);
    EXPECT_EQ(other_stamped.counts.wire_stamps, 1u);
    EXPECT_EQ(other_stamped.counts.stamps_stray, 0u);
    EXPECT_EQ(other_stamped.counts.stamps_refused, 0u);
}

// Before it was fired, or after it was seen: somebody has set the clock.
TEST(WireStamps, RefusesWhatCannotBe) {
    Stamped stamped;
    Lane& lane = stamped.fire();
    const Instant fired = lane.exchange.fired;
    stamped.stamp(lane, 0, fired - stamp_tolerance - Duration{1});
    EXPECT_EQ(stamped.counts.stamps_refused, 1u);
    stamped.stamp(lane, 0, stamped.driver.now() + milliseconds(1));
    EXPECT_EQ(stamped.counts.stamps_refused, 2u);
    stamped.stamp(lane, 0, Instant{0});
    EXPECT_EQ(stamped.counts.stamps_refused, 3u);
    EXPECT_FALSE(lane.exchange.wire_known);
    stamped.stamp(lane, 0, fired - stamp_tolerance);
    EXPECT_EQ(stamped.counts.stamps_refused, 3u);
    const std::vector<Event> events = stamped.wires();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].wire_ns, fired.ns) << "it did not leave before it was fired";
    // A head has left before it is answered.
    for (const Duration later : {Duration{0}, Duration{1}}) {
        Stamped other_stamped;
        Lane& other_lane = other_stamped.fire();
        other_stamped.pass(milliseconds(1));
        other_lane.exchange.any_byte = true;
        other_lane.exchange.first_byte = other_lane.exchange.fired + microseconds(10);
        other_stamped.stamp(other_lane, 0,
                            other_lane.exchange.first_byte + stamp_tolerance + later);
        EXPECT_EQ(other_lane.exchange.wire_known, later.ns == 0);
        EXPECT_EQ(other_stamped.counts.stamps_refused, later.ns == 0 ? 0u : 1u);
    }
    // Its row was fired before, on another connection: how long that took is not the host's.
    Stamped other_stamped;
    Lane& other_lane = other_stamped.fire();
    other_lane.exchange.is_retry = true;
    other_stamped.stamp(other_lane, 0, other_lane.exchange.fired + Duration{5});
    EXPECT_EQ(other_stamped.counts.wire_stamps, 0u);
    EXPECT_EQ(other_stamped.counts.wire_delay_max_ns, 0);
    EXPECT_EQ(other_stamped.wires().size(), 1u);
}

}  // namespace
}  // namespace driftless::sim
