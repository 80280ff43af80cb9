#include "proto/core/numbers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "proto/core/errors.hpp"
#include "proto/core/text.hpp"

namespace driftless {

static bool take(std::string_view& text, char c) {
    const bool there = !text.empty() && text.front() == c;
    text.remove_prefix(there ? 1 : 0);
    return there;
}

static bool take_sign(std::string_view& text) {
    const bool negative = take(text, '-');
    if (!negative) {
        (void)take(text, '+');
    }
    return negative;
}

static bool all_zero(std::string_view digits) {
    return digits.find_first_not_of('0') == std::string_view::npos;
}

bool Decimal::zero() const {
    return all_zero(whole) && all_zero(fraction);
}

std::optional<Decimal> scan_decimal(std::string_view text) {
    Decimal decimal;
    decimal.negative = take_sign(text);
    decimal.whole = take_digits(text);
    if (take(text, '.')) {
        decimal.fraction = take_digits(text);
    }
    if (decimal.whole.empty() && decimal.fraction.empty()) {
        return std::nullopt;
    }
    if (take(text, 'e') || take(text, 'E')) {
        const bool negative = take_sign(text);
        const std::string_view digits = take_digits(text);
        if (digits.empty()) {
            return std::nullopt;
        }
        for (const char digit : digits) {
            decimal.exponent =
                std::min(decimal.exponent * 10 + (digit - '0'), decimal_exponent_max);
        }
        decimal.exponent = negative ? -decimal.exponent : decimal.exponent;
    }
    if (!text.empty()) {
        return std::nullopt;
    }
    return decimal;
}

Result<Scaled> scale(const Decimal& decimal, std::int32_t power) {
    Scaled scaled;
    if (decimal.zero()) {
        return scaled;
    }
    // `point`: how many of the digits, zeros appended as needed, are before the point now. After
    // the first digit that is not 0, twenty more leave the range; so the loop ends soon.
    const auto count = static_cast<std::int64_t>(decimal.whole.size() + decimal.fraction.size());
    const auto digit_at = [&](std::int64_t i) {
        const auto index = static_cast<std::size_t>(i);
        const std::size_t whole = decimal.whole.size();
        return static_cast<std::uint64_t>(
            (index < whole ? decimal.whole[index] : decimal.fraction[index - whole]) - '0');
    };
    const std::int64_t point =
        static_cast<std::int64_t>(decimal.whole.size()) + decimal.exponent + power;
    std::int64_t i = 0;
    for (; i < point; ++i) {
        const std::uint64_t digit = i < count ? digit_at(i) : 0;
        if (__builtin_mul_overflow(scaled.value, std::uint64_t{10}, &scaled.value) ||
            __builtin_add_overflow(scaled.value, digit, &scaled.value)) {
            return Error{ErrorCode::out_of_range, 0, "read a number"};
        }
    }
    for (; i < count && scaled.exact; ++i) {
        scaled.exact = digit_at(i) == 0;
    }
    return scaled;
}

Result<std::uint64_t> parse_whole(std::string_view text) {
    const std::optional<Decimal> decimal = scan_decimal(text);
    if (!decimal) {
        return Error{ErrorCode::invalid, 0, "read a number"};
    }
    if (decimal->negative && !decimal->zero()) {
        return Error{ErrorCode::out_of_range, 0, "read a number"};
    }
    const Result<Scaled> scaled = scale(*decimal, 0);
    if (!scaled) {
        return scaled.error();
    }
    if (!scaled.value().exact) {
        return Error{ErrorCode::invalid, 0, "read a whole number"};
    }
    return scaled.value().value;
}

// ln 2 as a sum: the first part has 21 zero bits at its end, so that its small multiples are exact.
static constexpr double ln2_high = 0x1.62e42feep-1;
static constexpr double ln2_low = 0x1.a39ef35793c76p-33;
static constexpr double root_half = 0x1.6a09e667f3bcdp-1;

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

template <std::size_t N>
static double polynomial(const std::array<double, N>& coefficients, double x) {
    double sum = 0;
    for (std::size_t i = N; i > 0; --i) {
        sum = sum * x + coefficients[i - 1];
    }
    return sum;
}

// AS 241: near the middle, in the tails, and in the far tails.
static constexpr std::array<double, 8> a{3.3871328727963666080e0,  1.3314166789178437745e+2,
                                         1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                         4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                         3.3430575583588128105e+4, 2.5090809287301226727e+3};
static constexpr std::array<double, 8> b{1.0,
                                         4.2313330701600911252e+1,
                                         6.8718700749205790830e+2,
                                         5.3941960214247511077e+3,
                                         2.1213794301586595867e+4,
                                         3.9307895800092710610e+4,
                                         2.8729085735721942674e+4,
                                         5.2264952788528545610e+3};
static constexpr std::array<double, 8> c{1.42343711074968357734e0,  4.63033784615654529590e0,
                                         5.76949722146069140550e0,  3.64784832476320460504e0,
                                         1.27045825245236838258e0,  2.41780725177450611770e-1,
                                         2.27238449892691845833e-2, 7.74545014278341407640e-4};
static constexpr std::array<double, 8> d{1.0,
                                         2.05319162663775882187e0,
                                         1.67638483018380384940e0,
                                         6.89767334985100004550e-1,
                                         1.48103976427480074590e-1,
                                         1.51986665636164571966e-2,
                                         5.47593808499534494600e-4,
                                         1.05075007164441684324e-9};
static constexpr std::array<double, 8> e{6.65790464350110377720e0,  5.46378491116411436990e0,
                                         1.78482653991729133580e0,  2.96560571828504891230e-1,
                                         2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                         2.71155556874348757815e-5, 2.01033439929228813265e-7};
static constexpr std::array<double, 8> f{1.0,
                                         5.99832206555887937690e-1,
                                         1.36929880922735805310e-1,
                                         1.48753612908506148525e-2,
                                         7.86869131145613259100e-4,
                                         1.84631831751005468180e-5,
                                         1.42151175831644588870e-7,
                                         2.04426310338993978564e-15};

double normal_quantile(double p) {
    CHECK(p > 0 && p < 1);
    const double q = p - 0.5;
    if (std::fabs(q) <= 0.425) {
        const double r = 0.180625 - q * q;
        return q * polynomial(a, r) / polynomial(b, r);
    }
    const double r = std::sqrt(-portable_log(q < 0 ? p : 1 - p));
    const double x = r <= 5 ? polynomial(c, r - 1.6) / polynomial(d, r - 1.6)
                            : polynomial(e, r - 5) / polynomial(f, r - 5);
    return q < 0 ? -x : x;
}

}  // namespace driftless
