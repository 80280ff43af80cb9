#include "cmd/replay/run_json/anchors.hpp"

#include <time.h>

namespace driftless {

namespace {

std::int64_t read_clock(clockid_t clock) {
    timespec time{};
    (void)::clock_gettime(clock, &time);
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

ClockAnchors anchor(Instant zero) {
    ClockAnchors best;
    best.error_ns = INT64_MAX;
    for (int tries = 0; tries < 16; ++tries) {
        const std::int64_t before = read_clock(CLOCK_MONOTONIC);
        const std::int64_t utc = read_clock(CLOCK_REALTIME);
        const std::int64_t after = read_clock(CLOCK_MONOTONIC);
        if (after - before < best.error_ns) {
            best.error_ns = after - before;
            best.zero_utc_ns = utc + (zero.ns - (before + (after - before) / 2));
        }
    }
    best.zero_monotonic_ns = zero.ns;
    return best;
}

}  // namespace driftless
