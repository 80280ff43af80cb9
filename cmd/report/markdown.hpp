/// `--markdown FILE`: a run on one page of Markdown, for the summary of a CI job: verdict and
/// outcome, then load, latencies, cache and drift, and each threshold with pass or fail.
#pragma once

#include <string>

#include "cmd/report/reported_run.hpp"

namespace driftless {

std::string markdown_summary(const ReportedRun& run);

}  // namespace driftless
