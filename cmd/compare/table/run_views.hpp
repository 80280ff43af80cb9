/// A run of a table as another tool sees it: its requests, from its records. The only reader of
/// records here: for --inferencex and --llm-d, whose definitions no summary has.
#pragma once

#include <string>

#include "cmd/compare/table/table_run.hpp"
#include "engine/views/view.hpp"

namespace driftless {

/// Returns why the run cannot be read, or the empty text. Memory: as read_viewed_run
/// (cmd/report/viewed_run.hpp), of one run at a time.
std::string view_run(const TableRun& run, ViewedRun& out);

}  // namespace driftless
