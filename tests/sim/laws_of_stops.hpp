/// The laws (laws.hpp) of runs that end early (`--stop-when`). Pure functions of a run's result.
#pragma once

#include <string>

#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

/// "nothing leaves when the run has to stop"
std::string nothing_leaves_behind_a_stop(const SimResult& result);
/// "runs stop for what they have measured"
std::string stops_have_their_cause(const SimResult& result);

}  // namespace driftless::sim
