/// ByHand: rows, an armer, lanes and a simulated world, turned by a test instead of by a Run. Each
/// test owns its own. No time passes but what the test lets pass.
#pragma once

#include "engine/replay/waiting_rows.hpp"
#include "tests/sim/sim_driver.hpp"
#include "tests/sim/small_world.hpp"

namespace driftless::sim {

struct ByHand : RowsToArm {
    using Options = SmallWorld;

    explicit ByHand(const std::vector<SmallRow>& rows) : ByHand(rows, Options{}) {}
    ByHand(const std::vector<SmallRow>& rows, const Options& options)
        : RowsToArm(rows, options.rows),
          driver(1, options.weather, options.server, {}, {}, options.tls),
          settings(options.settings),
          loop(driver, settings.lanes_max + 1),
          lanes(loop, options.endpoints(), settings, bodies, ring,
                settings.connection == ConnectionRule::sticky ? trace.sessions.size() : 0) {
        lanes.parts.turns_wait = true;
    }
    ~ByHand() {
        lanes.pool.unbind_all();
        lanes.pool.for_each(LaneState::busy, [](Lane& lane) { lane.end(Outcome::cancelled); });
        lanes.pool.close_all();
        while (lanes.pool.in_use() > 0) {
            turn();
            lanes.pool.close_all();
        }
        loop.jobs().reap();
    }

    /// Up to a ms: what has come is handled, what it has woken runs.
    void turn() {
        (void)driver.turn({driver.now() + milliseconds(1), 16, Wait::sleep, true});
        (void)driver.collect_stamps(16, nullptr);
        (void)lanes.connecting.handshake_slice();
        (void)loop.ready().run(64);
        loop.jobs().reap();
    }
    /// Time passes, and nothing that comes meanwhile is looked at.
    void pass(Duration length) {
        for (const Instant until = driver.now() + length; driver.now() < until;) {
            (void)driver.turn({until, 0, Wait::sleep, true});
        }
    }
    /// Opens a connection and waits until it stands, or has failed.
    void open(std::uint32_t target = 0) {
        CHECK(lanes.pool.open_one(target));
        while (lanes.parts.targets[target].connecting > 0) {
            turn();
        }
    }

    /// The schedule's next row, whose turn has come, in flight as if it had left now; its bytes are
    /// the kernel's.
    RowUnderway& leave() {
        RowUnderway& row = take();
        armer.give_back(row);
        row.enter(RowStage::in_flight);
        lanes.in_flight.add(row);
        return row;
    }
    /// ... and has got its answer; its place came free then.
    void answer(RowUnderway& row, Instant freed) {
        Event event;
        event.kind = EventKind::end;
        event.request = row.due.request;
        event.stamp_ns = freed.ns;
        event.end.outcome = Outcome::ok;
        event.end.status = 200;
        lanes.in_flight.end(row, event, freed);
    }

    /// The writer hangs: no further row may leave.
    void fill_ring() {
        Event event;
        event.kind = EventKind::armed;
        while (ring.push(event) == EventRing::Push::whole) {
        }
        CHECK(!ring.has_room_for_row());
    }
    /// The writer takes all there is.
    std::vector<Event> drain() {
        std::vector<Event> events;
        for (const Event* event = ring.front(); event != nullptr; event = ring.front()) {
            events.push_back(*event);
            ring.pop();
        }
        return events;
    }
    /// ... of which the ends of rows say this.
    std::vector<Outcome> ends() {
        std::vector<Outcome> outcomes;
        for (const Event& event : drain()) {
            if (event.kind == EventKind::end) {
                outcomes.push_back(event.end.outcome);
            }
        }
        return outcomes;
    }

    SimDriver driver;
    const ReplaySettings settings;
    Loop loop;
    EventRing ring{1 << 16, 4};
    Lanes lanes;
};

}  // namespace driftless::sim
