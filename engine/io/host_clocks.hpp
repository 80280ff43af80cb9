/// HostClocks: the clocks of this host, and how far apart they are. CLOCK_MONOTONIC is the one in
/// which all else is told; CLOCK_REALTIME is the kernel's for stamps of packets, CLOCK_BOOTTIME
/// goes on while the host sleeps. Owned by the UringDriver, of its thread; never waits.
#pragma once

#include <time.h>

#include <cstdint>

#include "engine/time/clock_offset.hpp"
#include "engine/time/instant.hpp"

namespace driftless {

class HostClocks {
  public:
    /// CLOCK_MONOTONIC: never goes back.
    static Instant now() { return {read_ns(CLOCK_MONOTONIC)}; }

    /// Looks how far CLOCK_REALTIME is ahead (about 1 us).
    ClockSample sample();
    /// A stamp of CLOCK_REALTIME, ns, converted by the latest look; 0, which is none, stays 0.
    std::int64_t to_monotonic_ns(std::int64_t realtime_ns) const {
        return realtime_ns == 0 ? 0 : offset_.to_monotonic_ns(realtime_ns);
    }

    /// How long the host has slept since it booted, ns: never goes back. 50 ns.
    std::int64_t suspended_ns();

  private:
    static std::int64_t read_ns(clockid_t clock) {
        timespec time{};
        ::clock_gettime(clock, &time);
        return time.tv_sec * 1'000'000'000 + time.tv_nsec;
    }

    ClockOffset offset_;
    std::int64_t suspended_ns_ = 0;
};

}  // namespace driftless
