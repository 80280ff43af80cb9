// What is made ready between two rows: in which order, how much of it at a time, and for how long
// ahead.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "engine/replay/between_fires.hpp"
#include "tests/sim/by_hand.hpp"

namespace driftless::sim {
namespace {

using Rows = std::vector<SmallRow>;

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
        options.armer.for_tls = true;
        options.pool_bytes = 8 << 20;
    }
    static TlsWeather weather(Duration step_max) {
        TlsWeather weather{.on = true, .step_max = step_max};
        return weather;
    }
    TlsWorld world;
    Prepares::Options options;
};

constexpr std::uint32_t many_tokens = 20'000;  // five slices, and as many records

TEST(Preparing, DoesNothingWhereNothingIsToBeDone) {
    Prepares prepares(Rows(1));
    prepares.arm();
    prepares.open();
    EXPECT_FALSE(prepares.slice());
    EXPECT_FALSE(prepares.slice());
}

// A large prompt is built in slices of 4,096 tokens; then its connection is opened.
TEST(Preparing, BuildsInSlicesAndThenOpensConnections) {
    Prepares::Options options;
    options.pool_bytes = 8 << 20;
    Prepares prepares(Rows{{Duration{0}, no_session, many_tokens}, {}}, options);
    std::uint32_t slices = 0;
    while (prepares.stage_of(0) != RowStage::armed) {
        ASSERT_TRUE(prepares.slice());
        ++slices;
    }
    EXPECT_GE(slices, many_tokens / 4096 + 1);
    EXPECT_LE(slices, many_tokens / 4096 + 3);
    EXPECT_EQ(prepares.stage_of(1), RowStage::wanted) << "one row at a time";
    EXPECT_TRUE(prepares.slice());
    EXPECT_EQ(prepares.stage_of(1), RowStage::armed);
    for (const std::uint64_t connects : {1, 2}) {
        EXPECT_EQ(prepares.connects(), connects - 1);
        EXPECT_TRUE(prepares.slice());
        EXPECT_EQ(prepares.connects(), connects) << "one at a time";
    }
    EXPECT_FALSE(prepares.slice()) << "both are under way";
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
TEST(Preparing, OpensBeforeItReplaces) {
    Prepares prepares(Rows(2));
    prepares.arm();
    prepares.open();
    prepares.lanes.shelf.limit(0).hear({.timeout_s = 4, .max = {}});
    prepares.pass(milliseconds(3000));
    EXPECT_TRUE(prepares.slice());
    EXPECT_EQ(prepares.connects(), 2u);
    EXPECT_EQ(prepares.lanes.shelf.ageing(0), 0u);
    EXPECT_TRUE(prepares.slice());
    EXPECT_EQ(prepares.lanes.shelf.ageing(0), 1u);
}

// At the limit on connections an old one goes where nothing is due for 50 ms.
TEST(Preparing, ReplacesInAGap) {
    Prepares::Options options;
    options.settings.lanes_max = 1;
    Prepares prepares(Rows(1), options);
    prepares.arm();
    prepares.open();
    prepares.lanes.shelf.limit(0).hear({.timeout_s = 4, .max = {}});
    prepares.pass(milliseconds(3000));
    EXPECT_TRUE(prepares.slice()) << "its age shows";
    const Duration guard = microseconds(30);
    EXPECT_FALSE(prepares.slice(milliseconds(50) - Duration{1}, guard));
    EXPECT_TRUE(prepares.slice(milliseconds(50), guard));
    EXPECT_EQ(prepares.lanes.shelf.count(0), 0u);
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
    EXPECT_FALSE(prepares.waits_for_step());
    EXPECT_FALSE(prepares.slice());
}

// A step takes 1 ms: it begins where that is free before the guard of a row.
TEST(Preparing, ShakesHandsWhereThereIsTimeForIt) {
    Secure secure;
    Prepares prepares(Rows(1), secure.options);
    prepares.arm();
    prepares.wait_for_handshakes(1);
    const Duration guard = microseconds(30);
    EXPECT_FALSE(prepares.slice(guard + milliseconds(1), guard));
    EXPECT_TRUE(prepares.waits_for_step());
    EXPECT_TRUE(prepares.slice(guard + milliseconds(1) + Duration{1}, guard));
    EXPECT_FALSE(prepares.waits_for_step());
}

// One that has found no such gap for 50 ms goes before what is due.
TEST(Preparing, AHandshakeWaits50MillisecondsForAGap) {
    Secure secure;
    Prepares prepares(Rows(1), secure.options);
    prepares.arm();
    prepares.wait_for_handshakes(1);
    const Instant patient = prepares.lanes.connecting.handshake_wanted() + milliseconds(50);
    prepares.pass(milliseconds(60));
    const Duration guard = microseconds(30);
    EXPECT_FALSE(prepares.preparing.slice(patient - Duration{1}, patient, guard));
    EXPECT_TRUE(prepares.waits_for_step());
    EXPECT_TRUE(prepares.preparing.slice(patient, patient, guard));
    EXPECT_FALSE(prepares.waits_for_step());
}

// Where steps take longer, the next one wants a gap that is a fifth longer than the longest.
TEST(Preparing, TakesFromHandshakesHowLongTheyTake) {
    Secure secure(milliseconds(8));
    Prepares prepares(Rows(1), secure.options);
    prepares.arm();
    prepares.wait_for_handshakes(1);
    const Instant from = prepares.driver.now();
    ASSERT_TRUE(prepares.slice());
    const Duration took = prepares.driver.now() - from;
    ASSERT_GT(took, milliseconds(1));
    prepares.wait_for_next_step();
    const Duration guard = microseconds(30);
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
}

TEST(Preparing, BuildsAsFarAheadAsItIsTold) {
    Prepares::Options options;
    options.settings.arm_ahead = milliseconds(3);
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
}

// A run that is resumed begins far from 0, which lies in the past then.
TEST(Preparing, BindsAheadInARunThatIsResumed) {
    Secure secure;
    Prepares prepares(rows_ahead(milliseconds(250)), secure.options);
    stand_for_all(prepares);
    prepares.driver.stand_still(first_due);
    prepares.begin(prepares.driver.now() - first_due + milliseconds(100));
    EXPECT_EQ(bound_by(prepares, prepares.driver.now()), 2u);
    EXPECT_EQ(bound_by(prepares, prepares.zero + first_due + Duration{1}), 3u);
}

/// So many connections are opened by now.
std::uint64_t opened_by(Prepares& prepares, Instant now) {
    while (prepares.preparing.open_lane(now)) {
    }
    return prepares.connects();
}

// Those of the first second stand before time 0, however long before the first row that is; then
// they are opened a second ahead.
TEST(Preparing, OpensConnectionsASecondAhead) {
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
}

// Behind a stop no connection is opened; what stands idle still goes when it has grown old.
TEST(Preparing, OpensNoConnectionBehindAStop) {
    Prepares prepares(Rows(2));
    prepares.arm();
    prepares.open();
    prepares.lanes.shelf.limit(0).hear({.timeout_s = 4, .max = {}});
    prepares.preparing.stop();
    EXPECT_FALSE(prepares.slice());
    prepares.pass(milliseconds(3500));
    EXPECT_TRUE(prepares.slice());
    EXPECT_TRUE(prepares.slice());
    EXPECT_EQ(prepares.lanes.shelf.count(0), 0u);
    EXPECT_FALSE(prepares.slice());
    EXPECT_EQ(prepares.connects(), 1u);
}

}  // namespace
}  // namespace driftless::sim
