/// What the servers measured of themselves, as a few lines for people. Pure.
#pragma once

#include <string>
#include <vector>

#include "engine/stats/summary.hpp"

namespace driftless {

/// Empty where no page of metrics was read. What no page says is left out.
std::vector<std::string> server_lines(const SummaryFigures& figures, const SummaryInfo& info);

}  // namespace driftless
