/// ChangeSpread: how far chance alone moves the change of a metric from A to B. Pure.
///
/// Three parts:
/// - rows: units are drawn anew, in blocks, the same for all runs (BlockDraws). Blocks tell too
///   little of dependence that reaches beyond them, and a unit that is a large part of all tells
///   too little of itself; both are known from the influence of each unit, and the deviation is
///   widened by that ratio, and by twice the error that the number of draws leaves in it (3 % at
///   2,000), so that another seed does not take a judgement back;
/// - runs: what the figures of a side's runs differ by (several runs a side);
/// - the noise of single rows is in both, and is subtracted once: the two-way rule of Cameron,
///   Gelbach and Miller (2011).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/comparison/metric_terms.hpp"
#include "engine/comparison/weighted_figure.hpp"

namespace driftless {

struct ChangeSpread {
    bool defined = false;      ///< false: more than 1 draw in 20 has no change
    double rows_variance = 0;  ///< of log(b / a), or b - a
    double runs_variance = 0;  ///< what several runs add to it; 0 for one run a side
    double freedom = 1;        ///< of Student's t
    std::size_t block = 1;     ///< units
    double blocks = 0;         ///< independent ones, of equal weight
    double n_eff = 0;          ///< independent rows
    /// Blocks would have to be longer than an eighth of the run: the rows tell too little of their
    /// own spread.
    bool reaches_far = false;

    double variance() const { return rows_variance + runs_variance; }
};

/// What was measured without resampling.
struct MetricFigures {
    std::vector<WeightedFigure> runs;  ///< those of A first
    std::size_t runs_a = 0;
    double a = 0;  ///< means over runs; NaN where a run has none
    double b = 0;

    std::size_t runs_b() const { return runs.size() - runs_a; }
};

MetricFigures figures_of(const MetricTerms& terms);

/// Both `a` and `b` are finite, and above 0 where the scale is a ratio.
ChangeSpread spread_of(const MetricTerms& terms, const MetricFigures& figures,
                       const ComparisonOptions& options);

}  // namespace driftless
