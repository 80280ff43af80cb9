/// Rates, once all flags are read: what they mean together, and what contradicts itself.
#pragma once

#include <string>
#include <string_view>

#include "cmd/replay/flags/options.hpp"
#include "engine/plan/rate_curve.hpp"

namespace driftless {

/// Lines of a `--shape` file at most.
inline constexpr std::size_t shape_lines_max = 100'000;

/// Reads lines of `seconds,rate` into a curve that is linear between them. Returns the refusal
/// with file and line; empty: there is none.
std::string read_shape(const std::string& path, RateCurve& curve);
/// The same of the text of a file; `where` stands before what is said.
std::string parse_shape(const std::string& where, std::string_view text, RateCurve& curve);

/// Sets `workload.arrivals` where rows arrive at a rate. Returns the refusal; empty: there is none.
std::string complete_rates(WorkloadFlags& workload);

}  // namespace driftless
