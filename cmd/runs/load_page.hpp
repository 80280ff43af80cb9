/// The page of a search or a sweep: load against each figure, what must hold of it, the knee, and a
/// link to the page of each run.
#pragma once

#include <string>
#include <vector>

#include "cmd/runs/find.hpp"
#include "cmd/runs/sweep.hpp"

namespace driftless {

// Each writes a file into `folder`, says so, and that it could not.

/// find.html.
void write_search_page(const SearchReport& report, const std::string& folder);

/// sweep.html, over the first axis all of whose values are numbers; nothing where there is none.
/// Limits are the --fail-if of its runs, else some latencies. `runs`: as `sweep_runs` reads them.
void write_sweep_page(const Ledger& ledger, const std::vector<TableRun>& runs,
                      const std::string& folder);

}  // namespace driftless
