#include "proto/trace/times.hpp"

#include <algorithm>
#include <optional>

#include "proto/core/numbers.hpp"
#include "proto/core/text.hpp"

namespace driftless {

static constexpr std::int64_t ns_per_s = 1'000'000'000;

namespace {

/// Takes parts off the front of a text.
struct Cursor {
    std::string_view text;

    bool take(char wanted) {
        if (text.empty() || text.front() != wanted) {
            return false;
        }
        text.remove_prefix(1);
        return true;
    }
    bool at_digit() const { return !text.empty() && is_digit(text.front()); }
    /// Exactly `count` digits.
    std::optional<int> number(int count) {
        int value = 0;
        for (int i = 0; i < count; ++i) {
            if (!at_digit()) {
                return std::nullopt;
            }
            value = value * 10 + (text.front() - '0');
            text.remove_prefix(1);
        }
        return value;
    }
};

struct Date {
    int year = 0;
    int month = 0;
    int day = 0;
};

}  // namespace

static int days_in(int year, int month) {
    constexpr int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap ? 1 : 0);
}

/// Days from 1970-01-01 (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms").
static std::int64_t days_from_epoch(const Date& date) {
    const int year = date.year - (date.month <= 2 ? 1 : 0);
    const int era = year / 400;
    const int year_of_era = year - era * 400;
    const int day_of_year = (153 * (date.month + (date.month > 2 ? -3 : 9)) + 2) / 5 + date.day - 1;
    const int day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return std::int64_t{era} * 146'097 + day_of_era - 719'468;
}

static std::optional<Date> take_date(Cursor& cursor) {
    const auto year = cursor.number(4);
    const bool dash = cursor.take('-');
    const auto month = cursor.number(2);
    const bool second_dash = cursor.take('-');
    const auto day = cursor.number(2);
    if (!year || !dash || !month || !second_dash || !day || *month < 1 || *month > 12 || *day < 1 ||
        *day > days_in(*year, *month)) {
        return std::nullopt;
    }
    return Date{*year, *month, *day};
}

static std::optional<std::int64_t> take_fraction_ns(Cursor& cursor) {
    if (!cursor.take('.') && !cursor.take(',')) {  // ISO 8601 has both
        return 0;
    }
    if (!cursor.at_digit()) {
        return std::nullopt;
    }
    std::int64_t ns = 0;
    for (std::int64_t place = ns_per_s / 10; cursor.at_digit(); place /= 10) {
        ns += place * (cursor.text.front() - '0');  // 0 below a nanosecond
        cursor.text.remove_prefix(1);
    }
    return ns;
}

static std::optional<std::int64_t> take_clock_ns(Cursor& cursor) {
    const auto hour = cursor.number(2);
    const bool colon = cursor.take(':');
    const auto minute = cursor.number(2);
    const bool second_colon = cursor.take(':');
    const auto second = cursor.number(2);
    if (!hour || !colon || !minute || !second_colon || !second || *hour > 23 || *minute > 59 ||
        *second > 59) {
        return std::nullopt;
    }
    const auto fraction = take_fraction_ns(cursor);
    if (!fraction) {
        return std::nullopt;
    }
    return (*hour * 3600 + *minute * 60 + *second) * ns_per_s + *fraction;
}

/// What the wall clock is ahead of UTC.
static std::optional<std::int64_t> take_zone_ns(Cursor& cursor) {
    if (cursor.text.empty() || cursor.take('Z') || cursor.take('z')) {
        return 0;
    }
    const bool behind = cursor.take('-');
    if (!behind && !cursor.take('+')) {
        return std::nullopt;
    }
    const auto hours = cursor.number(2);
    const bool colon = cursor.take(':');
    const bool whole_hours = cursor.text.empty() && !colon;
    const auto minutes = whole_hours ? std::optional(0) : cursor.number(2);
    if (!hours || !minutes || *hours > 23 || *minutes > 59) {
        return std::nullopt;
    }
    const std::int64_t ahead = (*hours * 3600 + *minutes * 60) * ns_per_s;
    return behind ? -ahead : ahead;
}

Result<std::int64_t> parse_iso_time(std::string_view text) {
    constexpr Error no_time{ErrorCode::invalid, 0, "read a wall clock"};
    Cursor cursor{text};
    const auto date = take_date(cursor);
    if (!date || !(cursor.take('T') || cursor.take('t') || cursor.take(' '))) {
        return no_time;
    }
    const auto clock = take_clock_ns(cursor);
    if (!clock) {
        return no_time;
    }
    const auto zone = take_zone_ns(cursor);
    if (!zone || !cursor.text.empty()) {
        return no_time;
    }
    const bool near = date->year >= 1969 && date->year <= 2115;  // else 64 bits may not hold it
    const std::int64_t ns = near ? days_from_epoch(*date) * 86'400 * ns_per_s + *clock - *zone : -1;
    return ns >= 0 ? Result<std::int64_t>(ns)
                   : Error{ErrorCode::out_of_range, 0, "read a wall clock from 1970 to 2115"};
}

/// A unit is 10^that ns: s, ms, us, ns.
static std::int32_t power_of(TimeUnit unit) {
    constexpr std::int32_t powers[] = {9, 6, 3, 0};
    return powers[static_cast<std::size_t>(unit)];
}

/// Whole numbers of nine digits at most, as most times are: they cannot overflow.
static std::optional<std::int64_t> parse_plain(std::string_view text, std::int32_t power) {
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

std::string time_unit_names() {
    return joined(closed_list<TimeUnit>, ", ");
}

Result<std::int64_t> parse_time(std::string_view text, TimeUnit unit) {
    CHECK(unit != TimeUnit::automatic);
    if (unit == TimeUnit::iso) {
        return parse_iso_time(text);
    }
    if (const auto plain = parse_plain(text, power_of(unit))) {
        return *plain;
    }
    const std::optional<Decimal> decimal = scan_decimal(text);
    if (!decimal) {
        return Error{ErrorCode::invalid, 0, "read a time"};
    }
    if (decimal->negative && !decimal->zero()) {
        return Error{ErrorCode::out_of_range, 0, "read a time, not negative"};
    }
    const Result<Scaled> scaled = scale(*decimal, power_of(unit));
    if (!scaled || scaled.value().value > static_cast<std::uint64_t>(time_max_ns)) {
        return Error{ErrorCode::out_of_range, 0, "read a time below 2^62 ns"};
    }
    return static_cast<std::int64_t>(scaled.value().value);
}

std::string time_text(std::int64_t ns, TimeUnit unit) {
    CHECK(ns >= 0 && unit != TimeUnit::iso && unit != TimeUnit::automatic);
    const auto places = static_cast<std::size_t>(power_of(unit));
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
