/// The summary as a long table, in the layout that users know from serving benchmarks, with what
/// only this program measures below it. Text out; it computes nothing and prints nothing.
#pragma once

#include <string>

#include "engine/stats/summary.hpp"

namespace driftless {

std::string full_table(const SummaryFigures& figures, const SummaryInfo& info);

}  // namespace driftless
