/// Flags of other replay tools that have no counterpart: those that may be ignored because they
/// change no request, and those that are refused because they would change the load; and those
/// that are one of ours with its value. Tables of static text; pure.
#pragma once

#include <string_view>

namespace driftless {

inline constexpr const char* recorded_schedule_reason =
    "requests always follow the recorded schedule, from its first row";

inline constexpr const char* no_saturation =
    "saturation is not detected; end a run with --stop-when \"ttft:p99 > 10s for 30s\"";

struct IgnoredFlag {
    std::string_view typed;
    bool has_value;
    const char* why;
};
/// nullptr: it is not ignored.
const IgnoredFlag* find_ignored_flag(std::string_view typed);

/// A flag without a value that is one of ours with a value.
struct RewrittenFlag {
    std::string_view typed;
    const char* flag;
    const char* value;
};
/// nullptr: it is no such flag.
const RewrittenFlag* find_rewritten_flag(std::string_view typed);

/// What to do instead; nullptr: it is not refused.
const char* why_refused_flag(std::string_view typed);

}  // namespace driftless
