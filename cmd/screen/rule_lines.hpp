/// What became of `--rules`, for the screen: a line for each set, and one for each rule that is
/// violated. Texts without labels; they compute nothing.
#pragma once

#include <string>
#include <vector>

#include "engine/stats/rule_finding.hpp"

namespace driftless {

/// A set's line, then what it found violated; then, where the publisher's own tests would call the
/// run valid and ours do not, which of them let it pass.
struct RuleLines {
    std::string set;
    std::vector<std::string> violated;
    std::string passed;  ///< empty: there is no such difference
};
std::vector<RuleLines> rule_lines(const std::vector<RuleFinding>& findings);

}  // namespace driftless
