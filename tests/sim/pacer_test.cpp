// Rows leave at their instants; those that lack bytes, a lane or a place leave as soon as they can,
// and say what they lacked.

#include "engine/replay/pacer.hpp"

#include "engine/replay/between_fires.hpp"
#include "tests/sim/pacing.hpp"

namespace driftless::sim {

namespace {

using Rows = std::vector<SmallRow>;
using Outcomes = std::vector<Outcome>;

TEST(Pacer, FiresOnTime) {
    Pacing pacing(Rows(1));
    pacing.arm();
    pacing.open();
    EXPECT_FALSE(pacing.step());
    EXPECT_EQ(pacing.pacer.next_due(pacing.driver.now()), never);
    EXPECT_FALSE(pacing.pacer.done());
    pacing.begin(milliseconds(1));
    EXPECT_FALSE(pacing.step());
    EXPECT_EQ(pacing.pacer.next_due(pacing.driver.now()), pacing.zero);
    // At its instant, and no sooner, though all was prepared before.
    Pacing other_pacing(Rows{{milliseconds(3)}});
    other_pacing.arm();
    other_pacing.open();
    other_pacing.begin(microseconds(-2990));
    EXPECT_TRUE(other_pacing.pacer.fire_on_time());
    EXPECT_EQ(other_pacing.pacer.rows_fired(), 1u);
    const std::vector<Event> events = other_pacing.fired();
    ASSERT_EQ(events.size(), 1u);
    const Instant due = other_pacing.zero + milliseconds(3);
    EXPECT_GE(events[0].stamp_ns, due.ns);
    EXPECT_LT(events[0].stamp_ns, (due + microseconds(1)).ns);
    EXPECT_EQ(events[0].fired.late_cause, LateCause::none);
    // Then it is `step` that fires it, when it can.
    Pacing third_pacing(Rows(2), Pacing::Options{.settings = {.inflight_max = 1}});
    third_pacing.begin(microseconds(10));
    third_pacing.open();
    EXPECT_FALSE(third_pacing.pacer.fire_on_time()) << "no bytes";
    third_pacing.arm();
    EXPECT_TRUE(third_pacing.pacer.fire_on_time());
    third_pacing.open();
    EXPECT_FALSE(third_pacing.pacer.fire_on_time()) << "no place in flight";
    third_pacing.answer_all();
    third_pacing.lanes.pool.close_all();
    EXPECT_FALSE(third_pacing.pacer.fire_on_time()) << "no lane";
    EXPECT_EQ(third_pacing.pacer.rows_fired(), 1u);
}

TEST(Pacer, ARowWithoutBytesOrLaneLeavesWhenItHasThem) {
    Pacing pacing(Rows(1));
    pacing.open();
    pacing.begin(milliseconds(-1));
    EXPECT_FALSE(pacing.step());
    EXPECT_TRUE(pacing.pacer.needs_arm(pacing.driver.now()));
    pacing.arm();
    EXPECT_FALSE(pacing.pacer.needs_arm(pacing.driver.now()));
    EXPECT_EQ(pacing.fires_one().fired.late_cause, LateCause::prepare);
    EXPECT_EQ(pacing.health.take(pacing.driver.now()).late_arms, 1);
    Pacing other_pacing(Rows(1));
    other_pacing.arm();
    other_pacing.begin(milliseconds(-1));
    EXPECT_TRUE(other_pacing.step());
    EXPECT_EQ(other_pacing.lanes.parts.targets[0].connecting, 1u);
    EXPECT_EQ(other_pacing.pacer.next_due(other_pacing.driver.now()), never)
        << "an answer or a connect";
    EXPECT_FALSE(other_pacing.step());
    while (other_pacing.lanes.shelf.count() == 0) {
        other_pacing.turn();
    }
    const Instant now = other_pacing.driver.now();
    EXPECT_EQ(other_pacing.pacer.next_due(now), now);
    EXPECT_EQ(other_pacing.fires_one().fired.late_cause, LateCause::lane);
    EXPECT_EQ(other_pacing.health.take(other_pacing.driver.now()).missing_lanes, 1);
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
    EXPECT_EQ(pacing.fires_one().request, 0u);
    Pacing other_pacing(Rows(2));
    other_pacing.arm();
    EXPECT_TRUE(other_pacing.lanes.pool.open_one(0));
    other_pacing.begin(milliseconds(-1));
    EXPECT_TRUE(other_pacing.step());
    EXPECT_EQ(other_pacing.lanes.parts.targets[0].connecting, 1u);
    EXPECT_TRUE(other_pacing.step());
    EXPECT_EQ(other_pacing.lanes.parts.targets[0].connecting, 2u) << "that one is the first row's";
    // Rows that wait go before one that is due now, or it would take their lane.
    Pacing third_pacing(Rows(2));
    third_pacing.arm();
    third_pacing.begin(milliseconds(-1));
    EXPECT_TRUE(third_pacing.step());
    while (third_pacing.lanes.shelf.count() == 0) {
        third_pacing.turn();
    }
    EXPECT_EQ(third_pacing.fires_one().request, 0u);
}

TEST(Pacer, ARowWithoutAPlaceWaitsForAnAnswer) {
    Pacing pacing(Rows(2), Pacing::Options{.settings = {.inflight_max = 1}});
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
        const Event event = pacing.fires_one();
        EXPECT_EQ(event.fired.late_cause, LateCause::writer);
        EXPECT_GT(event.fired.held_ns, milliseconds(1).ns);
        EXPECT_LE(event.fired.held_ns, (held_until - pacing.zero).ns);
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
    const Event event = pacing.fires_one();
    EXPECT_EQ(event.request, 0u);
    EXPECT_EQ(event.fired.late_cause, LateCause::prepare) << "it was no records when it was due";
    EXPECT_EQ(pacing.lanes.sealing.late_count(), 0u);
    EXPECT_TRUE(pacing.step());
    while (pacing.lanes.pool.seal_slice()) {
    }
    EXPECT_TRUE(pacing.step());
    EXPECT_EQ(pacing.pacer.rows_fired(), 2u);
}

// The writer hangs: no row leaves that it could not account for.
TEST(Pacer, WaitsForTheWriterAndIsDoneWhenAllHasEnded) {
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
    // It is done when all have ended and the schedule knows.
    Pacing third_pacing(Rows(1));
    third_pacing.arm();
    third_pacing.open();
    third_pacing.begin(Duration{0});
    EXPECT_TRUE(third_pacing.step());
    third_pacing.answer_all();
    EXPECT_FALSE(third_pacing.pacer.done() || third_pacing.schedule.over());
    (void)third_pacing.step();
    EXPECT_TRUE(third_pacing.pacer.done() && third_pacing.schedule.over());
    EXPECT_EQ(third_pacing.armer.rows().count(), 0u) << "its place is free";
    // Every row gets its end, in portions, whether it was armed or not; none leaves any more.
    Pacing other_pacing(Rows(5));
    other_pacing.arm(INT64_MAX);
    other_pacing.begin(milliseconds(-1));
    EXPECT_TRUE(other_pacing.step());  // one waits for a lane
    other_pacing.pacer.stop();
    EXPECT_EQ(other_pacing.bodies.used_bytes(), BodyPool::leaf_bytes) << "of the row that waits";
    EXPECT_EQ(other_pacing.pacer.next_due(other_pacing.driver.now()), never);
    EXPECT_TRUE(other_pacing.pacer.drop_unsent(2));
    EXPECT_EQ(other_pacing.ends(), Outcomes(2, Outcome::not_sent));
    EXPECT_TRUE(other_pacing.pacer.drop_unsent(100));
    EXPECT_EQ(other_pacing.ends(), Outcomes(3, Outcome::not_sent));
    EXPECT_FALSE(other_pacing.pacer.drop_unsent(100));
    (void)other_pacing.step();
    EXPECT_TRUE(other_pacing.pacer.done());
    EXPECT_EQ(other_pacing.pacer.rows_fired(), 0u);
    EXPECT_EQ(other_pacing.bodies.used_bytes(), 0u);
}

// Closed sessions: a turn leaves behind the answer of its parent; behind one that never came, it
// gets its end unsent.
TEST(Pacer, ATurnWaitsForItsParent) {
    for (const bool answered : {true, false}) {
        Pacing::Options options;
        options.rows.dependencies = {{.row = 1, .on = 0, .trigger = Trigger::completion}};
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
        EXPECT_EQ(pacing.ends(), answered ? Outcomes{Outcome::cancelled}
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

// What is made ready between two rows: in which order, how much of it at a time, and for how long
// ahead.

struct Prepares : ByHand {
    explicit Prepares(const Rows& rows, const Options& options = {}) : ByHand(rows, options) {
        health.begin(driver.now());
    }
    ~Prepares() {
        pacer.stop();
        pacer.forget_waiting();
    }

    void begin(Instant when) {
        zero = when;
        pacer.begin(zero);
        preparing.begin(zero);
    }
    /// One slice, nothing being due for so long.
    bool slice(Duration gap = seconds(1000), Duration guard = Duration{0}) {
        const Instant now = driver.now();
        return preparing.slice(now, now + gap, guard);
    }
    RowStage stage_of(std::uint32_t request) {
        const RowUnderway* row = armer.rows().find(request);
        return row == nullptr ? RowStage::wanted : row->stage;
    }
    std::uint64_t connects() const { return lanes.parts.counts.connects; }

    /// Starts so many connections and lets their connects end, which takes 0.2 ms at most: each
    /// waits for the first step of its handshake then.
    void wait_for_handshakes(std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) {
            CHECK(lanes.pool.open_one(0));
        }
        (void)loop.ready().run(64);
        for (const Instant until = driver.now() + milliseconds(2); driver.now() < until;) {
            receive();
        }
    }
    /// Of the connection that makes one, the next.
    void wait_for_next_step() {
        while (!waits_for_step()) {
            receive();
        }
    }
    void receive() {
        (void)driver.turn({driver.now() + milliseconds(1), 16, Wait::sleep, true});
        (void)loop.ready().run(64);
    }
    bool waits_for_step() const { return lanes.connecting.handshake_wanted() != never; }

    Instant zero = never;
    Health health;
    Pacer pacer{loop, trace, schedule, armer, lanes, ring, nullptr, health, settings};
    Preparing preparing{driver, settings, schedule, armer, lanes, pacer};
};

// A server with TLS, and steps of a handshake that take up to so long.
struct Secure {
    explicit Secure(Duration step_max = Duration{0}) : world(1, weather(step_max), 1) {
        options.tls = &world;
        options.rows.armer.for_tls = true;
        options.rows.pool_bytes = 8 << 20;
    }
    static TlsWeather weather(Duration step_max) {
        return TlsWeather{.on = true, .step_max = step_max};
    }
    TlsWorld world;
    Prepares::Options options;
};

constexpr std::uint32_t many_tokens = 20'000;  // five slices, and as many records

TEST(Preparing, BuildsInSlicesAndThenOpensConnections) {
    Prepares prepares(Rows(1));
    prepares.arm();
    prepares.open();
    EXPECT_FALSE(prepares.slice() || prepares.slice());
    // A large prompt is built in slices of 4,096 tokens; then its connection is opened.
    Prepares::Options options{.rows = {.pool_bytes = 8 << 20}};
    Prepares other_prepares(Rows{{Duration{0}, no_session, many_tokens}, {}}, options);
    std::uint32_t slices = 0;
    while (other_prepares.stage_of(0) != RowStage::armed) {
        ASSERT_TRUE(other_prepares.slice());
        ++slices;
    }
    EXPECT_GE(slices, many_tokens / 4096 + 1);
    EXPECT_LE(slices, many_tokens / 4096 + 3);
    EXPECT_EQ(other_prepares.stage_of(1), RowStage::wanted) << "one row at a time";
    EXPECT_TRUE(other_prepares.slice());
    EXPECT_EQ(other_prepares.stage_of(1), RowStage::armed);
    for (const std::uint64_t connects : {1, 2}) {
        EXPECT_EQ(other_prepares.connects(), connects - 1);
        EXPECT_TRUE(other_prepares.slice());
        EXPECT_EQ(other_prepares.connects(), connects) << "one at a time";
    }
    EXPECT_FALSE(other_prepares.slice()) << "both are under way";
}

// A row that is built gets its connection and becomes records, one a slice, before others are
// built.
TEST(Preparing, MakesRecordsBeforeItBuilds) {
    Secure secure;
    Prepares prepares(Rows{{Duration{0}, no_session, many_tokens}, {}}, secure.options);
    prepares.open();
    while (prepares.stage_of(0) != RowStage::armed) {
        ASSERT_TRUE(prepares.slice());
    }
    EXPECT_TRUE(prepares.slice());
    EXPECT_EQ(prepares.stage_of(0), RowStage::bound);
    ASSERT_NE(prepares.lanes.sealing.next(), nullptr);
    const LaneTls& tls = *prepares.lanes.sealing.next()->tls;
    EXPECT_EQ(tls.plain_done, 0u);
    while (!tls.ready) {
        const std::size_t before = tls.plain_done;
        ASSERT_TRUE(prepares.slice());
        EXPECT_GT(tls.plain_done, before);
        EXPECT_LE(tls.plain_done, before + record_bytes_max);
        EXPECT_EQ(prepares.stage_of(1), RowStage::wanted);
    }
    EXPECT_TRUE(prepares.slice());
    EXPECT_EQ(prepares.stage_of(1), RowStage::armed);
    EXPECT_EQ(prepares.connects(), 1u);
}

// Two are wanted: the second is opened before the first, which has grown old, is replaced.
TEST(Preparing, OpensBeforeItReplacesInAGap) {
    Prepares prepares(Rows(2));
    prepares.arm();
    prepares.open();
    prepares.lanes.shelf.limit(0).hear({.timeout_s = 4, .max = {}});
    prepares.pass(milliseconds(3000));
    EXPECT_TRUE(prepares.slice());
    EXPECT_EQ(std::tuple(prepares.connects(), prepares.lanes.shelf.ageing(0)), std::tuple(2u, 0u));
    EXPECT_TRUE(prepares.slice());
    EXPECT_EQ(prepares.lanes.shelf.ageing(0), 1u);
    // At the limit on connections an old one goes where nothing is due for 50 ms.
    Prepares other_prepares(Rows(1), Prepares::Options{.settings = {.lanes_max = 1}});
    other_prepares.arm();
    other_prepares.open();
    other_prepares.lanes.shelf.limit(0).hear({.timeout_s = 4, .max = {}});
    other_prepares.pass(milliseconds(3000));
    EXPECT_TRUE(other_prepares.slice()) << "its age shows";
    const Duration guard = microseconds(30);
    EXPECT_FALSE(other_prepares.slice(milliseconds(50) - Duration{1}, guard));
    EXPECT_TRUE(other_prepares.slice(milliseconds(50), guard));
    EXPECT_EQ(other_prepares.lanes.shelf.count(0), 0u);
}

// Handshakes take the longest of all: they come last, one step a slice.
TEST(Preparing, ShakesHandsLast) {
    Secure secure;
    Prepares prepares(Rows(4), secure.options);
    prepares.arm();
    prepares.open();
    prepares.lanes.shelf.limit(0).hear({.timeout_s = 4, .max = {}});
    prepares.driver.stand_still(milliseconds(3000));
    prepares.begin(prepares.driver.now() + seconds(10));  // it is too old to be bound
    prepares.wait_for_handshakes(2);
    const Instant wanted = prepares.lanes.connecting.handshake_wanted();
    ASSERT_NE(wanted, never);
    EXPECT_TRUE(prepares.slice());
    EXPECT_EQ(prepares.connects(), 4u) << "one is opened";
    EXPECT_TRUE(prepares.slice());
    EXPECT_EQ(prepares.lanes.shelf.ageing(0), 1u) << "one is replaced";
    EXPECT_TRUE(prepares.slice());
    EXPECT_EQ(prepares.connects(), 5u) << "its successor is opened";
    EXPECT_EQ(prepares.lanes.connecting.handshake_wanted(), wanted);
    EXPECT_TRUE(prepares.slice());
    EXPECT_TRUE(prepares.waits_for_step()) << "of the other one";
    EXPECT_TRUE(prepares.slice());
    EXPECT_FALSE(prepares.waits_for_step() || prepares.slice());
}

// A step takes 1 ms: it begins where that is free before the guard of a row.
TEST(Preparing, ShakesHandsInAGapOrAfter50Milliseconds) {
    Secure secure;
    Prepares prepares(Rows(1), secure.options);
    prepares.arm();
    prepares.wait_for_handshakes(1);
    const Duration guard = microseconds(30);
    EXPECT_FALSE(prepares.slice(guard + milliseconds(1), guard));
    EXPECT_TRUE(prepares.waits_for_step());
    EXPECT_TRUE(prepares.slice(guard + milliseconds(1) + Duration{1}, guard));
    EXPECT_FALSE(prepares.waits_for_step());
    // One that has found no such gap for 50 ms goes before what is due.
    Prepares other_prepares(Rows(1), secure.options);
    other_prepares.arm();
    other_prepares.wait_for_handshakes(1);
    const Instant patient = other_prepares.lanes.connecting.handshake_wanted() + milliseconds(50);
    other_prepares.pass(milliseconds(60));
    EXPECT_FALSE(other_prepares.preparing.slice(patient - Duration{1}, patient, guard));
    EXPECT_TRUE(other_prepares.waits_for_step());
    EXPECT_TRUE(other_prepares.preparing.slice(patient, patient, guard));
    EXPECT_FALSE(other_prepares.waits_for_step());
}

// Where steps take longer, the next one wants a gap that is a fifth longer than the longest.
TEST(Preparing, TakesFromHandshakesHowLongTheyTake) {
    Secure secure(milliseconds(8));
    Prepares prepares(Rows(1), secure.options);
    const Duration guard = microseconds(30);
    prepares.arm();
    prepares.wait_for_handshakes(1);
    const Instant from = prepares.driver.now();
    ASSERT_TRUE(prepares.slice());
    const Duration took = prepares.driver.now() - from;
    ASSERT_GT(took, milliseconds(1));
    prepares.wait_for_next_step();
    const Duration gap = guard + Duration{took.ns * 6 / 5};
    EXPECT_FALSE(prepares.slice(gap - microseconds(1), guard));
    EXPECT_TRUE(prepares.slice(gap + microseconds(1), guard));
}

// --- How far ahead: from the first row's due before time 0 and until it is due, then from now on.

constexpr Duration first_due = seconds(10);

Rows rows_ahead(Duration ahead) {
    return {{first_due}, {first_due + ahead}, {first_due + ahead + Duration{1}}};
}

/// So many rows are built by now.
std::uint32_t armed_by(Prepares& prepares, Instant now) {
    while (prepares.preparing.arm_slice(now)) {
    }
    return prepares.armer.armed_count();
}

TEST(Preparing, BuildsTwoSecondsAhead) {
    Prepares prepares(rows_ahead(seconds(2)));
    EXPECT_EQ(armed_by(prepares, prepares.driver.now()), 2u);
    prepares.begin(prepares.driver.now() + seconds(1));
    EXPECT_EQ(armed_by(prepares, prepares.zero + first_due), 2u);
    EXPECT_EQ(armed_by(prepares, prepares.zero + first_due + Duration{1}), 3u);
    Prepares::Options options{.settings = {.arm_ahead = milliseconds(3)}};
    Prepares some(rows_ahead(milliseconds(3)), options);
    EXPECT_EQ(armed_by(some, some.driver.now()), 2u);
    options.settings.arm_all = true;
    Prepares all(rows_ahead(seconds(1000)), options);
    EXPECT_EQ(armed_by(all, all.driver.now()), 3u);
}

/// So many rows have their connection by now.
std::uint32_t bound_by(Prepares& prepares, Instant now) {
    while (prepares.preparing.seal_slice(now)) {
    }
    return prepares.lanes.parts.targets[0].bound;
}

void stand_for_all(Prepares& prepares) {
    prepares.arm();
    for (std::size_t i = 0; i < prepares.trace.rows.size(); ++i) {
        prepares.open();
    }
}

TEST(Preparing, BindsAQuarterOfASecondAhead) {
    Secure secure;
    Prepares prepares(rows_ahead(milliseconds(250)), secure.options);
    stand_for_all(prepares);
    EXPECT_EQ(bound_by(prepares, prepares.driver.now()), 2u);
    prepares.begin(prepares.driver.now() + seconds(1));
    EXPECT_EQ(bound_by(prepares, prepares.zero), 2u);
    EXPECT_EQ(bound_by(prepares, prepares.zero + first_due), 2u);
    EXPECT_EQ(bound_by(prepares, prepares.zero + first_due + Duration{1}), 3u);
    // A run that is resumed begins far from 0, which lies in the past then.
    Prepares other_prepares(rows_ahead(milliseconds(250)), secure.options);
    stand_for_all(other_prepares);
    other_prepares.driver.stand_still(first_due);
    other_prepares.begin(other_prepares.driver.now() - first_due + milliseconds(100));
    EXPECT_EQ(bound_by(other_prepares, other_prepares.driver.now()), 2u);
    EXPECT_EQ(bound_by(other_prepares, other_prepares.zero + first_due + Duration{1}), 3u);
}

/// So many connections are opened by now.
std::uint64_t opened_by(Prepares& prepares, Instant now) {
    while (prepares.preparing.open_lane(now)) {
    }
    return prepares.connects();
}

// Those of the first second stand before time 0, however long before the first row that is; then
// they are opened a second ahead.
TEST(Preparing, OpensConnectionsASecondAheadUntilAStop) {
    Prepares early(rows_ahead(seconds(1)));
    EXPECT_EQ(opened_by(early, early.driver.now()), 2u);
    early.begin(early.driver.now() + seconds(1));
    EXPECT_EQ(opened_by(early, early.zero + first_due), 2u);
    EXPECT_EQ(opened_by(early, early.zero + first_due + Duration{1}), 3u);
    Prepares begun(rows_ahead(seconds(1)));
    begun.begin(begun.driver.now() + seconds(1));
    EXPECT_EQ(opened_by(begun, begun.zero), 1u) << "one instant's";
    EXPECT_EQ(opened_by(begun, begun.zero + first_due - seconds(1)), 1u);
    EXPECT_EQ(opened_by(begun, begun.zero + first_due), 2u);
    // Behind a stop no connection is opened; what stands idle still goes when it has grown old.
    Prepares prepares(Rows(2));
    prepares.arm();
    prepares.open();
    prepares.lanes.shelf.limit(0).hear({.timeout_s = 4, .max = {}});
    prepares.preparing.stop();
    EXPECT_FALSE(prepares.slice());
    prepares.pass(milliseconds(3500));
    EXPECT_TRUE(prepares.slice() && prepares.slice());
    EXPECT_EQ(prepares.lanes.shelf.count(0), 0u);
    EXPECT_FALSE(prepares.slice());
    EXPECT_EQ(prepares.connects(), 1u);
}

}  // namespace
}  // namespace driftless::sim
