/// Pacing: a Pacer over a few rows in a simulated world, stepped by a test. Each test owns its own.
#pragma once

#include "engine/replay/pacer.hpp"
#include "tests/sim/by_hand.hpp"

namespace driftless::sim {

struct Pacing : ByHand {
    explicit Pacing(const std::vector<SmallRow>& rows, const Options& options = {})
        : ByHand(rows, options) {
        health.begin(driver.now());
    }
    ~Pacing() {
        pacer.stop();
        pacer.forget_waiting();
    }

    /// Time 0 is so far ahead, or was so long ago.
    void begin(Duration ahead) {
        zero = driver.now() + ahead;
        pacer.begin(zero);
    }
    bool step() { return pacer.step(driver.now()); }
    /// The events of rows that have left.
    std::vector<Event> fired() {
        std::vector<Event> events;
        for (const Event& event : drain()) {
            if (event.kind == EventKind::fired) {
                events.push_back(event);
            }
        }
        return events;
    }
    /// Steps; the row that leaves so, which has to be the only one since the last look.
    Event fires_one() {
        EXPECT_TRUE(step());
        const std::vector<Event> events = fired();
        EXPECT_EQ(events.size(), 1u);
        return events.empty() ? Event{} : events[0];
    }
    /// Until every row that is in flight has its answer.
    void answer_all() {
        while (lanes.in_flight.count() > 0) {
            turn();
        }
    }

    Instant zero = never;
    Health health;
    Pacer pacer{loop, trace, schedule, armer, lanes, ring, nullptr, health, settings};
};

}  // namespace driftless::sim
