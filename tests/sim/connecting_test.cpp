// How a connection comes to stand: its time limit, the steps of its handshake, and what is noted
// where it fails; and how it ends.
#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

#include "engine/replay/exchanges.hpp"
#include "tests/sim/by_hand.hpp"

namespace driftless::sim {
namespace {

struct Connects : ByHand {
    explicit Connects(const Options& options = {}) : ByHand(std::vector<SmallRow>(1), options) {}

    /// Begins a connect.
    void begin() {
        CHECK(lanes.pool.open_one(0));
        (void)loop.ready().run(64);
    }
    /// A turn without a step of a handshake.
    void turn_idly() {
        (void)driver.turn({driver.now() + milliseconds(1), 16, Wait::sleep, true});
        (void)driver.collect_stamps(16, nullptr);
        (void)loop.ready().run(64);
        loop.jobs().reap();
    }
    /// Until a handshake waits for its first step.
    void wait_for_handshake() {
        for (int i = 0; i < 100 && lanes.connecting.handshake_wanted() == never; ++i) {
            turn_idly();
        }
        CHECK(lanes.connecting.handshake_wanted() != never);
    }
    void turn_until_empty() {
        for (int i = 0; i < 10'000 && lanes.pool.in_use() > 0; ++i) {
            turn();
        }
    }

    LaneTarget& target = lanes.parts.targets[0];
    LaneCounts& counts = lanes.parts.counts;
};

Connects::Options in(const Weather& weather) {
    Connects::Options options;
    options.weather = weather;
    return options;
}

void expect_failed(Connects& connects) {
    EXPECT_EQ(connects.target.connecting, 0u);
    EXPECT_EQ(connects.target.open, 0u);
    EXPECT_EQ(connects.target.failures, 1u);
    EXPECT_EQ(connects.counts.connect_failures, 1u);
    EXPECT_EQ(connects.lanes.pool.in_use(), 0u);
    EXPECT_EQ(connects.driver.in_flight(), 0u);
    EXPECT_EQ(connects.driver.sockets_open(), 0u);
    EXPECT_EQ(connects.loop.timers().next(), never);
}

TEST(Connecting, AConnectHasItsTimeLimitAndNoMore) {
    Weather weather;
    weather.hang_connect = 1;
    Connects::Options options = in(weather);
    options.settings.timeouts.connect = seconds(3);
    Connects connects(options);
    const Instant began = connects.driver.now();
    connects.begin();
    const Instant limit = connects.loop.timers().next();
    EXPECT_GE(limit, began + seconds(3));
    EXPECT_LT(limit, began + seconds(3) + microseconds(1));
    connects.pass(seconds(4));
    EXPECT_EQ(connects.loop.timers().expire(limit - Duration{1}, 32), 0u);
    connects.turn();
    EXPECT_EQ(connects.target.connecting, 1u);
    EXPECT_EQ(connects.loop.timers().expire(limit, 32), 1u);
    connects.turn_until_empty();
    expect_failed(connects);
    EXPECT_TRUE(connects.target.failure_timed_out);
    EXPECT_EQ(connects.target.failure_errno, ECANCELED);
}

TEST(Connecting, ARefusedConnectIsNoted) {
    Weather weather;
    weather.refuse_connect = 1;
    Connects connects(in(weather));
    connects.begin();
    connects.turn_until_empty();
    expect_failed(connects);
    EXPECT_EQ(connects.target.failure_errno, ECONNREFUSED);
    EXPECT_FALSE(connects.target.failure_is_tls);
    EXPECT_FALSE(connects.target.failure_timed_out);
    const Duration quiet = connects.target.quiet_until - connects.driver.now();
    EXPECT_LE(quiet, Connecting::failure_quiet);
    EXPECT_GT(quiet, Connecting::failure_quiet - milliseconds(2));
}

TEST(Connecting, ALackOfSocketsIsNoted) {
    Weather weather;
    weather.no_socket = 1;
    Connects connects(in(weather));
    connects.begin();
    connects.turn_until_empty();
    expect_failed(connects);
    EXPECT_EQ(connects.target.failure_errno, EMFILE);
}

// What stands has no time limit, is read from, and is asked for stamps.
TEST(Connecting, WhatStandsIsArmed) {
    Connects connects;
    connects.open();
    const Lane& lane = *connects.lanes.shelf.oldest(0);
    EXPECT_EQ(connects.loop.timers().next(), never);
    EXPECT_TRUE(lane.receive.in_flight());
    EXPECT_TRUE(lane.stamps.in_flight());
    EXPECT_FALSE(lane.connect.in_flight());
    EXPECT_TRUE(lane.resent.has_value());
    EXPECT_EQ(connects.target.failures, 0u);
    EXPECT_EQ(connects.counts.slow_connects, 0);
    EXPECT_EQ(connects.counts.lanes_without_stamps, 0u);
}

// A SYN was sent again.
TEST(Connecting, ASlowConnectIsCounted) {
    Weather weather;
    weather.slow_connect = 1;
    Connects connects(in(weather));
    connects.open();
    EXPECT_EQ(connects.counts.slow_connects, 1);
    EXPECT_EQ(connects.target.open, 1u);
}

// It is cancelled; one that stood in the same moment is closed, too.
TEST(Connecting, AConnectThatNobodyWantsEnds) {
    for (const double too_late : {0.0, 1.0}) {
        Weather weather{.hang_connect = 1, .late_cancel = too_late};
        Connects connects(in(weather));
        connects.begin();
        connects.lanes.pool.close_all();
        connects.turn_until_empty();
        expect_failed(connects);
        EXPECT_FALSE(connects.target.failure_timed_out);
    }
}

TEST(Connecting, NothingOfAConnectionStaysBehind) {
    Connects connects;
    connects.open();
    EXPECT_EQ(connects.driver.in_flight(), 2u) << "its receive and its stamps";
    connects.lanes.pool.close_all();
    connects.turn_until_empty();
    EXPECT_EQ(connects.lanes.pool.in_use(), 0u);
    EXPECT_EQ(connects.driver.in_flight(), 0u);
    EXPECT_EQ(connects.driver.sockets_open(), 0u);
}

struct Secure {
    explicit Secure(const TlsWeather& weather = {}) : world(1, on(weather), 1) {}

    Connects::Options options() {
        Connects::Options options;
        options.tls = &world;
        return options;
    }
    static TlsWeather on(TlsWeather weather) {
        weather.on = true;
        return weather;
    }

    TlsWorld world;
};

// Its arithmetic waits for whoever has time for it.
TEST(Connecting, AHandshakeWaitsForItsSteps) {
    Secure secure;
    Connects connects(secure.options());
    EXPECT_EQ(connects.lanes.connecting.handshake_wanted(), never);
    EXPECT_FALSE(connects.lanes.connecting.handshake_slice());
    connects.begin();
    EXPECT_EQ(connects.lanes.connecting.handshake_wanted(), never) << "the connect is under way";
    connects.wait_for_handshake();
    const Instant wanted = connects.lanes.connecting.handshake_wanted();
    EXPECT_LE(wanted, connects.driver.now());
    for (int i = 0; i < 100; ++i) {
        connects.turn_idly();
    }
    EXPECT_EQ(connects.lanes.connecting.handshake_wanted(), wanted);
    EXPECT_EQ(connects.target.connecting, 1u);
    EXPECT_TRUE(connects.lanes.connecting.handshake_slice());
    EXPECT_EQ(connects.lanes.connecting.handshake_wanted(), never) << "the server's turn";
    EXPECT_FALSE(connects.lanes.connecting.handshake_slice());
    for (int i = 0; i < 100 && connects.target.connecting > 0; ++i) {
        connects.turn();
    }
    EXPECT_EQ(connects.target.open, 1u);
    EXPECT_EQ(secure.world.handshakes(), 1u);
    const Lane& lane = *connects.lanes.shelf.oldest(0);
    EXPECT_EQ(lane.tls->own_bytes, lane.bytes_accepted);
    EXPECT_GT(lane.tls->own_bytes, 0u);
    EXPECT_GT(lane.idle_since, wanted) << "it stands since its handshake is over";
}

TEST(Connecting, TheHandshakeThatHasWaitedLongestGoesFirst) {
    Secure secure;
    Connects connects(secure.options());
    std::vector<int> said;
    connects.driver.tell_sends(
        [&](const Op& op, Instant) { said.push_back(op.spec.socket.number); });
    connects.begin();
    connects.wait_for_handshake();
    const Instant first = connects.lanes.connecting.handshake_wanted();
    connects.begin();
    for (int i = 0; i < 100; ++i) {
        connects.turn_idly();
    }
    EXPECT_EQ(connects.lanes.connecting.handshake_wanted(), first);
    for (const std::size_t lanes : {1u, 2u}) {
        EXPECT_TRUE(connects.lanes.connecting.handshake_slice());
        (void)connects.loop.ready().run(64);
        (void)connects.driver.flush();
        ASSERT_EQ(said.size(), lanes);
        EXPECT_EQ(said.back(), static_cast<int>(lanes));
    }
}

// The limit is of both, the connect and the handshake.
TEST(Connecting, AHandshakeEndsAtTheTimeLimitOfTheConnect) {
    TlsWeather weather;
    weather.deaf = 1;
    Secure secure(weather);
    Connects connects(secure.options());
    connects.begin();
    const Instant limit = connects.loop.timers().next();
    for (int i = 0; i < 100; ++i) {
        connects.turn();
    }
    EXPECT_EQ(connects.target.connecting, 1u);
    const Instant moved = connects.loop.timers().next();
    EXPECT_GE(moved, limit);
    EXPECT_LT(moved - limit, milliseconds(5)) << "what it waited for us";
    EXPECT_EQ(connects.loop.timers().expire(moved, 32), 1u);
    connects.turn_until_empty();
    expect_failed(connects);
    EXPECT_TRUE(connects.target.failure_timed_out);
}

// What waits for a step of ours does not: it gets that step, and as much longer.
TEST(Connecting, AHandshakeThatWaitsForUsGoesOn) {
    Secure secure;
    Connects connects(secure.options());
    connects.begin();
    const Instant limit = connects.loop.timers().next();
    connects.wait_for_handshake();
    const Instant wanted = connects.lanes.connecting.handshake_wanted();
    connects.driver.stand_still(seconds(60));
    EXPECT_EQ(connects.loop.timers().expire(connects.driver.now(), 32), 1u);
    connects.turn_idly();
    EXPECT_EQ(connects.target.connecting, 1u);
    const Instant now = connects.driver.now();
    EXPECT_TRUE(connects.lanes.connecting.handshake_slice());
    const Instant longer = limit + (now - wanted);
    EXPECT_GE(connects.loop.timers().next(), longer);
    EXPECT_LT(connects.loop.timers().next(), longer + microseconds(1));
    while (connects.target.connecting > 0) {
        connects.turn();
    }
    EXPECT_EQ(connects.target.failures, 0u);
    EXPECT_EQ(connects.lanes.shelf.count(), 1u);
}

// The server's time is not that in which nobody looked; without TLS the kernel did all the work.
TEST(Connecting, AHandshakeHasAsMuchLongerAsNobodyLooked) {
    Secure secure;
    for (const bool tls : {true, false}) {
        Connects connects(tls ? secure.options() : Connects::Options{});
        connects.begin();
        const Instant limit = connects.loop.timers().next();
        connects.lanes.pool.for_each(LaneState::connecting, [&connects](Lane& lane) {
            connects.lanes.connecting.was_away(lane, seconds(5));
        });
        EXPECT_EQ(connects.loop.timers().next(), limit + seconds(tls ? 5 : 0));
        while (connects.target.connecting > 0) {
            connects.turn();
        }
        EXPECT_EQ(connects.loop.timers().next(), never);
    }
}

TEST(Connecting, AHandshakeThatFailsIsNoted) {
    for (const bool alert : {true, false}) {
        TlsWeather weather;
        (alert ? weather.alert : weather.no_tls) = 1;
        Secure secure(weather);
        Connects connects(secure.options());
        connects.begin();
        connects.turn_until_empty();
        expect_failed(connects);
        EXPECT_TRUE(connects.target.failure_is_tls);
        EXPECT_NE(connects.target.failure_errno, 0);
        EXPECT_FALSE(connects.target.failure_timed_out);
    }
}

TEST(Connecting, SaysGoodbye) {
    Secure secure;
    Connects connects(secure.options());
    connects.open();
    std::size_t said = 0;
    connects.driver.tell_sends([&](const Op&, Instant) { ++said; });
    connects.lanes.pool.close_all();
    connects.turn_until_empty();
    EXPECT_EQ(said, 1u);
    EXPECT_EQ(connects.driver.sockets_open(), 0u);
}

}  // namespace
}  // namespace driftless::sim
