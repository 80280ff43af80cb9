#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "cmd/base/values.hpp"
#include "cmd/flags/option_values.hpp"
#include "cmd/flags/replay_values.hpp"
#include "engine/plan/load.hpp"
#include "engine/plan/plan.hpp"
#include "proto/core/numbers.hpp"

namespace driftless {

static constexpr const char* rate_remedy =
    "is not a rate above 0; use 10 (a second), 2.5/s, 600/m, 36000/h, or inf";
static constexpr const char* rate_too_high =
    "is more than 10^9 per second; use inf to send all at time 0";
static constexpr const char* arrivals_remedy =
    "is not one of constant, poisson, gamma:K (K from 0.01 to 1000000; 1 is poisson, less is "
    "burstier), recorded; poisson and gamma:K can end in :scaled";
static constexpr const char* ramp_remedy =
    "is not FROM:TO:OVER; use 1:20:60s, 1:20:60s:exponential or 0:20:60s:steps=5, or rows instead "
    "of the time";

static constexpr std::pair<std::string_view, std::int64_t> periods[] = {
    {"/s", 1}, {"/m", 60}, {"/h", 3600}};

/// The seconds of the period behind a text, which loses it; 0: it has none.
static std::int64_t take_period(std::string_view& text) {
    for (const auto& [behind, seconds] : periods) {
        if (text.ends_with(behind)) {
            text.remove_suffix(behind.size());
            return seconds;
        }
    }
    return 0;
}

static std::vector<std::string_view> split(std::string_view text, char between) {
    std::vector<std::string_view> parts;
    while (true) {  // ends: each turn takes at least the part's end
        const std::size_t end = text.find(between);
        parts.push_back(text.substr(0, end));
        if (end == text.npos) {
            return parts;
        }
        text.remove_prefix(end + 1);
    }
}

/// A plain, finite decimal as a double.
static std::optional<double> read_double(std::string_view text) {
    const auto value = scan_decimal(text)
                           ? read_number<double>(text.substr(text.starts_with('+') ? 1 : 0))
                           : std::nullopt;
    return value && std::isfinite(*value) ? value : std::nullopt;
}

Result<double> parse_rate_or_zero(std::string_view text) {
    const auto seconds = static_cast<double>(std::max<std::int64_t>(take_period(text), 1));
    const std::optional<double> count = read_double(text);
    if (!count || *count < 0) {
        return invalid(rate_remedy);
    }
    const double rate = *count / seconds;
    return rate > rate_most ? Result<double>(Error{ErrorCode::out_of_range, 0, rate_too_high})
                            : Result<double>(rate);
}

Result<TypedRate> parse_rate(std::string_view text) {
    if (text == "inf") {
        return TypedRate{true, 0, std::string(text)};
    }
    const Result<double> rate = parse_rate_or_zero(text);
    if (!rate) {
        return rate.error();
    }
    if (rate.value() <= 0) {
        return Error{ErrorCode::out_of_range, 0, rate_remedy};
    }
    return TypedRate{false, rate.value(), std::string(text)};
}

Result<TypedArrivals> parse_arrivals(std::string_view text) {
    std::vector<std::string_view> parts = split(text, ':');
    TypedArrivals arrivals;
    arrivals.scaled = parts.size() > 1 && parts.back() == "scaled";
    if (arrivals.scaled) {
        parts.pop_back();
    }
    const Error wrong = invalid(arrivals_remedy);
    if (parts[0] == "gamma") {
        arrivals.law = ArrivalLaw::gamma;
        arrivals.shape = parts.size() == 2 ? read_double(parts[1]).value_or(0) : 0;
        const bool known = arrivals.shape >= gamma_shape_min && arrivals.shape <= gamma_shape_max;
        return known ? Result<TypedArrivals>(arrivals) : wrong;
    }
    const Result<ArrivalLaw> law = arrival_choices(parts[0]);
    if (parts.size() > 1 || !law || (arrivals.scaled && law.value() != ArrivalLaw::poisson)) {
        return wrong;
    }
    arrivals.law = law.value();
    return arrivals;
}

std::string text_of(const TypedArrivals& arrivals) {
    std::string text = arrival_choices.name_of(arrivals.law);
    if (arrivals.law == ArrivalLaw::gamma) {
        char shape[32];
        const auto [end, error] = std::to_chars(shape, shape + sizeof shape, arrivals.shape);
        text = "gamma:" + std::string(shape, error == std::errc() ? end : shape);
    }
    return text + (arrivals.scaled ? ":scaled" : "");
}

Result<TypedRamp> parse_ramp(std::string_view text) {
    constexpr std::string_view steps = "steps=";
    const Error wrong = invalid(ramp_remedy);
    const std::vector<std::string_view> parts = split(text, ':');
    if (parts.size() < 3 || parts.size() > 4) {
        return wrong;
    }
    TypedRamp ramp;
    ramp.text = text;
    const Result<double> from = parse_rate_or_zero(parts[0]);
    const Result<double> to = parse_rate_or_zero(parts[1]);
    ramp.over_rows = parts[2] == "rows";
    const Result<std::int64_t> length =
        ramp.over_rows ? Result<std::int64_t>(1) : parse_duration_ns(parts[2]);
    for (const Result<double>* rate : {&from, &to}) {
        if (!*rate && rate->error().code == ErrorCode::out_of_range) {
            return Error{ErrorCode::out_of_range, 0, "has a rate above 10^9 per second; lower it"};
        }
    }
    if (!from || !to || !length || length.value() <= 0) {
        return invalid(length && length.value() <= 0
                           ? "has a time of 0; give a time above 0, as in 1:20:60s"
                           : ramp_remedy);
    }
    ramp.from = from.value();
    ramp.to = to.value();
    ramp.length_ns = ramp.over_rows ? 0 : length.value();
    const std::string_view form = parts.size() == 4 ? parts[3] : "linear";
    ramp.form = form == "exponential" ? RampForm::exponential : RampForm::linear;
    if (form.starts_with(steps)) {
        const Result<std::uint64_t> count = parse_count(form.substr(steps.size()));
        if (!count || count.value() < 2 || count.value() > ramp_steps_max || ramp.over_rows) {
            return invalid("needs N from 2 to 1000 in steps=N, and a time, not rows");
        }
        ramp.steps = static_cast<std::uint32_t>(count.value());
    } else if (form != "linear" && form != "exponential") {
        return wrong;
    }
    if (ramp.from + ramp.to <= 0) {
        return invalid("has no rate above 0; use FROM:TO:OVER as in 1:20:60s");
    }
    if ((ramp.form == RampForm::exponential || ramp.over_rows) && ramp.from * ramp.to <= 0) {
        return invalid(
            "has a rate of 0, which exponential ramps and ramps over rows cannot start or "
            "end at; use a rate above 0, or a linear ramp over a time");
    }
    return ramp;
}

Result<AbandonRules> parse_abandon(std::string_view text) {
    const Error refused = invalid(
        "is not a share of the requests and two times, the smaller first; use "
        "10%:2s..10s or 0.1:500ms..1m");
    const std::size_t colon = text.find(':');
    const std::size_t dots = text.find("..");
    if (colon == text.npos || dots == text.npos || dots < colon) {
        return refused;
    }
    const Result<Share> share = parse_share(text.substr(0, colon));
    const Result<std::int64_t> from = parse_duration_ns(text.substr(colon + 1, dots - colon - 1));
    const Result<std::int64_t> to = parse_duration_ns(text.substr(dots + 2));
    if (!share || !from || !to || to.value() < from.value() || to.value() == 0) {
        return refused;
    }
    AbandonRules rules;
    rules.share = static_cast<double>(share.value().billionths) / 1e9;
    rules.from_ns = from.value();
    rules.to_ns = to.value();
    return rules;
}

static constexpr const char* within_remedy =
    "is not two shares of a recording, the smaller first; use 0.25:0.75 or 0:50%";

static constexpr const char* grow_remedy =
    "is not a metric and its limit; use ttft:2s, ttft:p95:2s, ttft_due:max:5s, tpot:p99:50ms or "
    "e2e:20s";
static constexpr Choices<GrowMetric> grow_metrics{
    {"ttft", GrowMetric::ttft},         {"ttft_due", GrowMetric::ttft_due},
    {"ttft-due", GrowMetric::ttft_due}, {"tpot", GrowMetric::tpot},
    {"e2e", GrowMetric::e2e},           {"e2el", GrowMetric::e2e}};
static constexpr Choices<GrowFigure> grow_figures{
    {"avg", GrowFigure::avg}, {"p50", GrowFigure::p50}, {"p90", GrowFigure::p90},
    {"p95", GrowFigure::p95}, {"p99", GrowFigure::p99}, {"max", GrowFigure::max}};

/// A share, or 0 in any spelling, which `parse_share` refuses.
static std::optional<double> share_or_none(std::string_view text) {
    const std::optional<Decimal> decimal =
        scan_decimal(text.ends_with('%') ? text.substr(0, text.size() - 1) : text);
    if (decimal && !decimal->negative && decimal->zero()) {
        return 0.0;
    }
    const Result<Share> share = parse_share(text);
    return share ? std::optional(static_cast<double>(share.value().billionths) / 1e9)
                 : std::nullopt;
}

Result<UserCount> parse_user_count(std::string_view text) {
    const std::size_t dots = text.find("..");
    const bool is_bound = dots == 0;
    const Result<std::uint32_t> first =
        parse_positive_u32(is_bound ? text.substr(2) : text.substr(0, dots));
    if (is_bound || dots == text.npos) {
        return first ? Result<UserCount>(UserCount{first.value(), first.value(), is_bound})
                     : first.error();
    }
    const Result<std::uint32_t> most = parse_positive_u32(text.substr(dots + 2));
    if (!first || !most || most.value() <= first.value()) {
        return invalid(
            "is not two numbers of users, the smaller first; use 8, ..8 for up to 8, or 2..64 with "
            "--grow");
    }
    return UserCount{first.value(), most.value()};
}

Result<GrowRules> parse_grow_rules(std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::size_t last = text.rfind(':');
    if (colon == std::string_view::npos) {
        return invalid(grow_remedy);
    }
    GrowRules rules;
    const Result<GrowMetric> metric = grow_metrics(text.substr(0, colon));
    const Result<GrowFigure> figure =
        grow_figures(colon == last ? "avg" : text.substr(colon + 1, last - colon - 1));
    const Result<std::int64_t> limit = parse_positive_duration_ns(text.substr(last + 1));
    if (!metric || !figure || !limit) {
        return invalid(grow_remedy);
    }
    rules.metric = metric.value();
    rules.figure = figure.value();
    rules.limit_ns = limit.value();
    return rules;
}

std::string text_of(const GrowRules& rules) {
    return rules.any()
               ? grow_metrics.name_of(rules.metric) + std::string(":") +
                     grow_figures.name_of(rules.figure) + ":" + duration_to_text(rules.limit_ns)
               : "";
}

Result<FailureRules> parse_failure_rules(std::string_view text) {
    constexpr std::string_view retry = "retry:";
    FailureRules rules;
    if (!text.starts_with(retry)) {
        const Result<FailureRule> rule = failure_choices(text);
        rules.rule = rule ? rule.value() : rules.rule;
        return rule ? Result<FailureRules>(rules) : rule.error();
    }
    const Result<std::uint64_t> times = parse_positive_count(text.substr(retry.size()));
    if (!times || times.value() >= Due::attempts_max) {
        return failure_choices("").error();
    }
    rules.rule = FailureRule::retry;
    rules.retries_max = static_cast<std::uint32_t>(times.value());
    return rules;
}

std::string text_of(const FailureRules& rules) {
    return rules.rule == FailureRule::retry ? "retry:" + std::to_string(rules.retries_max)
                                            : failure_choices.name_of(rules.rule);
}

Result<StartWithin> parse_start_within(std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::optional<double> from =
        colon == std::string_view::npos ? std::nullopt : share_or_none(text.substr(0, colon));
    const std::optional<double> to = from ? share_or_none(text.substr(colon + 1)) : std::nullopt;
    if (!to || *to < *from) {
        return invalid(within_remedy);
    }
    return StartWithin{*from, *to};
}

static constexpr const char* token_rate_remedy =
    "is not a token rate; use 20000/s, 500k/m or 30M/h";
static constexpr const char* input_remedy =
    "is not a token rate; use 20000/s, 500k/m, 30M/h or 500k/m:uncached";
static constexpr std::uint64_t tokens_most = 1'000'000'000'000;

static std::uint64_t take_factor(std::string_view& text) {
    const std::uint64_t factor = text.ends_with('k') ? 1'000 : text.ends_with('M') ? 1'000'000 : 1;
    text.remove_suffix(factor == 1 ? 0 : 1);
    return factor;
}

static Result<TokenRate> parse_token_rate(std::string_view text, const char* remedy) {
    const std::int64_t period = take_period(text);
    const std::uint64_t factor = take_factor(text);
    const Result<std::uint64_t> count = parse_positive_count(text);
    if (period == 0 || !count) {
        return Error{period == 0 ? ErrorCode::invalid : count.error().code, 0, remedy};
    }
    if (count.value() > tokens_most / factor) {
        return Error{ErrorCode::out_of_range, 0, "is more than 10^12 tokens"};
    }
    return TokenRate{count.value() * factor, seconds(period)};
}

Result<TypedBudget> parse_input_budget(std::string_view text) {
    constexpr std::string_view uncached = ":uncached";
    const bool counts_uncached = text.ends_with(uncached);
    text.remove_suffix(counts_uncached ? uncached.size() : 0);
    const Result<TokenRate> rate = parse_token_rate(text, input_remedy);
    return rate ? Result<TypedBudget>(TypedBudget{rate.value(), counts_uncached}) : rate.error();
}

Result<TypedBudget> parse_output_budget(std::string_view text) {
    const Result<TokenRate> rate = parse_token_rate(text, token_rate_remedy);
    return rate ? Result<TypedBudget>(TypedBudget{rate.value(), false}) : rate.error();
}

std::string text_of(const TokenRate& rate, bool uncached) {
    for (const auto& [behind, length] : periods) {
        if (rate.tokens > 0 && rate.period == seconds(length)) {
            return std::to_string(rate.tokens) + std::string(behind) +
                   (uncached ? ":uncached" : "");
        }
    }
    return "";
}

std::string text_of(const TypedBudget& budget) {
    return text_of(budget.rate, budget.uncached);
}

}  // namespace driftless
