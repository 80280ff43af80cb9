/// What is made of the records of a run: its requests as another tool sees them, for --inferencex
/// and --llm-d, and the one figure that no summary has. Nothing else here reads records.
#pragma once

#include <string>
#include <vector>

#include "cmd/compare/table/table_run.hpp"
#include "engine/views/view.hpp"

namespace driftless {

/// Returns why the run cannot be read, or the empty text. Memory: as read_viewed_run
/// (cmd/report/viewed_run.hpp), of one run at a time.
std::string view_run(const TableRun& run, ViewedRun& out);

/// Reads the values that e2e_interactivity is made of, for every run that counts. Returns why a run
/// cannot be read, or the empty text.
std::string read_e2e_per_token(std::vector<TableRun>& runs);

}  // namespace driftless
