/// What a rule compares, measured in a run: a number, where there is one, and how it is told. Pure.
#pragma once

#include <optional>
#include <string>

#include "engine/rules/rule_facts.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/stats/summary.hpp"

namespace driftless {

struct Measured {
    std::optional<double> value;  ///< nothing: unknown; of `digest` as well
    std::string text;             ///< of `digest`: 16 hex digits
};

Measured measure(const Rule& rule, const RuleFacts& facts, const SummaryFigures& figures);

/// A bound as the measure's own unit writes it: "95.00 %", "900 s", "393".
std::string bound_text(Measure measure, double bound);

/// Length of the profile phase, s: what was asked for, where the run ended by itself.
double phase_seconds(const RuleFacts& facts, const SummaryFigures& figures);

}  // namespace driftless
