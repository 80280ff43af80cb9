/// Laws of dual fire. Each returns what broke it; empty: nothing.
#pragma once

#include <string>

#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

/// "each row goes once to each side": at the same due, to the server of that side.
std::string each_row_once_to_each_side(const SimResult& result);
/// "sides have the plan's order": who is first follows from the seed, and as often a as b.
std::string sides_have_the_plans_order(const SimResult& result);
/// "sides have lanes of their own"
std::string sides_have_lanes_of_their_own(const SimResult& result);
/// "no side disturbs the other": where one server refuses, resets and stalls, the other's rows
/// leave and are answered as if it did not.
std::string no_side_disturbs_the_other(const SimResult& result);

}  // namespace driftless::sim
