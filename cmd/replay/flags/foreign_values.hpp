/// Numbers of other tools, turned into ours: exact, without binary fractions in between. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace driftless {

inline constexpr const char* no_inverse =
    "cannot be converted to a speed; use --speed X, where 2 is twice as fast";

/// A member of a setting that is written "kind=constant,rate=10" or as a JSON object. Members of
/// inner objects have dots in their names ("extras.body.top_p").
struct ConfigPart {
    std::string key;
    std::string value;  ///< text without quotes; else as JSON writes it
};
std::vector<ConfigPart> config_parts(std::string_view text);
/// The value of a member; empty: it is not there.
std::string config_value(std::string_view text, std::string_view key);

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
