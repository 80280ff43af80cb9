/// `driftless sweep --dry-run`: the cells, with their rows and how long each takes.
#pragma once

#include "cmd/sweep/ledger.hpp"

namespace driftless {

/// Lets replay make a dry run of each combination. Prints; returns the exit code.
int dry_run_sweep(const Ledger& ledger);

}  // namespace driftless
