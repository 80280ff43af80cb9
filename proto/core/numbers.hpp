/// Numbers that are the same on every machine: a decimal exactly as its text says it; logarithm,
/// exponential and the normal quantile to the last bit.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "proto/core/errors.hpp"

namespace driftless {

// Decimal: a number exactly as its text says it. Times, speeds and ids never pass through a
// double.
//
// A Decimal is a view into the text it was scanned from. Scaling is exact integer arithmetic; what
// does not fit is an error, never a wrap.

/// +-`whole`.`fraction` x 10^`exponent`. At least one of the digit strings is not empty.
struct Decimal {
    bool negative = false;
    std::string_view whole;
    std::string_view fraction;
    std::int32_t exponent = 0;  ///< held within +-`decimal_exponent_max`

    /// All digits are 0.
    bool zero() const;
};

/// Exponents beyond this are far outside any range that is asked for; they are cut to it.
inline constexpr std::int32_t decimal_exponent_max = 100'000;

/// Reads the whole text: an optional sign, digits with an optional point, an optional exponent.
/// Nothing for all else ("", ".", "1e", "NaN", "0x1", blanks).
std::optional<Decimal> scan_decimal(std::string_view text);

struct Scaled {
    std::uint64_t value = 0;
    bool exact = true;  ///< no digit other than 0 was cut off
};

/// floor(|decimal| x 10^power). Error: out_of_range, where that is not below 2^64.
Result<Scaled> scale(const Decimal& decimal, std::int32_t power);

/// The whole number that the text says ("512", "512.0", "5.12e2"). Errors: invalid (no number, or
/// a fraction), out_of_range (negative, or not below 2^64).
Result<std::uint64_t> parse_whole(std::string_view text);

// Logarithm and exponential that give the same bits on every machine: those of the C library
// differ in the last bit between versions, and a schedule must not. Only sums, products, quotients
// and exact scaling are used, which IEEE 754 fixes; the build forbids fused ones
// (-ffp-contract=off). Errors are below 4 units in the last place (core_test.cpp).

/// The natural logarithm. `x` is finite and above 0.
double portable_log(double x);

/// e^x. 0 below -700, which is less than anything that is asked for; `x` is at most 700.
double portable_exp(double x);

// The normal quantile, of operations that IEEE 754 rounds alike everywhere (numbers.hpp), so
// that a seed gives the same trace on every machine. Pure.

/// The x with P(normal <= x) = p, 0 < p < 1. Source: Wichura, algorithm AS 241 (PPND16), Applied
/// Statistics 37 (1988); its relative error is about 1e-16.
double normal_quantile(double p);

}  // namespace driftless
