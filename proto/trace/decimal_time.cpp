#include "proto/trace/decimal_time.hpp"

#include <algorithm>

#include "proto/core/decimal.hpp"
#include "proto/trace/iso_time.hpp"

namespace driftless {
namespace {

struct UnitName {
    TimeUnit unit;
    const char* name;
    std::int32_t power;  ///< a unit is 10^power ns
};

constexpr UnitName units[] = {{TimeUnit::s, "s", 9},     {TimeUnit::ms, "ms", 6},
                              {TimeUnit::us, "us", 3},   {TimeUnit::ns, "ns", 0},
                              {TimeUnit::iso, "iso", 0}, {TimeUnit::automatic, "auto", 0}};

const UnitName& row_of(TimeUnit unit) {
    return units[static_cast<std::size_t>(unit)];
}

/// Whole numbers of nine digits at most, as most times are: they cannot overflow.
std::optional<std::int64_t> parse_plain(std::string_view text, std::int32_t power) {
    constexpr std::int64_t ns_of_power[] = {1, 0, 0, 1'000, 0, 0, 1'000'000, 0, 0, 1'000'000'000};
    std::int64_t value = 0;
    for (const char c : text) {
        if (c < '0' || c > '9') {
            return std::nullopt;
        }
        value = value * 10 + (c - '0');
        if (value >= 1'000'000'000) {
            return std::nullopt;
        }
    }
    return text.empty() ? std::nullopt : std::optional(value * ns_of_power[power]);
}

}  // namespace

const char* name_of(TimeUnit unit) {
    return row_of(unit).name;
}

std::optional<TimeUnit> time_unit_from_name(std::string_view name) {
    for (const UnitName& one : units) {
        if (name == one.name) {
            return one.unit;
        }
    }
    return std::nullopt;
}

Result<std::int64_t> parse_time(std::string_view text, TimeUnit unit) {
    CHECK(unit != TimeUnit::automatic);
    if (unit == TimeUnit::iso) {
        return parse_iso_time(text);
    }
    if (const auto plain = parse_plain(text, row_of(unit).power)) {
        return *plain;
    }
    const std::optional<Decimal> decimal = scan_decimal(text);
    if (!decimal) {
        return Error{ErrorCode::invalid, 0, "read a time"};
    }
    if (decimal->negative && !decimal->zero()) {
        return Error{ErrorCode::out_of_range, 0, "read a time, not negative"};
    }
    const Result<Scaled> scaled = scale(*decimal, row_of(unit).power);
    if (!scaled || scaled.value().value > static_cast<std::uint64_t>(time_max_ns)) {
        return Error{ErrorCode::out_of_range, 0, "read a time below 2^62 ns"};
    }
    return static_cast<std::int64_t>(scaled.value().value);
}

std::string time_text(std::int64_t ns, TimeUnit unit) {
    CHECK(ns >= 0 && unit != TimeUnit::iso && unit != TimeUnit::automatic);
    const auto places = static_cast<std::size_t>(row_of(unit).power);
    std::string digits = std::to_string(ns);
    digits.insert(0, places + 1 - std::min(digits.size(), places + 1), '0');
    std::string fraction = digits.substr(digits.size() - places);
    digits.resize(digits.size() - places);
    fraction.resize(fraction.find_last_not_of('0') + 1);
    return fraction.empty() ? digits : digits + "." + fraction;
}

std::optional<TimeUnit> guess_time_unit(std::string_view text) {
    const std::optional<Decimal> decimal = scan_decimal(text);
    if (!decimal) {
        return parse_iso_time(text) ? std::optional(TimeUnit::iso) : std::nullopt;
    }
    const Result<Scaled> whole = scale(*decimal, 0);
    if (!whole || decimal->negative) {
        return std::nullopt;
    }
    // A decade of magnitudes for each unit, a thousand apart: 1e9 s is 2001, 1e10 s is 2286.
    std::uint64_t least = 1'000'000'000;
    for (const TimeUnit unit : {TimeUnit::s, TimeUnit::ms, TimeUnit::us, TimeUnit::ns}) {
        if (whole.value().value >= least && whole.value().value / 10 < least) {
            return unit;
        }
        least *= 1000;
    }
    return std::nullopt;
}

}  // namespace driftless
