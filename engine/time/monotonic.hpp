/// The clock of code that runs outside a loop: on threads beside it, and before time 0. A loop goes
/// by its driver's clock (io/driver.hpp), which the simulator can replace.
#pragma once

#include <cstdint>

namespace driftless {

/// CLOCK_MONOTONIC, ns.
std::int64_t monotonic_ns();

}  // namespace driftless
