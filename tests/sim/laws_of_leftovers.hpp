/// Laws of what is left over when a run has ended: nothing. Pure functions of a run's result.
#pragma once

#include <string>

#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

/// "bodies are returned"
std::string bodies_returned(const SimResult& result);
/// "frames are returned"
std::string frames_returned(const SimResult& result);
/// "no operation in flight"
std::string operations_ended(const SimResult& result);
/// "sockets are closed"
std::string sockets_closed(const SimResult& result);
/// "every event is read"
std::string events_read(const SimResult& result);

}  // namespace driftless::sim
