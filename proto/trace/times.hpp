/// Times of a trace: text straight to nanoseconds, decimals in a unit or ISO-8601 wall clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proto/core/errors.hpp"
#include "proto/core/names.hpp"

namespace driftless {

// ISO-8601 wall clock to nanoseconds since 1970, as traces of gateways and clouds write it.
//
// Read are `2023-11-16 18:17:03.9799600`, `2024-05-12T00:00:00Z` and all between: `T` or a blank,
// any number of fraction digits (those below a nanosecond are cut), `Z`, `+hh:mm`, `+hhmm`, `+hh`,
// or no zone, which means UTC. Pure; it knows no time zones by name and no leap seconds.

/// Errors: invalid (no such text), out_of_range (before 1970 or after 2115).
Result<std::int64_t> parse_iso_time(std::string_view text);

// Times never pass through a double: an epoch in nanoseconds needs 61 bits, and another tool that
// read times as single-precision floats sent requests 128 ms off (trace-formats 12.4). Digits below
// a nanosecond are cut.

/// `automatic` is a choice that has not been made; it never reads a time.
enum class TimeUnit : std::uint8_t { s, ms, us, ns, iso, automatic };
/// As `--time-unit` spells them.
template <>
inline constexpr auto closed_list<TimeUnit> = name_list("s", "ms", "us", "ns", "iso", "auto");
/// All of them, with commas.
std::string time_unit_names();

/// Latest time that is read: 2^62 ns, the year 2116 of an epoch.
inline constexpr std::int64_t time_max_ns = std::int64_t{1} << 62;

/// A time that much later, at most `time_max_ns`; both are within [0, time_max_ns].
constexpr std::int64_t later(std::int64_t at_ns, std::int64_t gap_ns) {
    return at_ns > time_max_ns - gap_ns ? time_max_ns : at_ns + gap_ns;
}

/// Reads an unsigned decimal in that unit, or a wall clock under `iso`: ns since 1970. Errors:
/// invalid (no such text), out_of_range (negative, before 1970, or beyond `time_max_ns`).
Result<std::int64_t> parse_time(std::string_view text, TimeUnit unit);

/// A time or length of time as a decimal in that unit, which is not iso: as short as it reads back
/// to the same nanosecond. Not negative.
std::string time_text(std::int64_t ns, TimeUnit unit);

/// The unit that a time shows by itself: iso by its shape, else a unit of the epoch by magnitude
/// (the years 2001 to 2286). Nothing for relative times: those can be in any unit.
std::optional<TimeUnit> guess_time_unit(std::string_view text);

}  // namespace driftless
