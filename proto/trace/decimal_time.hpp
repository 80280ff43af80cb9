/// Times of a trace: decimal text straight to nanoseconds.
///
/// Never through a double: an epoch in nanoseconds needs 61 bits, and a peer that read times as
/// single floats sent requests 128 ms off (trace-formats 12.4). Digits below a nanosecond are cut.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "proto/core/result.hpp"

namespace driftless {

enum class TimeUnit : std::uint8_t { s, ms, us, ns };

/// As `--time-unit` spells them.
const char* name_of(TimeUnit unit);
std::optional<TimeUnit> time_unit_from_name(std::string_view name);

/// Latest time that is read: 2^62 ns, the year 2116 of an epoch. Sums of two of them fit.
inline constexpr std::int64_t time_max_ns = std::int64_t{1} << 62;

/// Reads an unsigned decimal in that unit. Errors: invalid (no decimal number), out_of_range
/// (negative, or beyond `time_max_ns`).
Result<std::int64_t> parse_time(std::string_view text, TimeUnit unit);

}  // namespace driftless
