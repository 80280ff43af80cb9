/// Aggregate rows of InferenceX (utils/agentic/aggregation/process_agentic_result.py, 01cae1be):
/// for each run that counts one object with its provenance, request_accounting, request_metrics and
/// server_metrics. Definitions of the figures: engine/views/README.md.
///
/// Provenance comes from labels of the same names (hw, image, framework, precision, tp, ep ..);
/// what no label says is null. Figures per GPU need the label `gpus`.
#pragma once

#include <string>

#include "cmd/compare/table/run_cell.hpp"

namespace driftless {

/// A JSON array, with a line feed at the end. Where a run cannot be read, the reason is in `why`.
std::string inferencex_rows(const ManyRuns& table, std::string& why);

/// One row, of the JSON that the view `inferencex` makes of the run. Pure.
std::string inferencex_row(const TableRun& run, const std::string& view);

}  // namespace driftless
