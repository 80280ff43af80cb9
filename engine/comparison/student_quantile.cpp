#include "engine/comparison/student_quantile.hpp"

#include <cmath>

#include "engine/synth/normal_quantile.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

/// From here on t and the normal differ by less than 1e-9.
constexpr double normal_from = 1e9;
constexpr int halvings = 200;
constexpr int fractions_max = 10'000;
constexpr double fraction_exact = 1e-15;

/// Lentz's algorithm. It converges in about sqrt(max(a, b)) steps where x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
    constexpr double tiny = 1e-300;
    const auto off_zero = [](double value) { return std::fabs(value) < tiny ? tiny : value; };
    double c = 1;
    double d = 1 / off_zero(1 - (a + b) * x / (a + 1));
    double result = d;
    for (int i = 1; i < fractions_max; ++i) {
        const double even = i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i));
        d = 1 / off_zero(1 + even * d);
        c = off_zero(1 + even / c);
        result *= d * c;
        const double odd = -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1));
        d = 1 / off_zero(1 + odd * d);
        c = off_zero(1 + odd / c);
        result *= d * c;
        if (std::fabs(d * c - 1) < fraction_exact) {
            break;
        }
    }
    return result;
}

/// The regularized incomplete beta function I_x(a, b), of x and 1 - x: neither is rounded to 1.
double incomplete_beta(double a, double b, double x, double other) {
    const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                  a * std::log(x) + b * std::log(other));
    if (x < (a + 1) / (a + b + 2)) {
        return front * beta_fraction(a, b, x) / a;
    }
    return 1 - front * beta_fraction(b, a, other) / b;
}

/// P(t > x), x > 0.
double upper_tail(double x, double freedom) {
    const double sum = freedom + x * x;
    return 0.5 * incomplete_beta(freedom / 2, 0.5, freedom / sum, x * x / sum);
}

}  // namespace

double student_quantile(double p, double freedom) {
    CHECK(p > 0 && p < 1 && freedom >= 1);
    if (p == 0.5 || freedom >= normal_from) {
        return normal_quantile(p);
    }
    const double tail = p < 0.5 ? p : 1 - p;
    double high = 1;
    while (upper_tail(high, freedom) > tail) {  // ends: the tail falls at least as 1 / x
        high *= 2;
    }
    double low = high == 1 ? 0 : high / 2;
    for (int i = 0; i < halvings && low < high; ++i) {
        const double middle = (low + high) / 2;
        if (middle == low || middle == high) {
            break;
        }
        (upper_tail(middle, freedom) > tail ? low : high) = middle;
    }
    return p < 0.5 ? -high : high;
}

}  // namespace driftless
