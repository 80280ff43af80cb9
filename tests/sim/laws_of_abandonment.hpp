/// The laws (laws.hpp) of requests that are abandoned as planned: which they are, and when. Pure
/// functions of a run's result.
#pragma once

#include <string>

#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

/// When the client gives the request up, in run time; nothing where it waits or nothing left.
std::optional<std::int64_t> given_up_at_ns(const SimResult& result, const Record& record);

/// "requests are abandoned as drawn"
std::string abandoned_as_drawn(const SimResult& result);

}  // namespace driftless::sim
