/// How many requests were good (`--goodput`), as a few lines for people. Pure.
#pragma once

#include <string>
#include <vector>

#include "engine/stats/summary.hpp"

namespace driftless {

/// "ttft:200 tpot:50", in ms; empty where none is set.
std::string limits_text(const GoodputLimits& limits);

/// Of all rows, then of each group that has limits of its own. Empty without --goodput.
std::vector<std::string> goodput_lines(const SummaryFigures& figures);

}  // namespace driftless
