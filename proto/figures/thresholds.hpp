/// Thresholds: figures of a run that must not lie beyond a bound (`--fail-if "ttft:p99 > 2s"`). A
/// threshold says when the run fails. A figure that nobody measured fails as well: a run without
/// answers is not a good one. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/figures/distribution.hpp"
#include "proto/figures/summary.hpp"

namespace driftless {

/// A figure that thresholds may name: times have a distribution, the others one value, or nothing
/// where it was not measured.
struct FigureName {
    std::string_view name;
    FigureUnit unit = FigureUnit::number;
    const Distribution& (*distribution)(const SummaryFigures& figures) = nullptr;
    std::optional<double> (*value)(const SummaryFigures& figures) = nullptr;
};

/// Null where there is none of that name.
const FigureName* find_figure(std::string_view name);

/// Of a distribution.
enum class Statistic : std::uint8_t { mean, min, max, percentile };

enum class Compare : std::uint8_t { above, at_least, below, at_most };

struct Threshold {
    const FigureName* figure = nullptr;
    Statistic statistic = Statistic::percentile;  ///< of times
    std::size_t percentile = median_index;        ///< index in `percentiles`
    Compare compare = Compare::above;
    double bound = 0;  ///< ns, a share or a number
    std::string text;  ///< as it was typed
};

/// Of a time, which has values.
double statistic_of(const Threshold& threshold, const Distribution& distribution);
/// The value lies beyond the bound.
bool crosses(const Threshold& threshold, double value);

/// In the order in which they were given.
std::vector<ThresholdFinding> judge_thresholds(const std::vector<Threshold>& thresholds,
                                               const SummaryFigures& figures);

// StopRule: a condition that ends a run early (`--stop-when`). A plain value;
// engine/record/period_rules.hpp judges.

/// What a rule is about: answers of one period, or all requests of the run so far.
enum class StopFigure : std::uint8_t { ttft, ttft_due, tpot, e2e, errors, failed };

/// Nothing where the figure of that threshold is not known while a run goes on.
std::optional<StopFigure> stop_figure_of(const Threshold& threshold);

struct StopRule {
    StopFigure figure = StopFigure::errors;
    Threshold threshold;
    std::int64_t for_ns = 0;  ///< it has to hold for so long; 0: at the end of one period
    std::string text;         ///< as it was typed
};

}  // namespace driftless
