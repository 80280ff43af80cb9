/// The rule sets of a run: found by name among the shipped ones, or in a file; with their texts,
/// which run.json keeps, so that a report judges by the same rules even if the file changes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/rules/rule_set.hpp"

namespace driftless {

struct RuleSets {
    std::vector<RuleSet> sets;
    std::vector<std::string> texts;  ///< [sets] TOML
};

/// "agentx,my/rules.toml": their parts.
std::vector<std::string> parts_of(std::string_view list);

/// A part that names a file: it has a '/' or ends in ".toml".
bool is_rule_file(std::string_view name);

/// Adds the set of that name or file. Returns one line about what is wrong, or the empty text.
std::string add_rule_set(const std::string& name, RuleSets& out);

/// Adds a set from a text that was kept; `place` says where it is, for what is wrong with it.
std::string add_rule_text(const std::string& text, const std::string& place, RuleSets& out);

/// Whether two values of a flag mean the same: the same text, durations of one length or numbers
/// ("60" and "1m"), or two such with a colon between ("0:0.7" and "0.0:0.70").
bool same_value(std::string_view a, std::string_view b);

}  // namespace driftless
