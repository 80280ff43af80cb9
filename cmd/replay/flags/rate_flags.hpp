/// Rates, once all flags are read: what they mean together, and what contradicts itself.
#pragma once

#include <string>

#include "cmd/replay/flags/options.hpp"
#include "engine/plan/rate_curve.hpp"

namespace driftless {

/// Lines of a `--shape` file at most.
inline constexpr std::size_t shape_lines_max = 100'000;

/// Reads lines of `seconds,rate` into a curve that is linear between them. Returns the refusal
/// with file and line; empty: there is none.
std::string read_shape(const std::string& path, RateCurve& curve);

/// Sets `workload.arrivals` where rows arrive at a rate. Returns the refusal; empty: there is none.
std::string complete_rates(WorkloadFlags& workload);

}  // namespace driftless
