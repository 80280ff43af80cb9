#include "cmd/replay/run_json/run_file_users.hpp"

#include "cmd/replay/flags/option_values.hpp"
#include "cmd/replay/flags/user_values.hpp"
#include "cmd/replay/workload/rates.hpp"

namespace driftless {

void write_users(JsonWriter& json, const UserRules& rules, const std::optional<GrowRules>& grow) {
    json.key("users");
    if (rules.users == 0) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("count").unsigned_integer(rules.users);
    json.key("of").string(rules.single_rows ? "rows" : "trees");
    json.key("first").unsigned_integer(rules.first());
    json.key("grow");
    grow ? json.string(text_of(*grow)) : json.null();
    json.key("ramp_ns").integer(rules.ramp_ns);
    json.key("order").string(name_of(rules.order));
    json.key("recycle").boolean(rules.recycle);
    json.key("recycle_share").string(rules.shares_system ? "system" : "none");
    json.key("barrier").string(rules.tree_barrier ? "tree" : "stream");
    json.key("for_ns").optional_integer(rules.for_ns);
    json.key("drain_ns");
    rules.for_ns ? json.integer(rules.drain()) : json.null();
    json.key("on_failure").string(text_of(rules.failures));
    json.key("on_429").string(rules.failures.waits_for_429 ? "wait" : "record");
    json.key("tree_idle_cap_ns").optional_integer(rules.idle.tree_ns);
    json.key("system_idle_cap_ns").optional_integer(rules.idle.system_ns);
    json.key("start_within").begin_array();
    json.number(rules.start.from).number(rules.start.to).end_array();
    json.key("start_by").string(rules.start.by_turns ? "turns" : "timeline");
    json.key("prime").string(rules.start.prime_one_token ? "one-token" : "exact");
    json.key("warmup_requests").unsigned_integer(rules.start.warmup_requests);
    json.end_object();
}

void write_arrivals(JsonWriter& json, const WorkloadFlags& flags, const Workload& workload) {
    json.key("arrivals");
    const std::optional<ArrivalFacts> facts = arrival_facts(flags, workload);
    if (!facts) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("rate").string(facts->rate);
    json.key("asked_rate");
    facts->asked_rate ? json.number(*facts->asked_rate) : json.null();
    json.key("law").string(facts->law);
    json.key("of").string(facts->of);
    json.key("planned_rate");
    facts->planned_rate ? json.number(*facts->planned_rate) : json.null();
    json.key("seed").unsigned_integer(flags.plan.seed);
    json.end_object();
}

void write_abandon(JsonWriter& json, const std::optional<AbandonRules>& rules, std::uint64_t seed) {
    json.key("abandon");
    if (!rules) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("share").number(rules->share);
    json.key("from_ns").integer(rules->from_ns);
    json.key("to_ns").integer(rules->to_ns);
    json.key("seed").unsigned_integer(seed);
    json.end_object();
}

void write_gaps(JsonWriter& json, const WorkloadFlags& flags,
                const std::optional<Waiting>& waiting) {
    json.key("gaps");
    if (!waiting || flags.users.single_rows) {
        json.null();
        return;
    }
    json.begin_object();
    json.key("rule").string(name_of(flags.gap.value_or(GapRule::end_to_start)));
    json.key("cap_ns").optional_integer(flags.gap_cap_ns);
    json.key("gaps").unsigned_integer(waiting->gaps.gaps);
    json.key("capped").unsigned_integer(waiting->gaps.capped);
    json.key("derived_ns").integer(waiting->gaps.derived_ns);
    json.key("kept_ns").integer(waiting->gaps.kept_ns);
    json.end_object();
}

}  // namespace driftless
