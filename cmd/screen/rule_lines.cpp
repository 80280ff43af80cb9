#include "cmd/screen/rule_lines.hpp"

#include <algorithm>

namespace driftless {

namespace {

struct Counts {
    std::size_t met = 0;
    std::size_t violated = 0;
    std::size_t unknown = 0;
    bool published_violated = false;
};

void count(const RuleFinding& one, Counts& counts) {
    counts.met += one.state == RuleState::met ? 1 : 0;
    counts.unknown += one.state == RuleState::unknown ? 1 : 0;
    counts.violated += one.state == RuleState::violated ? 1 : 0;
    counts.published_violated =
        counts.published_violated || (one.published && one.state == RuleState::violated);
}

/// The publisher's thresholds that were met; flags let nothing pass.
std::string names_of_passed(const std::vector<const RuleFinding*>& set) {
    std::string names;
    for (const RuleFinding* one : set) {
        const bool passed = one->published && one->state == RuleState::met;
        if (passed && !one->rule.starts_with("--")) {
            names += (names.empty() ? "" : ", ") + one->rule;
        }
    }
    return names;
}

std::string names_of_ours(const std::vector<const RuleFinding*>& set) {
    std::string names;
    for (const RuleFinding* one : set) {
        if (one->state == RuleState::violated) {
            names += (names.empty() ? "" : ", ") + one->rule;
        }
    }
    return names;
}

RuleLines lines_of(const std::vector<const RuleFinding*>& set) {
    RuleLines lines;
    Counts counts;
    for (const RuleFinding* one : set) {
        count(*one, counts);
        if (one->state == RuleState::violated) {
            lines.violated.push_back(one->rule + ": " + one->evidence + "; " + one->bound);
        }
    }
    lines.set = set.front()->set + " (" + set.front()->version +
                "): " + std::to_string(counts.met) + " met, " + std::to_string(counts.violated) +
                " violated, " + std::to_string(counts.unknown) + " unknown";
    if (counts.violated > 0 && !counts.published_violated) {
        lines.passed = "the publisher's own tests call this run valid: " + names_of_passed(set) +
                       " passed; of our own, " + names_of_ours(set) + " did not";
    }
    return lines;
}

}  // namespace

std::vector<RuleLines> rule_lines(const std::vector<RuleFinding>& findings) {
    std::vector<RuleLines> all;
    for (std::size_t begin = 0; begin < findings.size();) {
        std::vector<const RuleFinding*> set;
        for (std::size_t i = begin; i < findings.size() && findings[i].set == findings[begin].set;
             ++i) {
            set.push_back(&findings[i]);
        }
        begin += set.size();
        all.push_back(lines_of(set));
    }
    return all;
}

}  // namespace driftless
