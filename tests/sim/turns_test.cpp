// Turns that wait for an answer leave as soon as it has been read, before anything else is done.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "tests/sim/turned.hpp"

namespace driftless::sim {
namespace {

using Rows = std::vector<SmallRow>;

constexpr std::uint32_t turns = 6;

// Each row waits for the one before it.
Turned::Options chain(const Turned::Options& base = {}) {
    Turned::Options options = base;
    options.weather.merge = 0;
    for (std::uint32_t row = 1; row < turns; ++row) {
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
    std::uint64_t connects = 0;
};

Told told_by(Turned& turned) {
    Told told;
    told.connects = turned.run.lane_counts().connects;
    told.fired_ns.resize(turns);
    told.ended_ns.resize(turns);
    told.lanes.resize(turns);
    std::vector<bool> ended(turns);
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

Told play(const Turned::Options& options) {
    Turned turned(Rows(turns), options);
    turned.warm();
    turned.begin(milliseconds(1));
    turned.turn_until_over();
    turned.expect_nothing_left();
    return told_by(turned);
}

// Its own connection comes free a moment later; the turn need not wait for that.
TEST(Turns, LeaveBeforeTheLaneOfTheAnswerIsDoneWith) {
    const Told told = play(chain());
    EXPECT_EQ(told.before_the_end, turns - 1);
    EXPECT_EQ(told.connects, 2u);
    for (std::uint32_t turn = 1; turn < turns; ++turn) {
        EXPECT_NE(told.lanes[turn], told.lanes[turn - 1]);
        EXPECT_GE(told.fired_ns[turn], told.ended_ns[turn - 1]);
        EXPECT_LT(told.fired_ns[turn] - told.ended_ns[turn - 1], microseconds(10).ns);
    }
}

// Where no other stands they leave on it, and nothing is opened for them.
TEST(Turns, LeaveOnTheLaneOfTheAnswer) {
    Turned::Options options = chain();
    options.settings.connections_fixed = 1;
    const Told told = play(options);
    EXPECT_EQ(told.before_the_end, 0u);
    EXPECT_EQ(told.connects, 1u);
    for (std::uint32_t turn = 1; turn < turns; ++turn) {
        EXPECT_LT(told.fired_ns[turn] - told.ended_ns[turn - 1], microseconds(10).ns);
    }
}

// The place in flight is the answer's until its lane is done with.
TEST(Turns, KeepTheNumberInFlight) {
    Turned::Options options = chain();
    options.settings.connections_fixed = 2;
    options.settings.inflight_max = 1;
    EXPECT_EQ(play(options).before_the_end, 0u);
}

// A session's connection is the one that the answer came on.
TEST(Turns, StayOnTheConnectionOfTheirSession) {
    Turned::Options options = chain();
    options.settings.connections_fixed = 2;
    options.settings.connection = ConnectionRule::sticky;
    Turned turned(Rows(turns, {Duration{0}, 1}), options);
    turned.warm();
    turned.begin(milliseconds(1));
    turned.turn_until_over();
    const Told told = told_by(turned);
    EXPECT_EQ(told.before_the_end, 0u);
    EXPECT_EQ(told.lanes, std::vector<std::uint32_t>(turns, told.lanes[0]));
}

// Over TLS a turn is made into records when it is due, on a connection that stands.
TEST(Turns, OpenNoConnectionsOverTls) {
    TlsWorld world(1, fair_tls(), 1);
    EXPECT_EQ(play(chain(over_tls(world))).connects, 2u);
}

// One answer that releases several wants as many connections, before it has come.
TEST(Turns, FindConnectionsWhereAnAnswerReleasesMany) {
    Turned::Options options;
    for (std::uint32_t row = 1; row < turns; ++row) {
        options.dependencies.push_back({row, 0, Trigger::completion, 0});
    }
    const Told told = play(options);
    EXPECT_EQ(told.connects, turns);
    for (std::uint32_t turn = 1; turn < turns; ++turn) {
        EXPECT_LT(told.fired_ns[turn] - told.ended_ns[0], microseconds(20).ns);
    }
}

}  // namespace
}  // namespace driftless::sim
