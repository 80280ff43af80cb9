/// Sampler: what a run reports once a second: its own figures, its parts' and the kernel's, as one
/// entry of the event ring. Owned by the run.
#pragma once

#include "engine/host/thread_meter.hpp"
#include "engine/io/driver.hpp"
#include "engine/prompt/body_pool.hpp"
#include "engine/record/ring.hpp"
#include "engine/replay/health.hpp"
#include "engine/replay/lanes.hpp"
#include "proto/record/client_sample.hpp"

namespace driftless {

class Sampler {
  public:
    /// `meter` null: what the kernel counts of the thread is not asked.
    Sampler(Driver& driver, const ThreadMeter* meter, EventRing& ring, const BodyPool& bodies,
            Lanes& lanes, Health& health)
        : driver_(driver),
          meter_(meter),
          ring_(ring),
          bodies_(bodies),
          lanes_(lanes),
          health_(health) {}

    /// Everything counts from here on.
    void begin();
    /// The second that ends now; a new one begins.
    void report(Instant now, const ClockSample& clock);

  private:
    void report_stamps(ClientSample& sample, const ClockSample& clock);
    void report_use(ClientSample& sample);

    Driver& driver_;
    const ThreadMeter* meter_;
    EventRing& ring_;
    const BodyPool& bodies_;
    Lanes& lanes_;
    Health& health_;
    // As of the last report.
    DriverCounters driver_before_;
    LaneCounts lanes_before_;
    ThreadUse use_before_;
};

}  // namespace driftless
