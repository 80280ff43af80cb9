#include "cmd/replay/flags/user_values.hpp"

#include <array>
#include <optional>

#include "cmd/replay/flags/choose.hpp"
#include "cmd/replay/flags/option_values.hpp"
#include "cmd/values.hpp"
#include "engine/plan/load.hpp"
#include "engine/schedule/due.hpp"
#include "proto/core/decimal.hpp"

namespace driftless {

namespace {

constexpr const char* failure_remedy =
    "is not one of end-tree, continue, or retry:N with N from 1 to 30";
constexpr const char* within_remedy =
    "is not two shares of a recording, the smaller first; use 0.25:0.75 or 0:50%";

constexpr const char* grow_remedy =
    "is not a metric and its limit; use ttft:2s, ttft:p95:2s, ttft_due:max:5s, tpot:p99:50ms or "
    "e2e:20s";
constexpr std::array grow_metrics{Choice<GrowMetric>{"ttft", GrowMetric::ttft},
                                  Choice<GrowMetric>{"ttft_due", GrowMetric::ttft_due},
                                  Choice<GrowMetric>{"ttft-due", GrowMetric::ttft_due},
                                  Choice<GrowMetric>{"tpot", GrowMetric::tpot},
                                  Choice<GrowMetric>{"e2e", GrowMetric::e2e},
                                  Choice<GrowMetric>{"e2el", GrowMetric::e2e}};
constexpr std::array grow_figures{
    Choice<GrowFigure>{"avg", GrowFigure::avg}, Choice<GrowFigure>{"p50", GrowFigure::p50},
    Choice<GrowFigure>{"p90", GrowFigure::p90}, Choice<GrowFigure>{"p95", GrowFigure::p95},
    Choice<GrowFigure>{"p99", GrowFigure::p99}, Choice<GrowFigure>{"max", GrowFigure::max}};

/// A share, or 0 in any spelling, which `parse_share` refuses.
std::optional<double> share_or_none(std::string_view text) {
    const std::optional<Decimal> decimal =
        scan_decimal(text.ends_with('%') ? text.substr(0, text.size() - 1) : text);
    if (decimal && !decimal->negative && decimal->zero()) {
        return 0.0;
    }
    const Result<Share> share = parse_share(text);
    return share ? std::optional(static_cast<double>(share.value().billionths) / 1e9)
                 : std::nullopt;
}

}  // namespace

Result<UserCount> parse_user_count(std::string_view text) {
    const std::size_t dots = text.find("..");
    const Result<std::uint32_t> first = parse_positive_u32(text.substr(0, dots));
    if (dots == 0) {
        const Result<std::uint32_t> bound = parse_positive_u32(text.substr(2));
        return bound ? Result<UserCount>(UserCount{bound.value(), bound.value(), true})
                     : bound.error();
    }
    if (dots == std::string_view::npos) {
        return first ? Result<UserCount>(UserCount{first.value(), first.value()}) : first.error();
    }
    const Result<std::uint32_t> most = parse_positive_u32(text.substr(dots + 2));
    if (!first || !most || most.value() <= first.value()) {
        return Error{
            ErrorCode::invalid, 0,
            "is not two numbers of users, the smaller first; use 8, ..8 for up to 8, or 2..64 with "
            "--grow"};
    }
    return UserCount{first.value(), most.value()};
}

Result<GrowRules> parse_grow_rules(std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::size_t last = text.rfind(':');
    if (colon == std::string_view::npos) {
        return Error{ErrorCode::invalid, 0, grow_remedy};
    }
    GrowRules rules;
    const Result<GrowMetric> metric = choose(text.substr(0, colon), grow_metrics, grow_remedy);
    const Result<GrowFigure> figure =
        colon == last ? Result<GrowFigure>(GrowFigure::avg)
                      : choose(text.substr(colon + 1, last - colon - 1), grow_figures, grow_remedy);
    const Result<std::int64_t> limit = parse_positive_duration_ns(text.substr(last + 1));
    if (!metric || !figure || !limit) {
        return Error{ErrorCode::invalid, 0, grow_remedy};
    }
    rules.metric = metric.value();
    rules.figure = figure.value();
    rules.limit_ns = limit.value();
    return rules;
}

std::string text_of(const GrowRules& rules) {
    if (!rules.any()) {
        return "";
    }
    std::string text;
    for (const Choice<GrowMetric>& metric : grow_metrics) {
        text += text.empty() && metric.value == rules.metric ? metric.name : "";
    }
    for (const Choice<GrowFigure>& figure : grow_figures) {
        text += figure.value == rules.figure ? ":" + std::string(figure.name) : "";
    }
    return text + ":" + duration_to_text(rules.limit_ns);
}

const char* name_of(TreeRule rule) {
    return rule == TreeRule::file ? "file" : "shuffle";
}

Result<TreeRule> parse_tree_rule(std::string_view text) {
    constexpr std::array choices{Choice<TreeRule>{"file", TreeRule::file},
                                 Choice<TreeRule>{"shuffle", TreeRule::shuffle}};
    return choose(text, choices, "is not one of file, shuffle");
}

Result<FailureRules> parse_failure_rules(std::string_view text) {
    constexpr std::string_view retry = "retry:";
    FailureRules rules;
    if (text == "continue") {
        rules.rule = FailureRule::go_on;
    } else if (text.starts_with(retry)) {
        const Result<std::uint64_t> times = parse_positive_count(text.substr(retry.size()));
        if (!times || times.value() >= Due::attempts_max) {
            return Error{ErrorCode::invalid, 0, failure_remedy};
        }
        rules.rule = FailureRule::retry;
        rules.retries_max = static_cast<std::uint32_t>(times.value());
    } else if (text != "end-tree") {
        return Error{ErrorCode::invalid, 0, failure_remedy};
    }
    return rules;
}

std::string text_of(const FailureRules& rules) {
    switch (rules.rule) {
        case FailureRule::end_tree:
            return "end-tree";
        case FailureRule::go_on:
            return "continue";
        case FailureRule::retry:
            return "retry:" + std::to_string(rules.retries_max);
    }
    return "";
}

Result<bool> parse_wait_for_429(std::string_view text) {
    constexpr std::array choices{Choice<bool>{"record", false}, Choice<bool>{"wait", true}};
    return choose(text, choices, "is not one of record, wait");
}

Result<StartWithin> parse_start_within(std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::optional<double> from =
        colon == std::string_view::npos ? std::nullopt : share_or_none(text.substr(0, colon));
    const std::optional<double> to = from ? share_or_none(text.substr(colon + 1)) : std::nullopt;
    if (!to || *to < *from) {
        return Error{ErrorCode::invalid, 0, within_remedy};
    }
    return StartWithin{*from, *to};
}

Result<bool> parse_start_by_turns(std::string_view text) {
    constexpr std::array choices{Choice<bool>{"timeline", false}, Choice<bool>{"turns", true}};
    return choose(text, choices, "is not one of timeline, turns");
}

Result<bool> parse_tree_barrier(std::string_view text) {
    constexpr std::array choices{Choice<bool>{"stream", false}, Choice<bool>{"tree", true}};
    return choose(text, choices, "is not one of stream, tree");
}

Result<bool> parse_shares_system(std::string_view text) {
    constexpr std::array choices{Choice<bool>{"none", false}, Choice<bool>{"system", true}};
    return choose(text, choices, "is not one of none, system");
}

Result<bool> parse_prime_one_token(std::string_view text) {
    constexpr std::array choices{Choice<bool>{"exact", false}, Choice<bool>{"one-token", true}};
    return choose(text, choices, "is not one of exact, one-token");
}

}  // namespace driftless
