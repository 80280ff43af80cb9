#include "engine/rules/judge_rules.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/rules/measured.hpp"

namespace driftless {

namespace {

struct NamedMeasure {
    std::string_view name;
    Measure measure;
};
constexpr std::array measures{
    NamedMeasure{"trees", Measure::trees},
    NamedMeasure{"rows", Measure::rows},
    NamedMeasure{"digest", Measure::digest},
    NamedMeasure{"ceiling_hit_rate", Measure::ceiling_hit_rate},
    NamedMeasure{"first_turn_hits", Measure::first_turn_hits},
    NamedMeasure{"ttft_coverage", Measure::ttft_coverage},
    NamedMeasure{"token_coverage", Measure::token_coverage},
    NamedMeasure{"error_share", Measure::error_share},
    NamedMeasure{"answered", Measure::answered},
    NamedMeasure{"overflow_share", Measure::overflow_share},
    NamedMeasure{"duration", Measure::duration},
    NamedMeasure{"users_live", Measure::users_live},
    NamedMeasure{"exact_output", Measure::exact_output},
    NamedMeasure{"mean_output", Measure::mean_output},
    NamedMeasure{"cut_short", Measure::cut_short},
    NamedMeasure{"warmup_failures", Measure::warmup_failures},
    NamedMeasure{"overtaken", Measure::overtaken},
    NamedMeasure{"barrier", Measure::barrier},
    NamedMeasure{"unchecked", Measure::unchecked},
};

RuleFinding finding_of(const RuleSet& set, const std::string& rule) {
    RuleFinding finding;
    finding.set = set.name;
    finding.version = set.version;
    finding.source = set.source;
    finding.rule = rule;
    return finding;
}

std::string bounds_of(const Rule& rule) {
    if (rule.min && rule.max && *rule.min == *rule.max) {
        return bound_text(rule.measure, *rule.min);
    }
    std::string text = rule.equals;
    if (rule.min) {
        text = "at least " + bound_text(rule.measure, *rule.min);
    }
    if (rule.max) {
        text += (rule.min ? ", at most " : "at most ") + bound_text(rule.measure, *rule.max);
    }
    return text;
}

RuleState state_of(const Rule& rule, const Measured& measured) {
    if (!rule.equals.empty()) {
        return measured.text == rule.equals ? RuleState::met : RuleState::violated;
    }
    if (!measured.value || (!rule.min && !rule.max)) {
        return RuleState::unknown;
    }
    const bool below = rule.min && *measured.value < *rule.min;
    const bool above = rule.max && *measured.value > *rule.max;
    return below || above ? RuleState::violated : RuleState::met;
}

RuleFinding judge_rule(const RuleSet& set, const Rule& rule, const RuleFacts& facts,
                       const SummaryFigures& figures) {
    RuleFinding finding = finding_of(set, rule.name);
    finding.published = rule.published;
    finding.bound = bounds_of(rule);
    Measured measured = measure(rule, facts, figures);
    finding.evidence = std::move(measured.text);
    const double phase_s = phase_seconds(facts, figures);
    if (rule.exempt_below_s && phase_s < *rule.exempt_below_s) {
        finding.state = RuleState::met;
        finding.evidence +=
            "; a phase below " + bound_text(Measure::duration, *rule.exempt_below_s) + " is exempt";
        return finding;
    }
    measured.text = finding.evidence;
    finding.state = state_of(rule, measured);
    return finding;
}

/// A flag that fixes how a run is asked for: what was given in its place.
RuleFinding judge_flag(const RuleSet& set, const FixedFlag& flag, const RuleFacts& facts,
                       SameValue same) {
    RuleFinding finding = finding_of(set, flag.name);
    const std::vector<std::string> given = values_given(facts.arguments, flag.name);
    std::string values;
    for (const std::string& value : given) {
        values += (values.empty() ? "" : ", ") + value;
    }
    const std::string is_given = flag.is_switch ? "given" : values;
    finding.evidence = given.empty() ? "not given" : is_given;
    finding.bound = flag.absent ? "not given" : flag.is_switch ? "given" : flag.value.value_or("");
    bool met = flag.absent ? given.empty() : !given.empty();
    if (met && flag.value) {
        met = std::all_of(given.begin(), given.end(),
                          [&](const std::string& value) { return same(value, *flag.value); });
    }
    finding.state = met ? RuleState::met : RuleState::violated;
    return finding;
}

}  // namespace

std::optional<Measure> measure_of(std::string_view name) {
    const auto found = std::find_if(measures.begin(), measures.end(),
                                    [name](const NamedMeasure& one) { return one.name == name; });
    return found == measures.end() ? std::nullopt : std::optional(found->measure);
}

std::vector<std::string> values_given(const std::vector<std::string>& arguments,
                                      std::string_view flag) {
    std::vector<std::string> values;
    for (const std::string& argument : arguments) {
        const std::size_t equals = std::min(argument.find('='), argument.size());
        if (std::string_view(argument).substr(0, equals) == flag) {
            values.push_back(argument.substr(std::min(equals + 1, argument.size())));
        }
    }
    return values;
}

std::vector<RuleFinding> judge_rules(const std::vector<RuleSet>& sets, const RuleFacts& facts,
                                     const SummaryFigures& figures, SameValue same) {
    std::vector<RuleFinding> findings;
    for (const RuleSet& set : sets) {
        for (const FixedFlag& flag : set.flags) {
            if (flag.other != OtherValue::allowed) {
                findings.push_back(judge_flag(set, flag, facts, same));
            }
        }
        for (const Rule& rule : set.rules) {
            findings.push_back(judge_rule(set, rule, facts, figures));
        }
    }
    return findings;
}

bool any_violated(const std::vector<RuleFinding>& findings) {
    return std::any_of(findings.begin(), findings.end(),
                       [](const RuleFinding& one) { return one.state == RuleState::violated; });
}

}  // namespace driftless
