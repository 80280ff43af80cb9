/// ValueList: many numbers, and what the tools of the field make of them. The tools know four kinds
/// of percentile, which differ on small samples; none is ours (distribution.hpp). Owns its numbers:
/// 8 bytes each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace driftless {

class ValueList {
  public:
    void add(double value) { values_.push_back(value); }
    std::size_t count() const { return values_.size(); }
    bool empty() const { return values_.empty(); }
    /// Before the first percentile. Sorts.
    void close();
    const std::vector<double>& values() const { return values_; }

    // 0 where there is no value. `per_mille` is of 1,000: 999 is p99.9.
    double mean() const;
    double sum() const;
    double std() const;  ///< the population's
    double min() const { return empty() ? 0 : values_.front(); }
    double max() const { return empty() ? 0 : values_.back(); }
    /// Between neighbours, linear: numpy's default.
    double linear(std::uint32_t per_mille) const;
    /// The smallest value with at least the share at or below it.
    double nearest_above(std::uint32_t per_mille) const;
    /// The neighbour that is nearer, of equal ones the even one: numpy's `nearest`. `more` values
    /// that are infinite stand behind all; nothing is said where the answer is one of them.
    bool nearest_even(std::uint32_t per_mille, std::size_t more, double& out) const;
    /// Value number floor(count x share), from 0: LoadGen's.
    double floor_rank(std::uint32_t per_mille) const;

  private:
    std::vector<double> values_;
};

/// Values that count for as much as their weights: GuideLLM's distributions.
struct WeightedFigures {
    double mean = 0;
    double median = 0;
    double mode = 0;
    double variance = 0;
    double std_dev = 0;
    double min = 0;
    double max = 0;
    std::int64_t count = 0;
    double total_sum = 0;
    /// p0.1, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9
    double percentiles[11] = {};
};
using WeightedValue = std::pair<double, double>;  ///< value, weight

/// `count` below 0: the sum of the weights, rounded.
WeightedFigures weighted_figures(std::vector<WeightedValue> values, std::int64_t count = -1);

}  // namespace driftless
