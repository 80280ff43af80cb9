/// `--junit FILE`: a run as a test report that CI systems read: a case for the verdict, and one for
/// each threshold of `--fail-if`.
///
/// The elements are those that Ant's JUnit task writes and CI systems have agreed on: `testsuites`,
/// `testsuite`, `testcase`, `failure`, `skipped` (github.com/testmoapp/junitxml lists them).
#pragma once

#include <string>

#include "cmd/report/reported_run.hpp"

namespace driftless {

/// The XML. The verdict fails where the run is not trustworthy, or rows have no record; without a
/// calibration it is skipped: nobody knows.
std::string junit_report(const ReportedRun& run);

}  // namespace driftless
