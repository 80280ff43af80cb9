/// How long the steps of the loop may take, where more than one of its parts goes by it.
#pragma once

#include <cstdint>

#include "engine/time/instant.hpp"

namespace driftless {

// Bounds of the two adaptive distances (timing-and-io.md, F): nothing starts within `guard` of a
// due instant; sleeping ends `margin` before it.
inline constexpr Duration guard_min = microseconds(20);
inline constexpr Duration guard_max = microseconds(150);
inline constexpr Duration margin_min = microseconds(50);
inline constexpr Duration margin_max = microseconds(300);
// While answers stream. Of bytes that shared a read nobody can tell how long the first of them
// waited, but not from before the sleep: so wrong may their stamps be at most. 2,000 wakes a second
// cost 1 %.
inline constexpr Duration stream_sleep_max = microseconds(500);
inline constexpr Duration arm_slice_max = microseconds(20);
inline constexpr std::uint32_t completions_max = 16;
// The two clocks part by steps only; a step is seen this soon.
inline constexpr Duration clock_period = milliseconds(100);

}  // namespace driftless
