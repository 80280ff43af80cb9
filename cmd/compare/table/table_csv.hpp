/// The table as CSV: a line per cell, with the columns of InferenceX's sweeps
/// (collect_sweep_results.py) and ours behind them. Pure.
#pragma once

#include <string>

#include "cmd/compare/table/run_cell.hpp"

namespace driftless {

/// Columns: what differs among the runs; those of InferenceX, where the labels (or axes) `tp`,
/// `users` and `offload` fill what a client cannot know; then ours. What is unknown is empty.
/// Figures are means over the runs of a cell; `low_` and `high_` columns have the ends of the
/// repeats.
std::string table_csv(const ManyRuns& table);

}  // namespace driftless
