#include "engine/comparison/weighted_figure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/stats/distribution.hpp"

namespace driftless {

namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint32_t all_per_mille = 1000;

/// Four sums side by side: one alone waits for each of its additions.
double weighted_sum(std::span<const std::uint32_t> weights, const std::vector<double>& values) {
    constexpr std::size_t lanes = 4;
    std::array<double, lanes> sums{};
    const std::size_t whole = weights.size() / lanes * lanes;
    for (std::size_t unit = 0; unit < whole; unit += lanes) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            const auto weight = static_cast<std::int32_t>(weights[unit + lane]);
            sums[lane] += static_cast<double>(weight) * values[unit + lane];
        }
    }
    for (std::size_t unit = whole; unit < weights.size(); ++unit) {
        sums[0] += static_cast<double>(weights[unit]) * values[unit];
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

WeightedFigure::WeightedFigure(const MetricTerms& terms, std::size_t run)
    : per_mille_(terms.metric.figure == ComparedFigure::value_percentile ? terms.metric.per_mille
                                                                         : 0),
      tops_(terms.units.count, 0),
      bottoms_(terms.units.count, 0) {
    const std::vector<RowTerm>& rows = terms.runs[run];
    const std::vector<std::uint32_t>& unit_of = terms.units.unit_of;
    for (std::size_t row = 0; row < rows.size(); ++row) {
        tops_[unit_of[row]] += rows[row].top;
        bottoms_[unit_of[row]] += rows[row].bottom;
    }
    if (per_mille_ > 0) {
        std::vector<std::uint32_t> order;
        for (std::uint32_t row = 0; row < rows.size(); ++row) {
            if (rows[row].bottom > 0) {
                order.push_back(row);
            }
        }
        std::sort(order.begin(), order.end(),
                  [&](std::uint32_t a, std::uint32_t b) { return rows[a].top < rows[b].top; });
        for (const std::uint32_t row : order) {
            sorted_.push_back(rows[row].top);
            unit_at_.push_back(unit_of[row]);
        }
    }
    const bool has_equal = std::all_of(bottoms_.begin(), bottoms_.end(),
                                       [&](double bottom) { return bottom == bottoms_.front(); });
    equal_bottom_ = has_equal && !bottoms_.empty() ? bottoms_.front() : 0;
    value_ = at(std::vector<std::uint32_t>(terms.units.count, 1));
}

double WeightedFigure::at(std::span<const std::uint32_t> weights) const {
    return per_mille_ > 0 ? percentile_at(weights) : sums_at(weights);
}

double WeightedFigure::bottom_at(std::span<const std::uint32_t> weights) const {
    if (equal_bottom_ > 0) {  // each draw has as many units as there are
        return equal_bottom_ * static_cast<double>(weights.size());
    }
    return weighted_sum(weights, bottoms_);
}

double WeightedFigure::sums_at(std::span<const std::uint32_t> weights) const {
    const double bottom = bottom_at(weights);
    return bottom > 0 ? weighted_sum(weights, tops_) / bottom : nothing;
}

/// Nearest rank, as in engine/stats/distribution.hpp; counted from the nearer end.
double WeightedFigure::percentile_at(std::span<const std::uint32_t> weights) const {
    const auto count = static_cast<std::uint64_t>(bottom_at(weights));
    if (count == 0) {
        return nothing;
    }
    const std::uint64_t rank = nearest_rank(count, per_mille_);
    if (per_mille_ < all_per_mille / 2) {
        std::uint64_t below = 0;
        for (std::size_t i = 0; i < sorted_.size(); ++i) {
            below += weights[unit_at_[i]];
            if (below >= rank) {
                return sorted_[i];
            }
        }
    }
    std::uint64_t up_to = count;
    for (std::size_t i = sorted_.size(); i-- > 0;) {
        const std::uint32_t weight = weights[unit_at_[i]];
        if (weight > 0 && up_to - weight < rank) {
            return sorted_[i];
        }
        up_to -= weight;
    }
    return nothing;
}

/// How far the percentile moves per share of values: 1 / density. Over the bandwidth of Hall and
/// Sheather's order, n^(-1/3), as far as the nearer end allows.
double WeightedFigure::spacing() const {
    const auto count = static_cast<double>(sorted_.size());
    const double p = per_mille_ / static_cast<double>(all_per_mille);
    const double half =
        std::min(std::max(0.5 * std::cbrt(1 / count), 0.02), 0.5 * std::min(p, 1 - p));
    const auto value_at = [&](double share) {
        const double rank = std::clamp(std::ceil(share * count), 1.0, count);
        return sorted_[static_cast<std::size_t>(rank) - 1];
    };
    return (value_at(p + half) - value_at(p - half)) / (2 * half);
}

std::vector<double> WeightedFigure::influence(const MetricTerms& terms, std::size_t run) const {
    const std::vector<RowTerm>& rows = terms.runs[run];
    std::vector<double> moves(rows.size(), 0);
    const double total = std::accumulate(bottoms_.begin(), bottoms_.end(), 0.0);
    if (total <= 0) {
        return moves;
    }
    const double p = per_mille_ / static_cast<double>(all_per_mille);
    const double step = per_mille_ > 0 ? spacing() : 0;
    for (std::size_t row = 0; row < rows.size(); ++row) {
        const RowTerm& term = rows[row];
        if (per_mille_ == 0) {
            moves[row] = (term.top - value_ * term.bottom) / total;
        } else if (term.bottom > 0) {
            moves[row] = (p - (term.top <= value_ ? 1.0 : 0.0)) * step / total;
        }
    }
    return moves;
}

}  // namespace driftless
