// When a request left by the kernel's word: which stamps are a row's own, which are believed, and
// what is counted where there is none.
#include <gtest/gtest.h>

#include <string_view>

#include "engine/replay/exchanges.hpp"
#include "engine/replay/lane.hpp"
#include "tests/sim/by_hand.hpp"

namespace driftless::sim {
namespace {

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
        Completion done;
        done.more = true;
        done.key = lane.exchange.first_key + byte;
        done.kernel_ns = kernel.ns;
        done.stamp = driver.now();
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
    Stamped::Options options;
    options.weather = weather;
    return options;
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
}

TEST(WireStamps, ARowThatEndsAsksForItsOwn) {
    Stamped stamped;
    stamped.answer(stamped.fire());
    EXPECT_EQ(stamped.counts.wire_stamps, 1u);
    EXPECT_EQ(stamped.counts.wire_missing, 0u);
    EXPECT_EQ(stamped.wires().size(), 1u);
}

TEST(WireStamps, ALostStampIsMissing) {
    Weather weather;
    weather.lose_stamp = 1;
    Stamped stamped(in(weather));
    stamped.answer(stamped.fire());
    EXPECT_EQ(stamped.counts.wire_stamps, 0u);
    EXPECT_EQ(stamped.counts.wire_missing, 1u);
}

TEST(WireStamps, NoneIsMissingWhereTheKernelHasNone) {
    Weather weather;
    weather.stamps = false;
    Stamped stamped(in(weather));
    EXPECT_EQ(stamped.counts.lanes_without_stamps, 1u);
    EXPECT_FALSE(stamped.lanes.shelf.oldest(0)->stamps.in_flight());
    stamped.answer(stamped.fire());
    EXPECT_EQ(stamped.counts.wire_missing, 0u);
    EXPECT_TRUE(stamped.wires().empty());
}

// The second request of a connection begins behind the bytes of the first.
TEST(WireStamps, AStampIsOfTheRequestThatItsByteIsIn) {
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
}

// The packet with its head is the first; what comes behind says nothing of it.
TEST(WireStamps, TheFirstStampStands) {
    Stamped stamped;
    Lane& lane = stamped.fire();
    const Instant fired = lane.exchange.fired;
    stamped.stamp(lane, 0, fired + Duration{7});
    stamped.stamp(lane, 1, fired + Duration{9});
    const std::vector<Event> events = stamped.wires();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].wire_ns, (fired + Duration{7}).ns);
    EXPECT_EQ(stamped.counts.wire_stamps, 1u);
    EXPECT_EQ(stamped.counts.stamps_stray, 0u);
    EXPECT_EQ(stamped.counts.stamps_refused, 0u);
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
}

// A head has left before it is answered.
TEST(WireStamps, RefusesWhatLeftBehindTheAnswer) {
    for (const Duration later : {Duration{0}, Duration{1}}) {
        Stamped stamped;
        Lane& lane = stamped.fire();
        stamped.pass(milliseconds(1));
        lane.exchange.any_byte = true;
        lane.exchange.first_byte = lane.exchange.fired + microseconds(10);
        stamped.stamp(lane, 0, lane.exchange.first_byte + stamp_tolerance + later);
        EXPECT_EQ(lane.exchange.wire_known, later.ns == 0);
        EXPECT_EQ(stamped.counts.stamps_refused, later.ns == 0 ? 0u : 1u);
    }
}

// Its row was fired before, on another connection: how long that took is not the host's.
TEST(WireStamps, ARetryIsNotInTheDelays) {
    Stamped stamped;
    Lane& lane = stamped.fire();
    lane.exchange.is_retry = true;
    stamped.stamp(lane, 0, lane.exchange.fired + Duration{5});
    EXPECT_EQ(stamped.counts.wire_stamps, 0u);
    EXPECT_EQ(stamped.counts.wire_delay_max_ns, 0);
    EXPECT_EQ(stamped.wires().size(), 1u);
}

}  // namespace
}  // namespace driftless::sim
