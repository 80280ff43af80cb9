/// Rule sets of `--rules`: reading them, and what they make of a command line.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/figures/criteria.hpp"

namespace driftless {

/// The rule sets of a run: found by name among the shipped ones, or in a file; with their texts,
/// which run.json keeps, so that a report judges by the same rules even if the file changes.
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
/// ("60" and "1m", "10%" and "0.1"), or such with colons, commas, blanks or ".." between ("0:0.7"
/// and "0.0:0.70").
bool same_value(std::string_view a, std::string_view b);

/// What `--rules` makes of a command line: the flags that its sets fix are added, where the user
/// did not give them, and what contradicts a lock is refused. Reads the files of sets. `arguments`
/// in our spelling, before they are parsed. Adds a line to `notes` for each set, saying what it
/// sets. Returns what is wrong in one line, or the empty text.
std::string apply_rules(std::vector<std::string>& arguments, std::vector<std::string>& notes,
                        RuleSets& out);

/// Reads a rule set in TOML (cmd/flags/rules/README.md). Returns what is wrong with the text, as
/// "line 3: gate is not known", or the empty text.
std::string read_rule_set(std::string_view text, RuleSet& out);

/// A rule set that the program brings along: the files of cmd/flags/rules are put into it when it
/// is built, so that it needs no path to them.
struct ShippedRules {
    std::string_view name;  ///< of the file, without ".toml"
    std::string_view text;
};
/// By the names of their files.
std::span<const ShippedRules> shipped_rules();

}  // namespace driftless
