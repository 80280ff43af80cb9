/// Laws of rows that arrive at a rate. Each returns what broke it; empty: nothing.
#pragma once

#include <string>

#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

/// "rows arrive as asked"
std::string rows_arrive_as_asked(const SimResult& result);

}  // namespace driftless::sim
