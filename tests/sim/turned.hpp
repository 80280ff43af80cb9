/// Turned: a Run over a few rows in a simulated world, turned by a test, one turn after the other.
/// Each test owns its own. No time passes but what turns take.
#pragma once

#include <atomic>

#include "engine/replay/run.hpp"
#include "tests/sim/sim_driver.hpp"
#include "tests/sim/small_world.hpp"

namespace driftless::sim {

struct Turned : RowsToArm {
    using Options = SmallWorld;

    explicit Turned(const std::vector<SmallRow>& rows) : Turned(rows, Options{}) {}
    Turned(const std::vector<SmallRow>& rows, const Options& options)
        : RowsToArm(rows, options.rows),
          driver(1, options.weather, options.server, {}, {}, options.tls),
          run(driver, {trace, schedule, armer, bodies, ring, options.endpoints(), stop_requests},
              options.settings) {}
    ~Turned() {
        if (!over) {
            run.abandon();
        }
    }

    bool turn() {
        over = !run.turn();
        return !over;
    }
    void warm() {
        for (int i = 0; i < 100'000 && !run.warm(); ++i) {
            turn();
        }
        ASSERT_TRUE(run.warm());
    }
    void begin(Duration ahead) {
        zero = driver.now() + ahead;
        run.begin(zero);
    }
    void turn_until_fired(std::uint64_t rows) {
        for (int i = 0; i < 1'000'000 && run.rows_fired() < rows; ++i) {
            turn();
        }
        ASSERT_EQ(run.rows_fired(), rows);
    }
    void turn_until_over() {
        for (int i = 0; i < 1'000'000 && !over; ++i) {
            turn();
        }
        ASSERT_TRUE(over);
    }
    /// Lets time pass until something has come, and waits unread for no more than 10 us.
    void wait_for_arrival() {
        const auto waits = [this] {
            const Instant now = driver.now();
            return driver.unread_since(now) < now;
        };
        for (int i = 0; i < 100'000 && !waits(); ++i) {
            (void)driver.turn({driver.now() + microseconds(10), 0, Wait::sleep, true});
        }
        ASSERT_TRUE(waits());
    }
    std::uint64_t read() const { return driver.counters().completions; }

    /// The ends of rows, of those events that nobody has taken yet.
    std::vector<Event> ends() {
        std::vector<Event> events;
        for (const Event* event = ring.front(); event != nullptr; event = ring.front()) {
            if (event->kind == EventKind::end) {
                events.push_back(*event);
            }
            ring.pop();
        }
        return events;
    }
    void expect_nothing_left() {
        EXPECT_EQ(std::tuple(driver.in_flight(), driver.sockets_open()), std::tuple(0u, 0u));
        EXPECT_EQ(bodies.used_bytes(), 0u);
    }

    std::atomic<int> stop_requests = 0;
    EventRing ring{1 << 16, 4};
    SimDriver driver;
    Run run;
    Instant zero = never;
    bool over = false;
};

}  // namespace driftless::sim
