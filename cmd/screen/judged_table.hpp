/// Below the table of a run, whichever it is: what became of `--rules`, of each
/// `--fail-if`, and which `--stop-when` has ended it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/stats/rule_finding.hpp"
#include "engine/stats/threshold_finding.hpp"

namespace driftless {

/// Nothing without any.
std::string judged_table(const std::vector<RuleFinding>& rules,
                         const std::vector<ThresholdFinding>& thresholds,
                         const std::optional<StoppedWhen>& stopped);

}  // namespace driftless
