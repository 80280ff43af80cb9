/// Counts and shares as people read them: "1 row", "2 rows", "12.5 %". Pure.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace driftless {

/// "1 row", "2 rows".
inline std::string counted(std::uint64_t count, const char* one, const char* many) {
    return std::to_string(count) + " " + (count == 1 ? one : many);
}

/// A share of 1 with one digit behind the point: "12.5 %".
inline std::string percent_text(double share) {
    char text[32];
    (void)std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
    return text;
}

}  // namespace driftless
