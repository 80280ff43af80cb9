/// What became of each rule of a set in a run. Rules look at what a run did, and not at its flags,
/// but for those that leave no trace in it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/rules/rule_facts.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/stats/summary.hpp"

namespace driftless {

/// Whether two values of a flag mean the same, as "60" and "1m" do.
using SameValue = bool (*)(std::string_view a, std::string_view b);

/// In the order of the sets, flags before thresholds.
std::vector<RuleFinding> judge_rules(const std::vector<RuleSet>& sets, const RuleFacts& facts,
                                     const SummaryFigures& figures, SameValue same);

bool any_violated(const std::vector<RuleFinding>& findings);

/// The values that were given of a flag; a switch has one that is empty.
std::vector<std::string> values_given(const std::vector<std::string>& arguments,
                                      std::string_view flag);

}  // namespace driftless
