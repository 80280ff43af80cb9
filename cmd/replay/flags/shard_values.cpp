#include "cmd/replay/flags/shard_values.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include "cmd/values.hpp"

namespace driftless {

Result<TypedShard> parse_shard(std::string_view text) {
    if (text == "none") {
        return TypedShard{true, {}};
    }
    const std::size_t slash = text.find('/');
    const bool has_slash = slash != std::string_view::npos;
    const Result<std::uint64_t> index = parse_count(text.substr(0, slash));
    const Result<std::uint64_t> count =
        parse_positive_count(has_slash ? text.substr(slash + 1) : std::string_view());
    if (!index || !count) {
        return Error{ErrorCode::invalid, 0,
                     "is not a shard and the number of shards; use 0/3, 1/3 and 2/3, or none"};
    }
    if (index.value() >= count.value()) {
        return Error{
            ErrorCode::out_of_range, 0,
            "is beyond the last shard: they are counted from 0, so that three are 0/3, 1/3 "
            "and 2/3"};
    }
    if (count.value() > shards_max) {
        return Error{ErrorCode::out_of_range, 0, "has too many shards; use 4096 at most"};
    }
    return TypedShard{
        false,
        {static_cast<std::uint32_t>(index.value()), static_cast<std::uint32_t>(count.value())}};
}

Result<MeetPlace> parse_meet_place(std::string_view text) {
    constexpr const char* remedy = "is not HOST:PORT; use node0:7100 or [::1]:7100";
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0) {
        return Error{ErrorCode::invalid, 0, remedy};
    }
    std::string_view host = text.substr(0, colon);
    const bool bracketed = host.front() == '[' && host.back() == ']';
    host = bracketed ? host.substr(1, host.size() - 2) : host;
    const Result<std::uint64_t> port = parse_positive_count(text.substr(colon + 1));
    const bool is_name = host.find_first_of(" /@[]") == std::string_view::npos &&
                         (bracketed || host.find(':') == std::string_view::npos);
    if (!port || port.value() > UINT16_MAX || host.empty() || !is_name) {
        return Error{ErrorCode::invalid, 0, remedy};
    }
    return MeetPlace{std::string(host), static_cast<std::uint16_t>(port.value())};
}

std::string text_of(const MeetPlace& place) {
    const bool literal = place.host.find(':') != std::string::npos;
    return (literal ? "[" + place.host + "]" : place.host) + ":" + std::to_string(place.port);
}

namespace {

constexpr const char* utc_remedy =
    "is not a date and time of RFC 3339 with its offset; use 2026-11-26T05:30:00Z";

/// Digits alone, as many as `text` has.
std::optional<int> digits_of(std::string_view text) {
    int value = 0;
    for (const char digit : text) {
        if (digit < '0' || digit > '9') {
            return {};
        }
        value = value * 10 + (digit - '0');
    }
    return text.empty() ? std::nullopt : std::optional(value);
}

/// "Z", "+02:00", "-07:30": minutes that local time is ahead.
std::optional<int> offset_minutes(std::string_view text) {
    if (text == "Z" || text == "z") {
        return 0;
    }
    if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') {
        return {};
    }
    const std::optional<int> hours = digits_of(text.substr(1, 2));
    const std::optional<int> minutes = digits_of(text.substr(4, 2));
    if (!hours || !minutes || *hours > 23 || *minutes > 59) {
        return {};
    }
    return (text[0] == '-' ? -1 : 1) * (*hours * 60 + *minutes);
}

/// ".25": at most nine digits, and what follows them is left in `text`.
std::optional<std::int64_t> take_fraction_ns(std::string_view& text) {
    if (!text.starts_with('.')) {
        return 0;
    }
    const std::size_t end = std::min(text.find_first_not_of("0123456789", 1), text.size());
    const std::string_view digits = text.substr(1, end - 1);
    const std::optional<int> value = digits.size() > 9 ? std::nullopt : digits_of(digits);
    text.remove_prefix(end);
    if (!value) {
        return {};
    }
    std::int64_t ns = *value;
    for (std::size_t i = digits.size(); i < 9; ++i) {
        ns *= 10;
    }
    return ns;
}

/// Seconds from 1970 on; nothing where there is no such date or time. `text`: 19 characters.
std::optional<std::int64_t> seconds_of(std::string_view text) {
    using std::chrono::year_month_day;
    const std::optional<int> year = digits_of(text.substr(0, 4));
    const std::optional<int> month = digits_of(text.substr(5, 2));
    const std::optional<int> day = digits_of(text.substr(8, 2));
    const std::optional<int> hour = digits_of(text.substr(11, 2));
    const std::optional<int> minute = digits_of(text.substr(14, 2));
    const std::optional<int> second = digits_of(text.substr(17, 2));
    const bool has_marks = text[4] == '-' && text[7] == '-' &&
                           (text[10] == 'T' || text[10] == 't') && text[13] == ':' &&
                           text[16] == ':';
    if (!has_marks || !year || !month || !day || !hour || !minute || !second) {
        return {};
    }
    const year_month_day date{std::chrono::year(*year),
                              std::chrono::month(static_cast<unsigned>(*month)),
                              std::chrono::day(static_cast<unsigned>(*day))};
    if (!date.ok() || *hour > 23 || *minute > 59 || *second > 59) {
        return {};
    }
    const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
    return ((days * 24 + *hour) * 60 + *minute) * 60 + *second;
}

}  // namespace

Result<std::int64_t> parse_utc_ns(std::string_view text) {
    constexpr std::size_t seconds_end = 19;  // "2026-11-26T05:30:00"
    constexpr std::int64_t ns_per_second = 1'000'000'000;
    if (text.size() <= seconds_end) {
        return Error{ErrorCode::invalid, 0, utc_remedy};
    }
    const std::optional<std::int64_t> local = seconds_of(text.substr(0, seconds_end));
    text.remove_prefix(seconds_end);
    const std::optional<std::int64_t> fraction_ns = take_fraction_ns(text);
    const std::optional<int> ahead = offset_minutes(text);
    if (!local || !fraction_ns || !ahead) {
        return Error{ErrorCode::invalid, 0, utc_remedy};
    }
    const std::int64_t utc = *local - std::int64_t{*ahead} * 60;
    if (utc < 0 || utc > INT64_MAX / 2 / ns_per_second) {  // up to the year 2116
        return Error{ErrorCode::out_of_range, 0, "is not a time from 1970 to 2116"};
    }
    return utc * ns_per_second + *fraction_ns;
}

std::string text_of(const ShardPlace& place) {
    return std::to_string(place.index) + "/" + std::to_string(place.count);
}

}  // namespace driftless
