/// The part of a plan that one of several processes sends (`--shard`). Every process reads the
/// whole trace and makes the whole plan: digests, sums and forecasts of cached tokens are those of
/// the whole; then it keeps its own rows.
#pragma once

#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/workload/workload.hpp"

namespace driftless {

/// What stays together when the plan is dealt to processes or engines: turns that wait for each
/// other, and sessions that one connection or one user has.
DealRule deal_rule(const ReplayOptions& options, const Workload& workload);

/// Before any server is asked: what this process will need, and its users. Prints which part it
/// has; refuses a part without rows. Returns an exit code. Does nothing if there is one process.
int choose_share(const ReplayOptions& options, Workload& workload);

/// Once all is forecast: the plan keeps the rows of this process.
void deal_share(Workload& workload);

}  // namespace driftless
