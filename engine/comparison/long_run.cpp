#include "engine/comparison/long_run.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace driftless {

namespace {

/// A correlation counts where it is above this many deviations of what independent values show.
constexpr double significant = 2;
/// So many lags in a row without one end the dependence.
constexpr std::size_t quiet_lags_min = 5;
constexpr double memory_max = 0.97;
/// A variance below this part of that of all values is of rounding.
constexpr double rounding_most = 1e-20;
/// Fewer values than these show no correlation that is worth its name.
constexpr std::size_t folded_min = 64;

/// Around their mean; of equal values exactly 0.
std::vector<double> centred(std::span<const double> series) {
    std::vector<double> values(series.begin(), series.end());
    double mean = 0;
    for (double& value : values) {
        value -= series.front();
        mean += value / static_cast<double>(series.size());
    }
    for (double& value : values) {
        value -= mean;
    }
    return values;
}

/// Autocovariances of a centred series, each computed when it is first asked for.
class Covariances {
  public:
    explicit Covariances(const std::vector<double>& values) : values_(values) {}

    /// Lags in ascending order, each at most one above the greatest so far.
    double at(std::size_t lag) {
        while (known_.size() <= lag) {
            const std::size_t next = known_.size();
            double sum = 0;
            for (std::size_t i = 0; i + next < values_.size(); ++i) {
                sum += values_[i] * values_[i + next];
            }
            known_.push_back(sum / static_cast<double>(values_.size()));
        }
        return known_[lag];
    }

  private:
    const std::vector<double>& values_;
    std::vector<double> known_;
};

/// The greatest significant lag before the first `quiet` ones in a row that are not.
struct LastLag {
    std::size_t lag = 0;
    bool is_end = true;  ///< false: lags were significant as far as was looked
};

LastLag last_lag(Covariances& covariances, std::size_t n, std::size_t quiet) {
    const auto count = static_cast<double>(n);
    const double bound = significant * std::sqrt(std::log10(count) / count) * covariances.at(0);
    const auto lags_max = static_cast<std::size_t>(std::ceil(std::sqrt(count))) + quiet;
    LastLag last;
    for (std::size_t lag = 1; lag < std::min(lags_max, n); ++lag) {
        if (std::fabs(covariances.at(lag)) >= bound) {
            last.lag = lag;
        } else if (lag - last.lag >= quiet) {
            return last;
        }
    }
    last.is_end = last.lag == 0;
    return last;
}

/// By prewhitening (Andrews and Monahan 1992): the variance of what a first-order autoregression
/// leaves, with its neighbours, times what the autoregression makes of it.
double whitened_variance(const std::vector<double>& values) {
    Covariances covariances(values);
    const auto count = static_cast<double>(values.size());
    const double variance = covariances.at(0);
    const double raw = covariances.at(1) / variance;
    // Kendall's correction of its bias; near 1 the variance has no bound.
    const double memory = std::clamp(raw + (1 + 3 * raw) / count, -memory_max, memory_max);
    std::vector<double> fresh;
    for (std::size_t i = 1; i < values.size(); ++i) {
        fresh.push_back(values[i] - memory * values[i - 1]);
    }
    Covariances left(fresh);
    const double base = left.at(0);
    return (base + 2 * left.at(1)) / ((1 - memory) * (1 - memory));
}

/// Of a series of which each value is `fold` of the series asked for.
LongRun long_run_at(Covariances& covariances, const std::vector<double>& values,
                    std::size_t last_significant, double fold) {
    const std::size_t n = values.size();
    const auto count = static_cast<double>(n);
    const std::size_t window = std::min(2 * std::max<std::size_t>(last_significant, 1), n - 1);
    double sum = covariances.at(0);
    double slope = 0;
    for (std::size_t lag = 1; lag <= window; ++lag) {
        const double at = static_cast<double>(lag) / static_cast<double>(window);
        const double weight = at <= 0.5 ? 1 : 2 * (1 - at);
        sum += 2 * weight * covariances.at(lag);
        slope += 2 * weight * static_cast<double>(lag) * covariances.at(lag);
    }
    LongRun found;
    found.variance = std::max(sum, last_significant > 0 ? whitened_variance(values) : 0) / fold;
    if (last_significant == 0) {
        return found;
    }
    const double most = std::ceil(std::min(3 * std::sqrt(count), count / 3));
    // The optimum: (2 G^2 / D)^(1/3) n^(1/3) with D = 4/3 g(0)^2.
    const double block = sum == 0 ? most : std::cbrt(1.5 * (slope / sum) * (slope / sum) * count);
    found.block = fold * std::clamp(block, 1.0, most);
    found.reach = sum > covariances.at(0) ? fold * std::max(block, 1.0) : 1;
    return found;
}

void fold_in_pairs(std::vector<double>& values) {
    const std::size_t half = values.size() / 2;
    for (std::size_t i = 0; i < half; ++i) {
        values[i] = values[2 * i] + values[2 * i + 1];
    }
    values.resize(half);
}

}  // namespace

LongRun long_run_of(std::span<const double> series) {
    std::vector<double> values = centred(series);
    LongRun found;
    double whole = 0;
    // Each folding makes of two neighbours one, so that dependence of any length is seen to end.
    for (double fold = 1;; fold *= 2) {
        Covariances covariances(values);
        const std::size_t n = values.size();
        whole = fold == 1 && n > 0 ? covariances.at(0) : whole;
        // Of neighbours that are opposed folding leaves rounding.
        if (n < 4 || covariances.at(0) <= rounding_most * whole) {
            found.variance = n == 0 ? 0 : std::max(covariances.at(0), 0.0) / fold;
            return found;
        }
        const auto count = static_cast<double>(n);
        const auto quiet = std::max<std::size_t>(
            quiet_lags_min, static_cast<std::size_t>(std::ceil(std::sqrt(std::log10(count)))));
        const LastLag last = last_lag(covariances, n, quiet);
        if (last.is_end || n < 2 * folded_min) {
            return long_run_at(covariances, values, last.lag, fold);
        }
        fold_in_pairs(values);
    }
}

double block_variance(std::span<const double> series, std::size_t block) {
    const std::size_t n = series.size();
    if (n == 0 || block == 0 || block > n) {
        return 0;
    }
    const std::vector<double> values = centred(series);
    double inside = 0;
    for (std::size_t i = 0; i < block; ++i) {
        inside += values[i];
    }
    double squares = 0;
    for (std::size_t i = 0; i < n; ++i) {
        squares += inside * inside;
        inside += values[(i + block) % n] - values[i];
    }
    return squares / (static_cast<double>(block) * static_cast<double>(n));
}

}  // namespace driftless
