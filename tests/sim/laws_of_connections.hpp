/// The laws (laws.hpp) that speak of connections: what is sent on which, and when. Pure functions.
#pragma once

#include <string>

#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

std::string sent_bytes_were_taken(const SimResult& result);
std::string servers_can_read(const SimResult& result);
std::string limits_kept(const SimResult& result);
std::string connections_as_asked(const SimResult& result);
std::string sessions_stay(const SimResult& result);

}  // namespace driftless::sim
