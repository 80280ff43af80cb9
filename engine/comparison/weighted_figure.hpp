/// WeightedFigure: a metric of one run when each unit counts so many times; and how far each row
/// moves it. Owns 16 bytes a row. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/comparison/metric_terms.hpp"

namespace driftless {

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
