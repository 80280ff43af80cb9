/// `--xlsx FILE`: a run as one workbook of Excel: summary, charts, requests, periods, definitions.
/// Numbers are numbers, the first line of each table stays in sight and filters its columns.
#pragma once

#include <string>

#include "cmd/report/reported_run.hpp"

namespace driftless {

/// Rows go to disk one by one: memory does not grow with the run. Temporary files lie beside
/// `path`. Never writes over a file. Returns the exit code; what failed is printed.
int write_workbook(const ReportedRun& run, const std::string& path);

}  // namespace driftless
