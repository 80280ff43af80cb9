#include "cmd/rules/rule_sets.hpp"

#include <algorithm>
#include <utility>

#include "cmd/rules/rule_file.hpp"
#include "cmd/rules/shipped.hpp"
#include "cmd/values.hpp"
#include "cmd/whole_file.hpp"
#include "proto/core/nearest_name.hpp"

namespace driftless {

namespace {

std::string shipped_names() {
    std::string names;
    for (const ShippedRules& one : shipped_rules()) {
        names += (names.empty() ? "" : ", ") + std::string(one.name);
    }
    return names;
}

bool same_part(std::string_view a, std::string_view b) {
    const Result<std::int64_t> left = parse_duration_ns(a);
    const Result<std::int64_t> right = parse_duration_ns(b);
    return a == b || (left && right && left.value() == right.value());
}

}  // namespace

std::vector<std::string> parts_of(std::string_view list) {
    std::vector<std::string> parts;
    while (!list.empty()) {
        const std::string_view part = list.substr(0, list.find(','));
        parts.emplace_back(part);
        list.remove_prefix(std::min(part.size() + 1, list.size()));
    }
    return parts;
}

bool is_rule_file(std::string_view name) {
    return name.find('/') != name.npos || name.ends_with(".toml");
}

std::string add_rule_text(const std::string& text, const std::string& place, RuleSets& out) {
    RuleSet set;
    if (const std::string why = read_rule_set(text, set); !why.empty()) {
        return place + ": " + why;
    }
    const auto has_name = [&set](const RuleSet& one) { return one.name == set.name; };
    if (std::any_of(out.sets.begin(), out.sets.end(), has_name)) {
        return place + ": the set " + set.name + " is given twice; remove one";
    }
    out.sets.push_back(std::move(set));
    out.texts.push_back(text);
    return "";
}

std::string add_rule_set(const std::string& name, RuleSets& out) {
    if (is_rule_file(name)) {
        const Result<std::string> text = read_whole_file(name);
        return text ? add_rule_text(text.value(), "--rules " + name, out)
                    : "--rules " + name + " cannot be read: " + reason_of(text.error());
    }
    for (const ShippedRules& one : shipped_rules()) {
        if (one.name == name) {
            return add_rule_text(std::string(one.text), "--rules " + name, out);
        }
    }
    return "--rules \"" + name + "\" is not one of " + shipped_names() + ", or a file (FILE.toml)" +
           did_you_mean(name, shipped_names());
}

bool same_value(std::string_view a, std::string_view b) {
    const std::size_t colon_a = a.find(':');
    const std::size_t colon_b = b.find(':');
    if (colon_a != a.npos && colon_b != b.npos) {
        return same_part(a.substr(0, colon_a), b.substr(0, colon_b)) &&
               same_part(a.substr(colon_a + 1), b.substr(colon_b + 1));
    }
    return same_part(a, b);
}

}  // namespace driftless
