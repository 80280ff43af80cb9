/// What `--rules` makes of a command line: the flags that its sets fix are added, where the user
/// did not give them, and what contradicts a lock is refused. Reads the files of sets; prints
/// nothing.
#pragma once

#include <string>
#include <vector>

#include "cmd/rules/rule_sets.hpp"

namespace driftless {

/// `arguments` in our spelling, before they are parsed. Adds a line to `notes` for each set, saying
/// what it sets. Returns what is wrong in one line, or the empty text.
std::string apply_rules(std::vector<std::string>& arguments, std::vector<std::string>& notes,
                        RuleSets& out);

}  // namespace driftless
