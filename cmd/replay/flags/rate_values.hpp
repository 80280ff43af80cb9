/// The values of the flags that make rows arrive at a rate, as they are typed. Errors as in
/// cmd/values.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/plan/abandonment.hpp"
#include "engine/plan/rate_curve.hpp"
#include "engine/plan/unit_gaps.hpp"
#include "proto/core/result.hpp"

namespace driftless {

/// `--rate`.
struct TypedRate {
    bool infinite = false;
    double per_second = 0;  ///< above 0, where it is not infinite
    std::string text;
};

/// `--arrivals`.
struct TypedArrivals {
    ArrivalLaw law = ArrivalLaw::poisson;
    double shape = 1;  ///< of gamma
    bool scaled = false;
};

/// `--ramp`. Rates are per second.
struct TypedRamp {
    double from = 0;
    double to = 0;
    bool over_rows = false;  ///< over all rows; else over `length_ns`
    std::int64_t length_ns = 0;
    RampForm form = RampForm::linear;
    std::uint32_t steps = 0;  ///< 0: a line or a curve
    std::string text;
};

/// Rates that are higher would put two rows into one nanosecond.
inline constexpr double rate_most = 1e9;
inline constexpr std::uint32_t ramp_steps_max = 1000;

/// "10", "2.5/s", "600/m", "36000/h", "inf".
Result<TypedRate> parse_rate(std::string_view text);
/// A rate of that spelling, per second, finite; it may be 0.
Result<double> parse_rate_or_zero(std::string_view text);

/// "constant", "poisson", "gamma:0.5", "recorded"; drawn gaps with ":scaled" behind.
Result<TypedArrivals> parse_arrivals(std::string_view text);
std::string text_of(const TypedArrivals& arrivals);

/// "1:20:60s", with ":linear", ":exponential" or ":steps=5" behind; "rows" for a time.
Result<TypedRamp> parse_ramp(std::string_view text);

/// "10%:2s..10s", "0.1:500ms..1m": a share of the requests, and when they are given up after their
/// fire. Without the seed.
Result<AbandonRules> parse_abandon(std::string_view text);

}  // namespace driftless
