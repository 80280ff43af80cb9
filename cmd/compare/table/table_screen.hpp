/// What people see of many runs: a line per cell, what is left out and why, and the frontiers.
/// Pure.
#pragma once

#include <string>
#include <vector>

#include "cmd/compare/table/pareto_chart.hpp"
#include "cmd/compare/table/run_cell.hpp"

namespace driftless {

std::string table_screen(const ManyRuns& table);

/// One line per chart and group: the cells of the frontier, and the hypervolume.
std::string charts_screen(const ManyRuns& table, const std::vector<ParetoChart>& charts);

/// Of the run behind a cell as it stands in lists: "01 speed=2", "old-1 +2".
std::string short_name(const ManyRuns& table, const RunCell& cell);

}  // namespace driftless
