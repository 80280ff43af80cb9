#include "engine/stats/rule_finding.hpp"

namespace driftless {

const char* name_of(RuleState state) {
    switch (state) {
        case RuleState::met:
            return "met";
        case RuleState::violated:
            return "violated";
        case RuleState::unknown:
            return "unknown";
    }
    return "";
}

void write_rules(JsonWriter& json, const std::vector<RuleFinding>& findings) {
    json.key("rules").begin_array();
    for (const RuleFinding& one : findings) {
        json.begin_object();
        json.key("set").string(one.set);
        json.key("version").string(one.version);
        json.key("source").string(one.source);
        json.key("rule").string(one.rule);
        json.key("published").boolean(one.published);
        json.key("state").string(name_of(one.state));
        json.key("evidence").string(one.evidence);
        json.key("bound");
        one.bound.empty() ? json.null() : json.string(one.bound);
        json.end_object();
    }
    json.end_array();
}

}  // namespace driftless
