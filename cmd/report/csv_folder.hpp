/// `--csv DIR`: a run as four tables: requests.csv, periods.csv, summary.csv, definitions.csv.
#pragma once

#include <string>

#include "cmd/report/reported_run.hpp"

namespace driftless {

/// Makes the folder where it is not there; never writes over a file. Returns the exit code; what
/// failed is printed.
int write_csv_folder(const ReportedRun& run, const std::string& folder);

}  // namespace driftless
