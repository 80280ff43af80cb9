#include "engine/base/time.hpp"

#include <time.h>

#include <cstdlib>

namespace driftless {

std::int64_t monotonic_ns() {
    timespec now{};
    (void)::clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void ClockOffset::take(const ClockReading* readings, std::size_t count) {
    ClockSample fresh = sample_;
    fresh.error_ns = INT64_MAX;
    for (std::size_t i = 0; i < count; ++i) {
        const ClockReading& reading = readings[i];
        const std::int64_t bracket = reading.after_ns - reading.before_ns;
        if (bracket < fresh.error_ns) {
            fresh.error_ns = bracket;
            fresh.offset_ns = reading.realtime_ns - (reading.before_ns + bracket / 2);
        }
    }
    if (count == 0) {
        return;
    }
    const std::int64_t moved = std::llabs(fresh.offset_ns - sample_.offset_ns);
    const bool stepped = known_ && moved > fresh.error_ns / 2 + sample_.error_ns / 2 + tight_ns;
    if (known_ && !stepped && fresh.error_ns > tight_ns && fresh.error_ns > sample_.error_ns) {
        return;
    }
    fresh.steps += stepped ? 1 : 0;
    sample_ = fresh;
    known_ = true;
}

}  // namespace driftless
