/// Laws of the rules by which users play: the warm-up, where it leads to, caps on idle time, and
/// turns that are sent again. They hold of themselves where there are no users. Pure functions of a
/// run's result.
#pragma once

#include <string>

#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

/// "the warm-up comes first"
std::string warm_up_comes_first(const SimResult& result);
/// "trees go on where they were primed"
std::string trees_go_on_where_primed(const SimResult& result);
/// "idle time is capped"
std::string idle_time_is_capped(const SimResult& result);
/// "failed turns are sent again"
std::string failed_turns_are_sent_again(const SimResult& result);

}  // namespace driftless::sim
