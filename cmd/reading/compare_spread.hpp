/// Inside compare_groups: PairedRows, the requests of all runs side by side by their keys, and
/// ChangeSpread, how far chance alone moves the change of a metric from A to B. Pure; points into
/// the runs, which must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cmd/reading/compare_judge.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

/// Which unit each row belongs to. Units are numbered in the order of their first rows.
struct RowUnits {
    std::vector<std::uint32_t> unit_of;  ///< [rows]
    std::size_t count = 0;
};

/// Requests of one key are one row; rows are in the order of their dues.
struct PairedRows {
    std::size_t rows = 0;
    std::size_t runs_a = 0;
    /// [runs, those of A first][rows]; null where the run lacks the key.
    std::vector<std::vector<const ComparedRequest*>> runs;
    std::vector<const ComparedRun*> whole_runs;  ///< [runs]
    RowUnits trees;                              ///< a unit is a tree, or a row without one

    bool is_a(std::size_t run) const { return run < runs_a; }
};

/// Adds what it found to the counts of `comparison`.
PairedRows pair_rows(std::span<const ComparedRun> a, std::span<const ComparedRun> b,
                     GroupComparison& comparison);

// MetricTerms: what each row adds to a metric in each run. A mean, a share and a rate are all a
// sum of tops over a sum of bottoms; a percentile is of the tops that have a bottom. Pure.

struct RowTerm {
    double top = 0;
    double bottom = 0;  ///< both 0: the row does not count
};

struct MetricTerms {
    ComparedMetric metric;
    std::size_t runs_a = 0;
    std::vector<std::vector<RowTerm>> runs;  ///< [runs, those of A first][rows]
    RowUnits units;
    std::uint64_t pairs =
        0;  ///< rows that count in every run; of rates, in the run with the fewest
};

/// - a mean and a percentile: top is the value, bottom 1, of rows whose value every run knows;
/// - errors, good: top 1 where it is so, bottom 1 of those that could be;
/// - rates: top is the count, bottom the time in s since the request before it ended, scaled so
///   that the times of a run add up to its duration. Here a row is the n-th end of each run: a rate
///   belongs to a time. Each is a unit.
MetricTerms terms_of(const ComparedMetric& metric, const PairedRows& paired);

/// The same where the client moved every value as far as it may have: each is its lower end, or
/// its upper one; and what meets the SLO by them. Other metrics stay.
MetricTerms terms_of_ends(const MetricTerms& terms, const PairedRows& paired, bool upper);

/// Of a dual run: those of the rows that left to A first, or to B. Not for rates, whose rows are
/// ends. A row that left to neither side is in neither.
MetricTerms terms_of_order(const MetricTerms& terms, const PairedRows& paired, bool a_first);

/// WeightedFigure: a metric of one run when each unit counts so many times; and how far each row
/// moves it. Owns 16 bytes a row. Pure.
class WeightedFigure {
  public:
    /// Of run `run` of `terms`.
    WeightedFigure(const MetricTerms& terms, std::size_t run);

    /// [units] how often each counts, in sum as many as there are. NaN where nothing counts.
    double at(std::span<const std::uint32_t> weights) const;
    /// Each unit once.
    double value() const { return value_; }

    /// [rows] By how much one more of a row would move the figure:
    /// the influence function. Of percentiles the density comes from the distance of two
    /// neighbouring percentiles; where they are equal nothing moves, and all is 0.
    std::vector<double> influence(const MetricTerms& terms, std::size_t run) const;

  private:
    double bottom_at(std::span<const std::uint32_t> weights) const;
    double sums_at(std::span<const std::uint32_t> weights) const;
    double percentile_at(std::span<const std::uint32_t> weights) const;
    double spacing() const;

    std::uint32_t per_mille_ = 0;  ///< 0: a sum over a sum
    double value_ = 0;
    double equal_bottom_ = 0;  ///< that of every unit; 0: they differ
    // [units] of sums; of percentiles `bottoms_` alone: how many values a unit has.
    std::vector<double> tops_;
    std::vector<double> bottoms_;
    // [values] of percentiles, ascending, and whose they are.
    std::vector<double> sorted_;
    std::vector<std::uint32_t> unit_at_;
};

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

// The quantile of Student's t. Pure.

/// The x with P(t <= x) = p, 0 < p < 1, of any `freedom` from 1 on. Relative error below 1e-9, held
/// against SciPy (tests/data/comparison/make.py). By bisection on the incomplete beta function,
/// whose continued fraction is that of Abramowitz and Stegun 26.5.8.
double student_quantile(double p, double freedom);

/// BlockDraws: how often each unit of a series is drawn, in circular blocks of neighbours. The same
/// seed gives the same draws, whatever is measured on them: so both sides of a comparison, and all
/// its runs, are drawn alike. Owns 8 bytes a unit.
class BlockDraws {
  public:
    /// `units` from 1 to 2^32 - 1, `block` from 1 to `units`.
    BlockDraws(std::size_t units, std::size_t block, std::uint64_t seed);

    /// [units], in sum `units`. Valid until the next call.
    std::span<const std::uint32_t> next();

  private:
    void draw_singly();
    void draw_blocks();

    std::size_t block_;
    Random random_;
    std::vector<std::uint32_t> counts_;
    std::vector<std::int32_t> steps_;  ///< where blocks begin and end
};

// The long-run variance of a series whose values depend on their neighbours, and how long the
// blocks must be that keep this dependence when they are drawn. Pure.

struct LongRun {
    /// Of Politis and White (2004, with the correction of Patton, Politis and White 2009) for
    /// circular blocks; from 1 to a third of the series, and to 3 sqrt(n). 1 where no value depends
    /// significantly on one before it.
    double block = 1;
    /// The same without an upper bound: how long blocks would have to be. 1 also where neighbours
    /// are opposed, because short blocks then show too much and not too little.
    double reach = 1;
    /// n x the variance of the mean, with the flat-top lag window of the same papers; 0 where all
    /// values are equal. May be below 0 where neighbours are opposed.
    double variance = 0;
};

/// The values are taken around their mean. At most 4 sqrt(n) passes over the series.
LongRun long_run_of(std::span<const double> series);

/// What circular blocks of `block` values would say of that variance.
double block_variance(std::span<const double> series, std::size_t block);

}  // namespace driftless
