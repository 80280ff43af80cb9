/// Decimal: a number exactly as its text says it. Times, speeds and ids never pass through a
/// double.
///
/// A Decimal is a view into the text it was scanned from. Scaling is exact integer arithmetic; what
/// does not fit is an error, never a wrap.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "proto/core/result.hpp"

namespace driftless {

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

}  // namespace driftless
