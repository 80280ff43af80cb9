// Once a second a run says what it has done since it last said so, and how it stands now.
#include <gtest/gtest.h>

#include <cstring>

#include "engine/replay/health.hpp"
#include "tests/sim/by_hand.hpp"

namespace driftless::sim {
namespace {

struct Sampling : ByHand {
    Sampling() : ByHand(std::vector<SmallRow>(2)) {
        health.begin(driver.now());
        sampler.begin();
    }
    /// The sample of the second that ends now.
    ClientSample report() {
        (void)drain();
        const Instant now = driver.now();
        sampler.report(now, {});
        const Event* event = ring.front();
        CHECK(event != nullptr && event->kind == EventKind::sample && event->stamp_ns == now.ns);
        ClientSample sample;
        const std::string_view payload = EventRing::payload_of(*event);
        CHECK(payload.size() == sizeof(sample));
        std::memcpy(&sample, payload.data(), sizeof(sample));
        ring.pop();
        return sample;
    }

    Health health;
    Sampler sampler{driver, nullptr, ring, bodies, lanes, health};
};

TEST(Sampler, CountsWhatHappenedSinceTheLastReport) {
    Sampling run;
    run.lanes.parts.counts.bytes_sent = 7;
    run.lanes.parts.counts.rows_ended = 2;
    run.lanes.parts.counts.slow_connects = 1;
    run.lanes.parts.counts.wire_stamps = 5;
    run.lanes.parts.counts.wire_delay_sum_ns = 50;
    run.lanes.exchanges.receive_counts().receives = 3;
    run.health.note_fire(10, 20);
    const ClientSample first = run.report();
    EXPECT_EQ(first.bytes_sent, 7);
    EXPECT_EQ(first.rows_ended, 2);
    EXPECT_EQ(first.slow_connects, 1);
    EXPECT_EQ(first.wire_stamps, 5);
    EXPECT_EQ(first.wire_delay_sum_ns, 50);
    EXPECT_EQ(first.receives, 3);
    EXPECT_EQ(first.rows_fired, 1);
    run.lanes.parts.counts.wire_stamps += 1;
    const ClientSample second = run.report();
    EXPECT_EQ(second.from_ns, first.to_ns);
    EXPECT_EQ(second.bytes_sent, 0);
    EXPECT_EQ(second.rows_ended, 0);
    EXPECT_EQ(second.slow_connects, 0);
    EXPECT_EQ(second.wire_stamps, 1);
    EXPECT_EQ(second.wire_delay_sum_ns, 0);
    EXPECT_EQ(second.receives, 0);
    EXPECT_EQ(second.rows_fired, 0);
}

// What connections cost before time 0 is not the first second's.
TEST(Sampler, CountsOperationsFromItsBeginning) {
    Sampling run;
    run.open();
    run.sampler.begin();
    EXPECT_EQ(run.report().operations, 0);
    run.open();
    EXPECT_GT(run.report().operations, 0);
    EXPECT_EQ(run.report().operations, 0);
}

TEST(Sampler, SaysHowTheRunStands) {
    Sampling run;
    run.arm();
    run.open();
    (void)run.leave();
    const ClientSample sample = run.report();
    EXPECT_EQ(sample.inflight, 1);
    EXPECT_EQ(sample.lanes_open, 1);
    EXPECT_EQ(sample.lanes_idle, 1);
    EXPECT_EQ(sample.armed_bytes, static_cast<std::int64_t>(run.bodies.used_bytes()));
    EXPECT_GT(sample.armed_bytes, 0);
}

// Nobody asked the kernel: that is not the same as none.
TEST(Sampler, LeavesOutWhatItDoesNotKnow) {
    Sampling run;
    EXPECT_EQ(run.report().user_ns, -1);
    EXPECT_EQ(run.report().instructions, -1);
}

// The writer hangs: a sample is lost, and the rows keep their places in the ring.
TEST(Sampler, GivesWayWhereTheRingIsFull) {
    Sampling run;
    run.fill_ring();
    run.sampler.report(run.driver.now(), {});
    for (const Event& event : run.drain()) {
        EXPECT_NE(event.kind, EventKind::sample);
    }
}

}  // namespace
}  // namespace driftless::sim
