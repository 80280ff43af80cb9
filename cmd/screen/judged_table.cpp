#include "cmd/screen/judged_table.hpp"

#include <fmt/format.h>

#include "cmd/screen/lines.hpp"
#include "cmd/screen/rule_lines.hpp"

namespace driftless {

namespace {

std::string rules_table(const std::vector<RuleFinding>& findings) {
    Lines lines;
    for (const RuleLines& set : rule_lines(findings)) {
        lines.add("Rules", set.set);
        for (const std::string& text : set.violated) {
            lines.add("Violated", text);
        }
        if (!set.passed.empty()) {
            lines.add("", set.passed);
        }
    }
    return lines.take();
}

/// Those of `--fail-if`; nothing without it.
std::string thresholds_table(const std::vector<ThresholdFinding>& findings) {
    Lines lines;
    for (const ThresholdFinding& one : findings) {
        lines.add(one.fails ? "Fails" : "Within", one.condition + ": " + value_text(one));
    }
    return lines.take();
}

std::string stopped_table(const std::optional<StoppedWhen>& stopped) {
    Lines lines;
    if (stopped) {
        lines.add("Stopped", fmt::format("after {:.1f} s, --stop-when {}: {}", stopped->at_s,
                                         stopped->condition, value_text(*stopped)));
    }
    return lines.take();
}

}  // namespace

std::string judged_table(const std::vector<RuleFinding>& rules,
                         const std::vector<ThresholdFinding>& thresholds,
                         const std::optional<StoppedWhen>& stopped) {
    return rules_table(rules) + thresholds_table(thresholds) + stopped_table(stopped);
}

}  // namespace driftless
