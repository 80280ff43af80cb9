/// Laws of closed sessions: when a turn may leave, and what becomes of those that never may. They
/// hold of themselves where no row waits for another. Pure functions of a run's result.
#pragma once

#include <string>

#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

/// "turns wait for their parents"
std::string turns_wait(const SimResult& result);
/// "no release is lost"
std::string no_release_is_lost(const SimResult& result);
/// "failures end their trees"
std::string failures_end_trees(const SimResult& result);

}  // namespace driftless::sim
