/// Laws of what a killed run would be judged by: its file of those that were fired, and its marks.
/// Pure functions of a run's result.
#pragma once

#include <string>

#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

/// "fired.jsonl says who left"
std::string fired_says_who_left(const SimResult& result);
/// "marks say who left"
std::string marks_say_who_left(const SimResult& result);

}  // namespace driftless::sim
