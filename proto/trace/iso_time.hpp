/// ISO-8601 wall clock to nanoseconds since 1970, as traces of gateways and clouds write it.
///
/// Read are `2023-11-16 18:17:03.9799600`, `2024-05-12T00:00:00Z` and all between: `T` or a blank,
/// any number of fraction digits (those below a nanosecond are cut), `Z`, `+hh:mm`, `+hhmm`, `+hh`,
/// or no zone, which means UTC. Pure; it knows no time zones by name and no leap seconds.
#pragma once

#include <cstdint>
#include <string_view>

#include "proto/core/result.hpp"

namespace driftless {

/// Errors: invalid (no such text), out_of_range (before 1970 or after 2115).
Result<std::int64_t> parse_iso_time(std::string_view text);

}  // namespace driftless
