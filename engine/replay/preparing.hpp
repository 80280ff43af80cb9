/// Preparing: what is made ready between two rows, in slices: prompts, records of TLS, connections,
/// handshakes. It looks at no answer and fires nothing; whoever calls it has looked at the clock.
/// Owned by the run.
#pragma once

#include <cstdint>

#include "engine/prompt/arm.hpp"
#include "engine/replay/health.hpp"
#include "engine/replay/lane_supply.hpp"
#include "engine/replay/lanes.hpp"
#include "engine/replay/pacer.hpp"
#include "engine/replay/settings.hpp"
#include "engine/schedule/schedule.hpp"

namespace driftless {

class Preparing {
  public:
    Preparing(Driver& driver, const ReplaySettings& settings, const Schedule& schedule,
              Armer& armer, Lanes& lanes, Pacer& pacer)
        : driver_(driver),
          settings_(settings),
          schedule_(schedule),
          armer_(armer),
          lanes_(lanes),
          pacer_(pacer),
          supply_(settings, lanes, pacer.ahead()) {}

    void begin(Instant zero) { zero_ = zero; }
    /// No connection is opened from here on.
    void stop() { stopped_ = true; }

    /// At most one slice: a part of a prompt, one record, one connect, or a step of a handshake.
    /// Nothing is due before `due`, and nothing may begin within `guard` of it. False where there
    /// is nothing to do.
    bool slice(Instant now, Instant due, Duration guard);

    // One kind of slice each.
    bool arm_slice(Instant now);
    /// Of a row that an answer may release: before somebody looks for one.
    bool arm_soon_slice(Instant now) { return armer_.arms_soon() && arm_slice(now); }
    bool seal_slice(Instant now);
    bool open_lane(Instant now);

  private:
    std::int64_t place_in_run_ns(Instant now) const;
    bool handshake_slice(Instant now, Instant due, Duration guard);

    Driver& driver_;
    const ReplaySettings& settings_;
    const Schedule& schedule_;
    Armer& armer_;
    Lanes& lanes_;
    Pacer& pacer_;
    LaneSupply supply_;
    Instant zero_ = never;
    bool stopped_ = false;
    RecentMax<64> handshake_steps_{0};
};

}  // namespace driftless
