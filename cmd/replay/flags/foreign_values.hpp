/// Numbers of other tools, turned into ours: exact, without binary fractions in between. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace driftless {

inline constexpr const char* no_inverse =
    "cannot be converted to a speed; use --speed X, where 2 is twice as fast";

/// A decimal in units of 10^-9; 0 where it is none, negative, or has more digits.
std::uint64_t nano_of(std::string_view text);

/// The speed that plays a trace `nano` / 10^9 times as long, as a decimal; empty where none is
/// exact.
std::string inverse_text(std::uint64_t nano);

/// Seconds as milliseconds; the text itself where it is no decimal.
std::string milliseconds_text(std::string_view seconds);

/// Milliseconds for each of so many a second, cut to nanoseconds; the text itself where it is no
/// positive decimal.
std::string interval_text(std::string_view per_second);

}  // namespace driftless
