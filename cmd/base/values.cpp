#include "cmd/base/values.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <system_error>

#include "proto/core/text.hpp"

namespace driftless {

static constexpr const char* duration_remedy =
    "is not a duration; use 90, 1.5s, 250ms, 5us, 10m, 2h or 1h30m (a bare number is seconds)";
static constexpr const char* bytes_remedy = "is not a size; use 4096, 64k, 64M or 2G";
static constexpr const char* count_remedy = "is not a whole number of 0 or more";

/// 100 years: far beyond any run, and sums of two stay inside 64 bits.
static constexpr std::int64_t duration_ns_max = 100LL * 366 * 86400 * 1'000'000'000;
static constexpr std::size_t fraction_digits_max = 18;

namespace {

struct Unit {
    std::string_view name;
    std::int64_t ns;
};

}  // namespace

/// Smallest first. `duration_to_text` relies on the order.
static constexpr std::array<Unit, 6> units{{{"ns", 1},
                                            {"us", 1'000},
                                            {"ms", 1'000'000},
                                            {"s", 1'000'000'000},
                                            {"m", 60'000'000'000},
                                            {"h", 3'600'000'000'000}}};

static Error out_of_range(const char* why) {
    return {ErrorCode::out_of_range, 0, why};
}

static std::optional<std::uint64_t> to_u64(std::string_view digits) {
    std::uint64_t value = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (code != std::errc{} || end != digits.data() + digits.size()) {
        return std::nullopt;
    }
    return value;
}

static std::int64_t unit_ns(std::string_view name) {
    for (const Unit& unit : units) {
        if (unit.name == name) {
            return unit.ns;
        }
    }
    return name.empty() ? 1'000'000'000 : 0;
}

static std::uint64_t size_factor(std::string_view suffix) {
    if (suffix.empty() || suffix == "B") {
        return 1;
    }
    constexpr std::string_view small = "kmgt";
    constexpr std::string_view large = "KMGT";
    const std::size_t power =
        small.find(suffix[0]) != small.npos ? small.find(suffix[0]) : large.find(suffix[0]);
    const std::string_view rest = suffix.substr(1);
    if (power == small.npos || !(rest.empty() || rest == "B" || rest == "iB")) {
        return 0;
    }
    return std::uint64_t{1024} << (10 * power);
}

/// One number with its unit, cut off the front of `text`; `unit` is the unit's length in ns.
static Result<std::int64_t> take_duration(std::string_view& text, std::int64_t& unit) {
    const std::string_view whole = take_digits(text);
    std::string_view fraction;
    if (!text.empty() && text[0] == '.') {
        text.remove_prefix(1);
        fraction = take_digits(text);
    }
    const std::size_t name_end = std::min(text.find_first_of("0123456789."), text.size());
    unit = unit_ns(text.substr(0, name_end));
    text.remove_prefix(name_end);
    if ((whole.empty() && fraction.empty()) || unit == 0) {
        return invalid(duration_remedy);
    }
    const std::optional<std::uint64_t> whole_value = whole.empty() ? 0 : to_u64(whole);
    if (!whole_value || *whole_value > static_cast<std::uint64_t>(duration_ns_max / unit)) {
        return out_of_range("is longer than 100 years");
    }
    while (!fraction.empty() && fraction.back() == '0') {
        fraction.remove_suffix(1);
    }
    if (fraction.size() > fraction_digits_max) {
        return out_of_range("is finer than 1 ns; round it");
    }
    // fraction * unit / 10^digits, exact or refused; below 10^18 * 3.6e12, so 128 bits.
    std::uint64_t scale = 1;
    for (std::size_t digit = 0; digit < fraction.size(); ++digit) {
        scale *= 10;
    }
    const auto scaled =
        static_cast<unsigned __int128>(fraction.empty() ? 0 : to_u64(fraction).value_or(0)) *
        static_cast<std::uint64_t>(unit);
    if (scaled % scale != 0) {
        return out_of_range("is finer than 1 ns; round it");
    }
    return static_cast<std::int64_t>(*whole_value) * unit +
           static_cast<std::int64_t>(scaled / scale);
}

/// "1h30m" is read part by part; each part must have a unit, and a smaller one than that before it.
std::optional<double> read_decimal(std::string_view text) {
    const auto value = read_number<double>(text, std::chars_format::fixed);
    return value && std::isfinite(*value) && !text.starts_with('-') ? value : std::nullopt;
}

Result<std::int64_t> parse_duration_ns(std::string_view text) {
    constexpr std::size_t parts_max = units.size();
    std::int64_t sum = 0;
    std::int64_t before = 0;
    for (std::size_t part = 0; part < parts_max; ++part) {
        const bool bare = text.find_first_not_of("0123456789.") == text.npos;
        std::int64_t unit = 0;
        const Result<std::int64_t> value = take_duration(text, unit);
        if (!value) {
            return value;
        }
        if (part > 0 && (bare || unit >= before)) {
            return invalid(duration_remedy);
        }
        if (sum + value.value() > duration_ns_max) {  // the sum of two stays inside 64 bits
            return out_of_range("is longer than 100 years");
        }
        sum += value.value();
        before = unit;
        if (text.empty()) {
            break;
        }
    }
    return text.empty() ? Result<std::int64_t>(sum) : invalid(duration_remedy);
}

std::string seconds_text(std::int64_t ns) {
    char text[32];
    (void)std::snprintf(text, sizeof text, "%.3f s", static_cast<double>(ns) / 1e9);
    return text;
}

std::string duration_to_text(std::int64_t ns) {
    const Unit* best = &units[0];
    for (const Unit& unit : units) {
        if (ns != 0 && ns % unit.ns == 0) {
            best = &unit;
        }
    }
    return ns == 0 ? "0s" : std::to_string(ns / best->ns) + std::string(best->name);
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
    const std::string_view digits = take_digits(text);
    const std::uint64_t factor = size_factor(text);
    if (digits.empty() || factor == 0) {
        return invalid(bytes_remedy);
    }
    const std::optional<std::uint64_t> count = to_u64(digits);
    if (!count || *count > std::numeric_limits<std::uint64_t>::max() / factor) {
        return out_of_range("does not fit into 64 bits");
    }
    return *count * factor;
}

Result<std::uint64_t> parse_count(std::string_view text) {
    std::string_view rest = text;
    const std::string_view digits = take_digits(rest);
    if (digits.empty() || !rest.empty()) {
        return invalid(count_remedy);
    }
    const std::optional<std::uint64_t> value = to_u64(digits);
    if (!value) {
        return out_of_range("does not fit into 64 bits");
    }
    return *value;
}

Result<std::uint64_t> parse_positive_count(std::string_view text) {
    const Result<std::uint64_t> value = parse_count(text);
    if (value && value.value() == 0) {
        return out_of_range("must be at least 1");
    }
    return value;
}

std::string without_blanks(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c != ' ' && c != '\t') {
            out += c;
        }
    }
    return out;
}

bool TextLines::next(std::string_view& line) {
    while (!rest.empty()) {
        line = trim(take_until(rest, "\n"), " \t\r");
        ++number;
        if (!line.empty() && !line.starts_with('#')) {
            return true;
        }
    }
    return false;
}

Result<std::vector<std::string>> parse_list(std::string_view text) {
    std::vector<std::string> parts;
    while (true) {  // bounded by the text: each turn consumes at least one byte of it
        const std::size_t comma = text.find(',');
        const std::string_view part = trim_blanks(text.substr(0, comma));
        if (part.empty()) {
            return invalid("has an empty part; separate names by single commas");
        }
        parts.emplace_back(part);
        if (comma == text.npos) {
            return parts;
        }
        text.remove_prefix(comma + 1);
    }
}

}  // namespace driftless
