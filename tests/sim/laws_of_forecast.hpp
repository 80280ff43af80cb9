/// Laws of what records expect of a prefix cache where the run decides the order of its requests:
/// found the slow way, by comparing prompts with each other. They hold of themselves where all
/// instants are recorded. Pure functions of a run's result.
#pragma once

#include <string>

#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

/// "hits are expected in the order of the run"
std::string hits_go_by_the_run(const SimResult& result);

}  // namespace driftless::sim
