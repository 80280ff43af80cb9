/// A kernel stamp held against what must be true of it. Pure functions.
///
/// The kernel stamps by CLOCK_REALTIME; on our clock a stamp is as right as the sampled offset
/// between the two. Somebody may set the clock between two samples: then a stamp lies outside what
/// is possible, and unknown is better than wrong.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/time/instant.hpp"

namespace driftless {

/// A stamp may be off by the error of two clock samples; 60 ns each where nobody takes the CPU.
inline constexpr Duration stamp_tolerance = microseconds(2);

/// The stamp, moved inside the bounds where it is out by no more than the tolerance; 0 where it is
/// out by more, or is none.
inline std::int64_t believable_stamp_ns(std::int64_t kernel_ns, Instant not_before,
                                        Instant not_after) {
    if (kernel_ns == 0 || kernel_ns < (not_before - stamp_tolerance).ns ||
        kernel_ns > (not_after + stamp_tolerance).ns) {
        return 0;
    }
    return std::clamp(kernel_ns, not_before.ns, std::max(not_before, not_after).ns);
}

/// Whether a packet that ends in byte `key` of a connection ends inside the request of `bytes`
/// bytes that began with byte `first`; all numbers modulo 2^32.
inline bool ends_in_request(std::uint32_t key, std::uint32_t first, std::size_t bytes) {
    return static_cast<std::uint32_t>(key - first) < bytes;
}

}  // namespace driftless
