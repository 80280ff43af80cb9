/// Values of the flags that say when rows are sent: rates, users, and limits that hold them back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/plan/arrivals.hpp"
#include "engine/plan/due.hpp"
#include "engine/plan/user_rules.hpp"
#include "engine/record/period_rules.hpp"
#include "engine/replay/settings.hpp"
#include "proto/core/result.hpp"

namespace driftless {

// The values of the flags that make rows arrive at a rate, as they are typed. Errors as in
// cmd/base/values.hpp.

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

// Values of the flags of users: from typed text and back. Pure. The `doing` of an Error is a
// clause for the message: what is wrong, and the remedy.

/// `--users`: "8", or "2..64" where `--grow` adds them.
struct UserCount {
    std::uint32_t first = 0;
    std::uint32_t most = 0;
    bool is_bound = false;  ///< "..8": as many as there are trees, up to 8
};
Result<UserCount> parse_user_count(std::string_view text);
/// `--grow`: "ttft:2s", "ttft:p95:2s"; the metric is ttft, ttft_due, tpot or e2e, and its figure
/// avg, p50, p90, p95, p99 or max. Sets all but the numbers of users.
Result<GrowRules> parse_grow_rules(std::string_view text);
/// As it is typed: "ttft:p95:2s"; empty where there is none.
std::string text_of(const GrowRules& rules);

/// "file" or "shuffle".
Result<TreeRule> parse_tree_rule(std::string_view text);
const char* name_of(TreeRule rule);

/// "end-tree", "continue", or "retry:N" with N from 1 to 30. Keeps `waits_for_429` false.
Result<FailureRules> parse_failure_rules(std::string_view text);
/// As it is typed, `--on-429` left out.
std::string text_of(const FailureRules& rules);
/// `--on-429`: "record" or "wait".
Result<bool> parse_wait_for_429(std::string_view text);

/// Shares of a recording, from and to, "0.25:0.75" or "0:50%"; both up to 1, in that order.
struct StartWithin {
    double from = 0;
    double to = 0;
};
Result<StartWithin> parse_start_within(std::string_view text);
/// `--start-by`: "timeline" or "turns"; true: turns.
Result<bool> parse_start_by_turns(std::string_view text);
/// `--barrier`: "stream" or "tree"; true: tree.
Result<bool> parse_tree_barrier(std::string_view text);
/// `--recycle-share`: "none" or "system"; true: system.
Result<bool> parse_shares_system(std::string_view text);
/// `--prime`: "exact" or "one-token"; true: one token.
Result<bool> parse_prime_one_token(std::string_view text);

// Values of the flags that hold requests back: token budgets. Pure. The `doing` of an Error is a
// clause for the message: what is wrong, and the remedy.

/// A budget as it is typed.
struct TypedBudget {
    TokenRate rate;
    bool uncached = false;
};

/// `--budget-input`: "500k/m", "20000/s", "30M/h"; behind it ":uncached", or not. k and M are a
/// thousand and a million tokens. Errors: invalid, out_of_range.
Result<TypedBudget> parse_input_budget(std::string_view text);
/// `--budget-output`: the same without ":uncached".
Result<TypedBudget> parse_output_budget(std::string_view text);

/// As it is typed: "500000/m:uncached"; empty where there is none.
std::string text_of(const TokenRate& rate, bool uncached);

}  // namespace driftless
