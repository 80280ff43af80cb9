/// RuleFinding: what became of one rule of a published set in a run. A value; engine/rules judges.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/json/write.hpp"

namespace driftless {

/// `unknown`: what would tell was not measured, or cannot be.
enum class RuleState : std::uint8_t { met, violated, unknown };
const char* name_of(RuleState state);

struct RuleFinding {
    std::string set;
    std::string version;
    std::string source;
    std::string rule;
    bool published = true;  ///< false: it is ours, and the publisher tests nothing like it
    RuleState state = RuleState::unknown;
    std::string evidence;  ///< what was found
    std::string bound;     ///< what was asked for; empty: null
};

/// The key `rules` of `summary.json`.
void write_rules(JsonWriter& json, const std::vector<RuleFinding>& findings);

}  // namespace driftless
