/// `--junit FILE`: a run as a test report that CI systems read: a case for the verdict, and one for
/// each threshold of `--fail-if`.
///
/// The elements are those that Ant's JUnit task writes and CI systems have agreed on: `testsuites`,
/// `testsuite`, `testcase`, `failure`, `skipped` (github.com/testmoapp/junitxml lists them).
#pragma once

#include <string>

#include "cmd/report/reported_run.hpp"

namespace driftless {

/// The XML. The verdict fails if the run is not trustworthy or rows have no record; it is skipped
/// if there is no calibration to judge by.
std::string junit_report(const ReportedRun& run);

}  // namespace driftless
