/// ChangeThreshold: when a comparison fails (`--fail-if "ttft:p99 > +5 %"`). The whole interval has
/// to lie beyond the bound: a point that lies beyond it may be chance. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/comparison/compare_groups.hpp"
#include "proto/core/result.hpp"

namespace driftless {

struct ChangeThreshold {
    ComparedMetric metric;
    bool above = true;      ///< fails above the bound; else below it
    bool relative = false;  ///< the change from A to B; else B alone
    /// Relative: 0.05 is 5 % (of shares: 5 percentage points). Else ns or a share.
    double bound = 0;
    std::string text;  ///< as it was typed
};

/// "ttft:p99 > +5 %", "request_throughput < -5 %", "errors > +0.1 %" (percentage points),
/// "errors > 0.1 %", "ttft:p99 > 2s". Errors: invalid; the `doing` is a clause with the remedy.
Result<ChangeThreshold> parse_change_threshold(std::string_view text);

enum class Judged : std::uint8_t {
    passes,  ///< the whole interval is within the bound
    fails,   ///< the whole interval lies beyond it, or nothing was measured
    unsure,  ///< the bound is inside the interval, there is no interval, or no word about a change
};
const char* name_of(Judged judged);

struct JudgedThreshold {
    ChangeThreshold threshold;
    Judged judged = Judged::unsure;
    /// Of the change or of B, in the units of the bound (of ratios: B / A - 1). NaN: unknown.
    double value = unknown_value;
    double low = unknown_value;
    double high = unknown_value;
    Doubt doubt = Doubt::none;  ///< why there is no interval, or why it does not decide
};

struct ComparedSides {
    std::span<const ComparedRun> a;
    std::span<const ComparedRun> b;
};

/// Why a threshold cannot be judged by runs of this size, or under `--unsure fail` not be passed
/// even without a failure, with the number of requests that it needs; else the empty text.
std::string why_too_small(std::span<const ChangeThreshold> thresholds, const ComparedSides& sides,
                          const ComparisonOptions& options, bool unsure_fails);

/// `within_runs`: what these runs show decides about a change, whatever may be said of other runs.
std::vector<JudgedThreshold> judge_changes(std::span<const ChangeThreshold> thresholds,
                                           const ComparedSides& sides,
                                           const ComparisonOptions& options, bool within_runs);

/// What was found, with its interval: "+6.1 % (+5.2 to +7.0 %)", "2,110 ms (2,050 to 2,170 ms)".
std::string found_text(const JudgedThreshold& one);

}  // namespace driftless
