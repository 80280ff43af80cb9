#include "engine/time/monotonic.hpp"

#include <time.h>

namespace driftless {

std::int64_t monotonic_ns() {
    timespec now{};
    (void)::clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace driftless
