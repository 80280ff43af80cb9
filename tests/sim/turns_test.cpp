// Turns that wait for an answer leave as soon as it has been read, before anything else is done.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "tests/sim/turned.hpp"

namespace driftless::sim {
namespace {

using Rows = std::vector<SmallRow>;

// Each row waits for the one before it.
Turned::Options chain(std::uint32_t rows) {
    Turned::Options options;
    options.weather.merge = 0;
    for (std::uint32_t row = 1; row < rows; ++row) {
        options.dependencies.push_back({row, row - 1, Trigger::completion, 0});
    }
    return options;
}

// When each request left and ended, and what was on the ring in which order.
struct Told {
    std::vector<std::int64_t> fired_ns;
    std::vector<std::int64_t> ended_ns;
    std::vector<std::uint32_t> lanes;
    std::uint32_t before_the_end = 0;  ///< requests that left before the one before them was told
};

Told told_by(Turned& turned, std::uint32_t rows) {
    Told told;
    told.fired_ns.resize(rows);
    told.ended_ns.resize(rows);
    told.lanes.resize(rows);
    std::vector<bool> ended(rows);
    for (const Event* event = turned.ring.front(); event != nullptr; event = turned.ring.front()) {
        const std::uint32_t request = event->request;
        if (event->kind == EventKind::fired) {
            told.fired_ns[request] = event->stamp_ns;
            told.lanes[request] = event->lane;
            told.before_the_end += request > 0 && !ended[request - 1] ? 1 : 0;
        } else if (event->kind == EventKind::end) {
            told.ended_ns[request] = event->stamp_ns;
            ended[request] = true;
            EXPECT_EQ(event->end.outcome, Outcome::ok);
        }
        turned.ring.pop();
    }
    return told;
}

Told play(const Turned::Options& options, std::uint32_t rows, std::uint64_t& connects) {
    Turned turned(Rows(rows), options);
    turned.warm();
    turned.begin(milliseconds(1));
    turned.turn_until_over();
    connects = turned.run.lane_counts().connects;
    turned.expect_nothing_left();
    return told_by(turned, rows);
}

constexpr std::uint32_t turns = 6;

// Its own connection comes free a moment later; the turn need not wait for that.
TEST(Turns, LeaveBeforeTheLaneOfTheAnswerIsDoneWith) {
    std::uint64_t connects = 0;
    const Told told = play(chain(turns), turns, connects);
    EXPECT_EQ(told.before_the_end, turns - 1);
    EXPECT_EQ(connects, 2u);
    for (std::uint32_t turn = 1; turn < turns; ++turn) {
        EXPECT_NE(told.lanes[turn], told.lanes[turn - 1]);
        EXPECT_GE(told.fired_ns[turn], told.ended_ns[turn - 1]);
        EXPECT_LT(told.fired_ns[turn] - told.ended_ns[turn - 1], microseconds(10).ns);
    }
}

// Where no other stands they leave on it, and nothing is opened for them.
TEST(Turns, LeaveOnTheLaneOfTheAnswer) {
    Turned::Options options = chain(turns);
    options.settings.connections_fixed = 1;
    std::uint64_t connects = 0;
    const Told told = play(options, turns, connects);
    EXPECT_EQ(told.before_the_end, 0u);
    EXPECT_EQ(connects, 1u);
    for (std::uint32_t turn = 1; turn < turns; ++turn) {
        EXPECT_LT(told.fired_ns[turn] - told.ended_ns[turn - 1], microseconds(10).ns);
    }
}

// The place in flight is the answer's until its lane is done with.
TEST(Turns, KeepTheNumberInFlight) {
    Turned::Options options = chain(turns);
    options.settings.connections_fixed = 2;
    options.settings.inflight_max = 1;
    std::uint64_t connects = 0;
    EXPECT_EQ(play(options, turns, connects).before_the_end, 0u);
}

// A session's connection is the one that the answer came on.
TEST(Turns, StayOnTheConnectionOfTheirSession) {
    Turned::Options options = chain(turns);
    options.settings.connections_fixed = 2;
    options.settings.connection = ConnectionRule::sticky;
    Turned turned(Rows(turns, {Duration{0}, 1}), options);
    turned.warm();
    turned.begin(milliseconds(1));
    turned.turn_until_over();
    const Told told = told_by(turned, turns);
    EXPECT_EQ(told.before_the_end, 0u);
    EXPECT_EQ(told.lanes, std::vector<std::uint32_t>(turns, told.lanes[0]));
}

// Over TLS a turn is made into records when it is due, on a connection that stands.
TEST(Turns, OpenNoConnectionsOverTls) {
    TlsWeather weather;
    weather.on = true;
    TlsWorld world(1, weather, 1);
    Turned::Options options = chain(turns);
    options.armer.for_tls = true;
    options.tls = &world;
    std::uint64_t connects = 0;
    (void)play(options, turns, connects);
    EXPECT_EQ(connects, 2u);
}

// One answer that releases several wants as many connections, before it has come.
TEST(Turns, FindConnectionsWhereAnAnswerReleasesMany) {
    Turned::Options options;
    for (std::uint32_t row = 1; row < turns; ++row) {
        options.dependencies.push_back({row, 0, Trigger::completion, 0});
    }
    std::uint64_t connects = 0;
    const Told told = play(options, turns, connects);
    EXPECT_EQ(connects, turns);
    for (std::uint32_t turn = 1; turn < turns; ++turn) {
        EXPECT_LT(told.fired_ns[turn] - told.ended_ns[0], microseconds(20).ns);
    }
}

}  // namespace
}  // namespace driftless::sim
