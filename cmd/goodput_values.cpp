#include "cmd/goodput_values.hpp"

#include <algorithm>
#include <utility>

#include "cmd/values.hpp"

namespace driftless {

namespace {

constexpr const char* limits_remedy =
    "is not a list of limits; use ttft:200 ttft_due:500 tpot:50 e2e:3s (a bare number is "
    "milliseconds)";
constexpr const char* group_remedy =
    "is not a rule for some rows; use KEY=VALUE and limits in ms, as in \"tier=gold ttft:200\"";
constexpr const char* colon_remedy =
    "has = where a limit has a colon; use ttft:200 ttft_due:500 tpot:50 e2e:3s (a bare number is "
    "milliseconds); "
    "a kept column of that name is kept.NAME";
constexpr const char* range_remedy =
    "uses input:PARTS, which has no single value; use phase, turn, api, url, model, header.NAME or "
    "a name of --keep";
constexpr std::string_view between = " ,";

bool is_limit(std::string_view name) {
    return name == "ttft" || name == "ttft_due" || name == "tpot" || name == "e2e" ||
           name == "e2el";
}

Result<void> read_limit(std::string_view part, GoodputLimits& limits) {
    const std::size_t colon = part.find(':');
    const std::string_view name = part.substr(0, colon);
    if (colon == part.npos) {
        return Error{ErrorCode::invalid, 0, limits_remedy};
    }
    std::string value(part.substr(colon + 1));
    if (value.find_first_not_of("0123456789.") == value.npos) {
        value += "ms";
    }
    const Result<std::int64_t> limit = parse_duration_ns(value);
    if (!limit || limit.value() <= 0) {
        return Error{ErrorCode::invalid, 0, limits_remedy};
    }
    if (name == "ttft") {
        limits.ttft_ns = limit.value();
    } else if (name == "ttft_due") {
        limits.ttft_due_ns = limit.value();
    } else if (name == "tpot") {
        limits.tpot_ns = limit.value();
    } else if (name == "e2e" || name == "e2el") {
        limits.e2e_ns = limit.value();
    } else {
        return Error{ErrorCode::invalid, 0, limits_remedy};
    }
    return {};
}

bool is_kept(const GroupKey& key, const std::vector<std::string>& keep) {
    return std::find(keep.begin(), keep.end(), key.member) != keep.end();
}

}  // namespace

Result<GoodputLimits> parse_goodput(std::string_view text) {
    GoodputLimits limits;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of(between), text.size());
        if (end > 0) {
            if (const Result<void> read = read_limit(text.substr(0, end), limits); !read) {
                return read.error();
            }
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return limits.set() ? Result<GoodputLimits>(limits)
                        : Result<GoodputLimits>(Error{ErrorCode::invalid, 0, limits_remedy});
}

Result<GoodputRule> parse_group_goodput(std::string_view text) {
    const std::size_t equals = text.find('=');
    const std::size_t end = text.find_first_of(between, equals);
    const std::string name(text.substr(0, equals));
    const std::size_t begin = text.find_last_of(between, equals) + 1;
    if (equals != text.npos && is_limit(text.substr(begin, equals - begin))) {
        return Error{ErrorCode::invalid, 0, colon_remedy};
    }
    if (equals == text.npos || equals == 0 || end == text.npos) {
        return Error{ErrorCode::invalid, 0, group_remedy};
    }
    Result<GroupKey> key = parse_group_key(name);
    if (!key) {
        key = parse_group_key("kept." + name);
    }
    const Result<GoodputLimits> limits = parse_goodput(text.substr(end + 1));
    if (!key || !limits) {
        return key ? limits.error() : key.error();
    }
    if (key.value().kind == GroupKey::Kind::input) {
        return Error{ErrorCode::invalid, 0, range_remedy};
    }
    return GoodputRule{std::move(key).value(),
                       std::string(text.substr(equals + 1, end - equals - 1)), limits.value()};
}

Result<GoodputRule> parse_goodput_rule(std::string_view text) {
    if (text.find('=') != text.npos) {
        return parse_group_goodput(text);
    }
    const Result<GoodputLimits> limits = parse_goodput(text);
    return limits ? Result<GoodputRule>(GoodputRule{{}, "", limits.value()})
                  : Result<GoodputRule>(limits.error());
}

GoodputRules with_rules(GoodputRules asked, const GoodputRules& before) {
    for (const GoodputRule& rule : before) {
        const bool is_asked = std::any_of(asked.begin(), asked.end(), [&](const GoodputRule& one) {
            return group_text(one) == group_text(rule);
        });
        if (!is_asked) {
            asked.push_back(rule);
        }
    }
    return asked;
}

std::string repeated_goodput(const GoodputRules& rules) {
    const auto common =
        std::count_if(rules.begin(), rules.end(), [](const auto& rule) { return !rule.key; });
    return common > 1 ? "--goodput is given " + std::to_string(common) +
                            " times for all rows; give it once, and add rules for some rows as in "
                            "\"tier=gold ttft:200\""
                      : "";
}

std::string limits_missing(const std::vector<Threshold>& fail_if) {
    for (const Threshold& one : fail_if) {
        const std::string_view name = one.figure->name;
        if (name == "good" || name == "request_goodput") {
            return "--fail-if \"" + one.text +
                   "\" counts good requests, but no limits are set; add --goodput \"ttft:200 "
                   "tpot:50\" or the like";
        }
    }
    return "";
}

std::string goodput_refusal(const GoodputRules& rules, const std::vector<std::string>& keep) {
    for (const GoodputRule& rule : rules) {
        if (rule.key && rule.key->kind == GroupKey::Kind::kept && !is_kept(*rule.key, keep)) {
            return "--goodput \"" + rule.key->member + "=" + rule.value +
                   " ..\" uses a column that no record has; add --keep " + rule.key->member +
                   ", too";
        }
    }
    return repeated_goodput(rules);
}

}  // namespace driftless
