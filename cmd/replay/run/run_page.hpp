/// The page that a replay leaves in its folder: report.html, made of the run's files once they are
/// whole.
#pragma once

#include <string>

#include "engine/stats/summary.hpp"

namespace driftless {

/// Writes `folder`/report.html, over that of an earlier segment. If it fails, a warning says why;
/// the run itself has all of its files.
void write_run_page(const std::string& folder, const SummaryFigures& figures,
                    const SummaryInfo& info);

}  // namespace driftless
