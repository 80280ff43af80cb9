/// Benchmark reports 0.2.1 of llm-d: one for each run that counts, as the view `llm-d` makes it,
/// with the sweep and the labels in `run`. Each is a report by itself.
#pragma once

#include <string>

#include "cmd/compare/table/run_cell.hpp"

namespace driftless {

/// One report where one run counts, else a JSON array of them; a line feed at the end. Where a run
/// cannot be read, the reason is in `why`.
std::string llmd_reports(const ManyRuns& table, std::string& why);

/// One report, of the JSON of the view. Pure.
std::string llmd_report(const TableRun& run, const std::string& view);

}  // namespace driftless
