/// `--csv DIR`: a run as four tables: requests.csv, periods.csv, summary.csv, definitions.csv.
#pragma once

#include <string>

#include "cmd/report/reported_run.hpp"

namespace driftless {

/// Makes the folder if it does not exist; never overwrites a file. Returns the exit code; errors
/// are printed.
int write_csv_folder(const ReportedRun& run, const std::string& folder);

}  // namespace driftless
