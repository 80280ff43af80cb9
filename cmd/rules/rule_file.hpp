/// A rule set in TOML (cmd/rules/README.md), read into values.
#pragma once

#include <string>
#include <string_view>

#include "engine/rules/rule_set.hpp"

namespace driftless {

/// Reads the text of a file. Returns what is wrong with it, as "line 3: gate is not known", or the
/// empty text.
std::string read_rule_set(std::string_view text, RuleSet& out);

}  // namespace driftless
