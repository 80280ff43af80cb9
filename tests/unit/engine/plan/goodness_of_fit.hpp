/// The Kolmogorov-Smirnov test at 1 %, and the laws that it holds draws against: by formulas of
/// their own, without the code under test.
#pragma once

#include "tests/test.hpp"

namespace driftless {

/// The largest distance of the empirical distribution from `law`, by the square root of their
/// number: above 1.63 in 1 % of all cases (Kolmogorov's limit).
template <typename Law>
double distance_from(std::vector<double> draws, const Law& law) {
    std::sort(draws.begin(), draws.end());
    const auto count = static_cast<double>(draws.size());
    double most = 0;
    for (std::size_t i = 0; i < draws.size(); ++i) {
        const double expected = law(draws[i]);
        most = std::max({most, (static_cast<double>(i) + 1) / count - expected,
                         expected - static_cast<double>(i) / count});
    }
    return most * std::sqrt(count);
}
inline constexpr double fits_at_one_percent = 1.63;

inline double exponential_law(double x) {
    return 1 - std::exp(-x);
}

/// P(shape, x): the series (Abramowitz, Stegun 6.5.29).
inline double gamma_law(double shape, double x) {
    double term = 1 / shape;
    double sum = term;
    for (int n = 1; n < 10'000 && term > sum * 1e-15; ++n) {
        term *= x / (shape + n);
        sum += term;
    }
    return x <= 0 ? 0 : sum * std::exp(shape * std::log(x) - x - std::lgamma(shape));
}

}  // namespace driftless
