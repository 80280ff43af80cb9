/// `report --trees`: figures of the sessions that wait for each other, as jobs.
#pragma once

#include <string>

#include "cmd/report/reported_run.hpp"
#include "engine/stats/tree_figures.hpp"
#include "proto/json/write.hpp"

namespace driftless {

/// Returns why the records cannot be read, or the empty text.
std::string read_trees(const ReportedRun& run, TreeTotals& out);
std::string tree_screen(const TreeTotals& totals);
void write_trees(JsonWriter& json, const TreeTotals& totals);

}  // namespace driftless
