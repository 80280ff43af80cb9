/// Below the table of a run, whichever it is: what became of `--rules` and of each `--fail-if`.
#pragma once

#include <string>
#include <vector>

#include "engine/stats/rule_finding.hpp"
#include "engine/stats/threshold_finding.hpp"

namespace driftless {

/// Nothing without either.
std::string judged_table(const std::vector<RuleFinding>& rules,
                         const std::vector<ThresholdFinding>& thresholds);

}  // namespace driftless
