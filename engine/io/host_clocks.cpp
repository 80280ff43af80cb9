#include "engine/io/host_clocks.hpp"

#include <algorithm>
#include <cstddef>

namespace driftless {

ClockSample HostClocks::sample() {
    constexpr std::size_t readings_count = 5;
    ClockReading readings[readings_count];
    for (ClockReading& reading : readings) {
        reading.before_ns = read_ns(CLOCK_MONOTONIC);
        reading.realtime_ns = read_ns(CLOCK_REALTIME);
        reading.after_ns = read_ns(CLOCK_MONOTONIC);
    }
    offset_.take(readings, readings_count);
    return offset_.sample();
}

// The second clock is read later: whoever takes the CPU in between makes the difference smaller.
std::int64_t HostClocks::suspended_ns() {
    const std::int64_t boot_ns = read_ns(CLOCK_BOOTTIME);
    suspended_ns_ = std::max(suspended_ns_, boot_ns - read_ns(CLOCK_MONOTONIC));
    return suspended_ns_;
}

}  // namespace driftless
