#include "engine/stats/goodput.hpp"

#include <algorithm>

#include "proto/json/document.hpp"

namespace driftless {

namespace {

/// Of a request that was abandoned.
bool had_broken_one(const GoodputLimits& limits, const Record& record) {
    const OptionalNs& left = record.fired_ns;
    const std::int64_t waited_ns =
        left && record.ended_ns ? *record.ended_ns - *left : std::int64_t{0};
    const std::int64_t ttft_ns = record.ttft_ns.value_or(waited_ns);
    const std::int64_t since_due_ns =
        record.ttft_due_ns.value_or(record.ended_ns ? *record.ended_ns - record.due_ns : 0);
    return (limits.ttft_ns && ttft_ns > *limits.ttft_ns) ||
           (limits.ttft_due_ns && since_due_ns > *limits.ttft_due_ns) ||
           (limits.e2e_ns && waited_ns > *limits.e2e_ns);
}

}  // namespace

std::optional<bool> is_good(const GoodputLimits& limits, const Record& record) {
    if (record.outcome == Outcome::abandoned) {
        return had_broken_one(limits, record) ? std::optional(false) : std::nullopt;
    }
    if (record.outcome == Outcome::ok && lost_in_client(record)) {
        return std::nullopt;  // its first or last token may be among what was lost
    }
    const bool ttft = !limits.ttft_ns || (record.ttft_ns && *record.ttft_ns <= *limits.ttft_ns);
    const bool e2e = !limits.e2e_ns || (record.e2e_ns && *record.e2e_ns <= *limits.e2e_ns);
    const bool from_due =
        !limits.ttft_due_ns || (record.ttft_due_ns && *record.ttft_due_ns <= *limits.ttft_due_ns);
    if (record.outcome != Outcome::ok || !ttft || !from_due || !e2e) {
        return false;
    }
    if (limits.tpot_ns && !record.tpot_ns && !counts_output(record)) {
        return std::nullopt;
    }
    return !limits.tpot_ns || !record.tpot_ns ||
           *record.tpot_ns <= static_cast<double>(*limits.tpot_ns);
}

std::optional<std::size_t> rule_of(const GoodputRules& rules, const Record& record) {
    std::optional<JsonDocument> document;  // only groups need one
    std::optional<std::size_t> common;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (!rules[i].key) {
            common = i;
            continue;
        }
        if (!document) {
            document.emplace();
        }
        if (group_value(*rules[i].key, record, *document) == rules[i].value) {
            return i;
        }
    }
    return common;
}

GoodputLimits common_limits(const GoodputRules& rules) {
    const auto found = std::find_if(rules.begin(), rules.end(),
                                    [](const GoodputRule& one) { return !one.key.has_value(); });
    return found == rules.end() ? GoodputLimits() : found->limits;
}

std::string group_text(const GoodputRule& rule) {
    return rule.key ? rule.key->text + "=" + rule.value : "others";
}

}  // namespace driftless
