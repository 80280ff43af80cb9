/// What token budgets (--budget-input, --budget-output) mean for a workload, before it is sent.
#pragma once

#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/workload/workload.hpp"

namespace driftless {

/// Refuses, on standard error, a workload with rows whose tokens are unknown and cannot be counted.
/// Otherwise prints how long the rows take at least, if each is sent once.
int check_budgets(const SendingFlags& sending, const Workload& workload);

}  // namespace driftless
