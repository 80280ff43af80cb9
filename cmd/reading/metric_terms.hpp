/// PairedRows: the requests of all runs of a comparison, side by side by their keys. Points into
/// the runs, which must outlive it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cmd/reading/compare_groups.hpp"

namespace driftless {

/// Which unit each row belongs to. Units are numbered in the order of their first rows.
struct RowUnits {
    std::vector<std::uint32_t> unit_of;  ///< [rows]
    std::size_t count = 0;
};

/// Requests of one key are one row; rows stand in the order of their dues.
struct PairedRows {
    std::size_t rows = 0;
    std::size_t runs_a = 0;
    /// [runs, those of A first][rows]; null where the run lacks the key.
    std::vector<std::vector<const ComparedRequest*>> runs;
    std::vector<std::int64_t> durations_ns;  ///< [runs]
    RowUnits trees;                          ///< a unit is a tree, or a row without one

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

}  // namespace driftless
