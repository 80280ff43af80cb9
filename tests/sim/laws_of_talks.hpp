/// Laws of live conversations: what prompts hold of the answers of the run. They hold of themselves
/// where there are none. Pure functions of a run's result.
#pragma once

#include <string>

#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

/// "prompts hold what was said"
std::string prompts_hold_what_was_said(const SimResult& result);
/// "prompts are filled up"
std::string prompts_are_filled_up(const SimResult& result);

}  // namespace driftless::sim
