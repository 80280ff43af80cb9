#include "engine/views/value_list.hpp"

#include <algorithm>
#include <cmath>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

constexpr std::uint32_t whole = 1000;  ///< per mille

}  // namespace

void ValueList::close() {
    std::sort(values_.begin(), values_.end());
}

double ValueList::sum() const {
    double total = 0;
    for (const double value : values_) {
        total += value;
    }
    return total;
}

double ValueList::mean() const {
    return empty() ? 0 : sum() / static_cast<double>(count());
}

double ValueList::std() const {
    const double middle = mean();
    double squares = 0;
    for (const double value : values_) {
        squares += (value - middle) * (value - middle);
    }
    return empty() ? 0 : std::sqrt(squares / static_cast<double>(count()));
}

double ValueList::linear(std::uint32_t per_mille) const {
    CHECK(per_mille <= whole);
    if (empty()) {
        return 0;
    }
    const double place = static_cast<double>(per_mille) / whole * static_cast<double>(count() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, count() - 1);
    const double share = place - static_cast<double>(below);
    return values_[below] + (values_[above] - values_[below]) * share;
}

double ValueList::nearest_above(std::uint32_t per_mille) const {
    if (empty()) {
        return 0;
    }
    const std::size_t rank = (count() * per_mille + whole - 1) / whole;
    return values_[std::clamp<std::size_t>(rank, 1, count()) - 1];
}

bool ValueList::nearest_even(std::uint32_t per_mille, std::size_t more, double& out) const {
    const std::size_t all = count() + more;
    if (all == 0) {
        return false;
    }
    const std::size_t scaled = (all - 1) * per_mille;
    std::size_t place = scaled / whole;
    const std::size_t left = scaled % whole;
    if (left * 2 > whole || (left * 2 == whole && place % 2 == 1)) {
        ++place;
    }
    if (place >= count()) {
        return false;
    }
    out = values_[place];
    return true;
}

double ValueList::floor_rank(std::uint32_t per_mille) const {
    return empty() ? 0 : values_[std::min(count() * per_mille / whole, count() - 1)];
}

WeightedFigures weighted_figures(std::vector<WeightedValue> values, std::int64_t count) {
    WeightedFigures figures;
    std::sort(values.begin(), values.end());
    double total = 0;
    for (const auto& [value, weight] : values) {
        total += weight;
    }
    figures.count = count >= 0 ? count : std::llround(total);
    if (values.empty()) {
        figures.count = std::max<std::int64_t>(count, 0);
        return figures;
    }
    // Values of equal size are one; without any weight all have the same.
    constexpr double tiny = 1e-6;
    std::vector<WeightedValue> merged;
    for (const auto& [value, weight] : values) {
        const double counted = total <= tiny ? 1 : weight;
        if (!merged.empty() && merged.back().first == value) {
            merged.back().second += total <= tiny ? 0 : weight;
        } else if (counted > 0) {
            merged.emplace_back(value, counted);
        }
    }
    total = 0;
    for (const auto& [value, weight] : merged) {
        total += weight;
    }
    for (auto& [value, weight] : merged) {
        weight /= total;
        figures.mean += value * weight;
    }
    double heaviest = -1;
    double cumulated = 0;
    constexpr double shares[11] = {0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999};
    std::size_t next = 0;
    for (const auto& [value, weight] : merged) {
        figures.variance += (value - figures.mean) * (value - figures.mean) * weight;
        if (weight > heaviest) {
            heaviest = weight;
            figures.mode = value;
        }
        cumulated += weight;
        for (; next < 11 && cumulated >= shares[next]; ++next) {
            figures.percentiles[next] = value;
        }
    }
    for (; next < 11; ++next) {  // what rounding has left over
        figures.percentiles[next] = merged.back().first;
    }
    figures.std_dev = std::sqrt(figures.variance);
    figures.median = figures.percentiles[5];
    figures.min = merged.front().first;
    figures.max = merged.back().first;
    figures.total_sum = figures.mean * static_cast<double>(figures.count);
    return figures;
}

}  // namespace driftless
