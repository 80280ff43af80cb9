/// Flags of other replay tools that have no counterpart: those that may be ignored because they
/// change no request, and those that are refused because they would change the load. Tables of
/// static text; pure.
#pragma once

#include <string_view>

namespace driftless {

inline constexpr const char* recorded_schedule_reason =
    "requests always follow the recorded schedule, from its first row";

struct IgnoredFlag {
    std::string_view typed;
    bool has_value;
    const char* why;
};
/// nullptr: it is not ignored.
const IgnoredFlag* find_ignored_flag(std::string_view typed);

/// What to do instead; nullptr: it is not refused.
const char* why_refused_flag(std::string_view typed);

}  // namespace driftless
