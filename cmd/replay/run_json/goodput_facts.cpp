#include "cmd/replay/run_json/goodput_facts.hpp"

namespace driftless {

namespace {

void write_bounds(JsonWriter& json, const GoodputLimits& limits) {
    json.key("ttft_ns").optional_integer(limits.ttft_ns);
    json.key("ttft_due_ns").optional_integer(limits.ttft_due_ns);
    json.key("tpot_ns").optional_integer(limits.tpot_ns);
    json.key("e2e_ns").optional_integer(limits.e2e_ns);
}

}  // namespace

void write_goodput(JsonWriter& json, const GoodputRules& rules) {
    json.key("goodput").begin_object();
    write_bounds(json, common_limits(rules));
    json.key("groups").begin_array();
    for (const GoodputRule& rule : rules) {
        if (rule.key) {
            json.begin_object();
            json.key("key").string(rule.key->text);
            json.key("value").string(rule.value);
            write_bounds(json, rule.limits);
            json.end_object();
        }
    }
    json.end_array().end_object();
}

}  // namespace driftless
