/// The laws (laws.hpp) that speak of what held a row back, or failed it, through no fault of its
/// server: our own limits, and segments that were lost. Pure functions.
#pragma once

#include <string>

#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

std::string losses_are_reported(const SimResult& result);
std::string our_limits_taint(const SimResult& result);
std::string lost_answers_count_nothing(const SimResult& result);

}  // namespace driftless::sim
