/// The files that `report` writes beside its screen: which were asked for, and writing them.
#pragma once

#include <string>

#include "cmd/report/rebuilt_run.hpp"

namespace driftless {

/// Paths as typed; empty: not asked for. "-" is standard output where a file is one text.
struct ReportExports {
    std::string csv;
    std::string markdown;
    std::string junit;
    std::string perfetto;
    std::string xlsx;
    std::string html;

    /// An export goes to standard output, which then carries nothing else.
    bool take_stdout() const {
        return markdown == "-" || junit == "-" || html == "-" || perfetto == "-";
    }
};

/// Writes what was asked for, and never overwrites a file. `by_csv` is the text of by.csv, or
/// empty. Returns the exit code; errors are printed.
int write_exports(const ReportExports& exports, const ReportedRun& run, const std::string& by_csv);

// `--csv DIR`: a run as four tables: requests.csv, periods.csv, summary.csv, definitions.csv.

/// Makes the folder if it does not exist; never overwrites a file. Returns the exit code; errors
/// are printed.
int write_csv_folder(const ReportedRun& run, const std::string& folder);

// `--markdown FILE`: a run on one page of Markdown, for the summary of a CI job: verdict and
// outcome, then load, latencies, cache and drift, and each threshold with pass or fail.

std::string markdown_summary(const ReportedRun& run);

// `--junit FILE`: a run as a test report that CI systems read: a case for the verdict, and one for
// each threshold of `--fail-if`.
//
// The elements are those that Ant's JUnit task writes and CI systems have agreed on: `testsuites`,
// `testsuite`, `testcase`, `failure`, `skipped` (github.com/testmoapp/junitxml lists them).

/// The XML. The verdict fails if the run is not trustworthy or rows have no record; it is skipped
/// if there is no calibration to judge by.
std::string junit_report(const ReportedRun& run);

}  // namespace driftless
