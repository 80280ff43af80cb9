/// Dual fire: a plan in which each row stands twice, for two servers, a and b, at one instant.
///
/// The two requests of a row follow each other in the plan, and so leave one after the other, about
/// 10 us apart over loopback. Which side goes first is drawn: of the rows 2k and 2k+1 of the file
/// one begins with a and the other with b, and the seed says which. A row keeps its order whatever
/// is selected, and the orders of neighbours cancel what a first place is worth.
///
/// Pure functions. All that comes behind the plan sees requests, each with its side.
#pragma once

#include <cstdint>

#include "engine/plan/plan.hpp"
#include "proto/core/result.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// Whom the row with this `index` goes to first.
Side first_side(std::uint64_t seed, std::uint32_t index);

/// Of two plans of the same rows and dues, in the same order, that differ in what the two servers'
/// caches should hold. Sums are over both sides, and the digest covers the order of each pair.
/// Errors: out_of_range, where a trace of so many rows has no place for each twice.
Result<Plan> dual_plan(const Trace& trace, const Plan& a, const Plan& b, std::uint64_t seed);

/// What one server gets, as a plan of its own: without sides. `side`: a or b.
Plan plan_of_side(const Trace& trace, const Plan& dual, Side side);

}  // namespace driftless
