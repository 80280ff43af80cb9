#include "cmd/replay/flags/rate_values.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "cmd/replay/flags/option_values.hpp"
#include "cmd/values.hpp"
#include "engine/plan/load.hpp"
#include "proto/core/decimal.hpp"

namespace driftless {

namespace {

constexpr const char* rate_remedy =
    "is not a rate above 0; use 10 (a second), 2.5/s, 600/m, 36000/h, or inf";
constexpr const char* rate_too_high = "is more than 10^9 per second; use inf to send all at time 0";
constexpr const char* arrivals_remedy =
    "is not one of constant, poisson, gamma:K (K from 0.01 to 1000000; 1 is poisson, less is "
    "burstier), recorded; poisson and gamma:K can end in :scaled";
constexpr const char* ramp_remedy =
    "is not FROM:TO:OVER; use 1:20:60s, 1:20:60s:exponential or 0:20:60s:steps=5, or rows instead "
    "of the time";

struct Unit {
    std::string_view text;
    double seconds;
};
constexpr std::array units{Unit{"/s", 1}, Unit{"/m", 60}, Unit{"/h", 3600}};

std::vector<std::string_view> split(std::string_view text, char between) {
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

/// A decimal as a double. False for all but plain, finite decimals.
bool read_double(std::string_view text, double& out) {
    if (!scan_decimal(text)) {
        return false;
    }
    text.remove_prefix(text.starts_with('+') ? 1 : 0);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size() && std::isfinite(out);
}

}  // namespace

Result<double> parse_rate_or_zero(std::string_view text) {
    double seconds = 1;
    for (const Unit& unit : units) {
        if (text.ends_with(unit.text)) {
            text.remove_suffix(unit.text.size());
            seconds = unit.seconds;
            break;
        }
    }
    double count = 0;
    if (!read_double(text, count) || count < 0) {
        return Error{ErrorCode::invalid, 0, rate_remedy};
    }
    const double rate = count / seconds;
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
    const Error wrong{ErrorCode::invalid, 0, arrivals_remedy};
    if (parts[0] == "gamma") {
        arrivals.law = ArrivalLaw::gamma;
        const bool known = parts.size() == 2 && read_double(parts[1], arrivals.shape) &&
                           arrivals.shape >= gamma_shape_min && arrivals.shape <= gamma_shape_max;
        return known ? Result<TypedArrivals>(arrivals) : wrong;
    }
    arrivals.law = parts[0] == "constant"   ? ArrivalLaw::constant
                   : parts[0] == "recorded" ? ArrivalLaw::recorded
                                            : ArrivalLaw::poisson;
    const bool named = arrivals.law != ArrivalLaw::poisson || parts[0] == "poisson";
    const bool may_scale = arrivals.law == ArrivalLaw::poisson;
    return parts.size() == 1 && named && (may_scale || !arrivals.scaled)
               ? Result<TypedArrivals>(arrivals)
               : wrong;
}

std::string text_of(const TypedArrivals& arrivals) {
    std::string text;
    switch (arrivals.law) {
        case ArrivalLaw::constant:
            text = "constant";
            break;
        case ArrivalLaw::poisson:
            text = "poisson";
            break;
        case ArrivalLaw::gamma: {
            char shape[32];
            const auto [end, error] = std::to_chars(shape, shape + sizeof shape, arrivals.shape);
            text = "gamma:" + std::string(shape, error == std::errc() ? end : shape);
            break;
        }
        case ArrivalLaw::recorded:
            text = "recorded";
            break;
    }
    return text + (arrivals.scaled ? ":scaled" : "");
}

Result<TypedRamp> parse_ramp(std::string_view text) {
    constexpr std::string_view steps = "steps=";
    const Error wrong{ErrorCode::invalid, 0, ramp_remedy};
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
        return Error{ErrorCode::invalid, 0,
                     length && length.value() <= 0
                         ? "has a time of 0; give a time above 0, as in 1:20:60s"
                         : ramp_remedy};
    }
    ramp.from = from.value();
    ramp.to = to.value();
    ramp.length_ns = ramp.over_rows ? 0 : length.value();
    const std::string_view form = parts.size() == 4 ? parts[3] : "linear";
    ramp.form = form == "exponential" ? RampForm::exponential : RampForm::linear;
    if (form.starts_with(steps)) {
        const Result<std::uint64_t> count = parse_count(form.substr(steps.size()));
        if (!count || count.value() < 2 || count.value() > ramp_steps_max || ramp.over_rows) {
            return Error{ErrorCode::invalid, 0,
                         "needs N from 2 to 1000 in steps=N, and a time, not rows"};
        }
        ramp.steps = static_cast<std::uint32_t>(count.value());
    } else if (form != "linear" && form != "exponential") {
        return wrong;
    }
    if (ramp.from + ramp.to <= 0) {
        return Error{ErrorCode::invalid, 0, "has no rate above 0; use FROM:TO:OVER as in 1:20:60s"};
    }
    if ((ramp.form == RampForm::exponential || ramp.over_rows) && ramp.from * ramp.to <= 0) {
        return Error{ErrorCode::invalid, 0,
                     "has a rate of 0, which exponential ramps and ramps over rows cannot start or "
                     "end at; use a rate above 0, or a linear ramp over a time"};
    }
    return ramp;
}

Result<AbandonRules> parse_abandon(std::string_view text) {
    const Error refused{ErrorCode::invalid, 0,
                        "is not a share of the requests and two times, the smaller first; use "
                        "10%:2s..10s or 0.1:500ms..1m"};
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

}  // namespace driftless
