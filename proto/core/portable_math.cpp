#include "proto/core/portable_math.hpp"

#include <cmath>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

// ln 2 as a sum: the first part has 21 zero bits at its end, so that its small multiples are exact.
constexpr double ln2_high = 0x1.62e42feep-1;
constexpr double ln2_low = 0x1.a39ef35793c76p-33;
constexpr double root_half = 0x1.6a09e667f3bcdp-1;

}  // namespace

// ln m = 2 (z + z^3/3 + z^5/5 + ..) with z = (m-1)/(m+1), for m from sqrt(1/2) to sqrt(2): there
// z^2 is below 0.0295, and the term of z^25 below 2^-67.
double portable_log(double x) {
    CHECK(x > 0 && std::isfinite(x));
    int exponent = 0;
    double m = std::frexp(x, &exponent);
    if (m < root_half) {
        m *= 2;
        --exponent;
    }
    const double z = (m - 1) / (m + 1);
    const double square = z * z;
    double sum = 0;
    for (int k = 23; k >= 3; k -= 2) {
        sum = (sum + 1.0 / k) * square;
    }
    const double small = 2 * z * sum + exponent * ln2_low;
    return exponent * ln2_high + (2 * z + small);
}

// e^x = 2^k e^r with r at most ln(2)/2; the term of r^15 is below 2^-63.
double portable_exp(double x) {
    CHECK(x <= 700);
    if (!(x >= -700)) {
        return 0;
    }
    const double k = std::floor(x / (ln2_high + ln2_low) + 0.5);
    const double r = (x - k * ln2_high) - k * ln2_low;
    double sum = 1;
    for (int n = 15; n >= 1; --n) {
        sum = 1 + sum * r / n;
    }
    return std::ldexp(sum, static_cast<int>(k));
}

}  // namespace driftless
