/// What token budgets (--budget-input, --budget-output) mean for a workload, before it is sent.
#pragma once

#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/workload/workload.hpp"

namespace driftless {

/// Rows whose tokens nobody knows cannot be counted: such a workload is refused, on standard error.
/// Else how long the rows take at least is printed, where each is sent once.
int check_budgets(const SendingFlags& sending, const Workload& workload);

}  // namespace driftless
