#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "cmd/base/files.hpp"
#include "cmd/base/secrets.hpp"
#include "cmd/base/server_metrics.hpp"
#include "cmd/base/values.hpp"
#include "cmd/flags/replay_options.hpp"
#include "cmd/flags/replay_values.hpp"
#include "proto/core/text.hpp"
#include "proto/run/client_sample.hpp"

namespace driftless {

std::string describe_api(const Dialect*& dialect, const std::string& file,
                         std::unique_ptr<DescribedApi>& described) {
    if (!dialect->described_by_file) {
        return file.empty() ? "" : "--template is for --api template; give both";
    }
    if (file.empty()) {
        return "--api template needs --template FILE, which describes the server";
    }
    const Result<std::string> text = read_whole_file(file);
    if (!text) {
        return "--template " + file + " cannot be read: " + reason_of(text.error());
    }
    std::string why;
    Result<ApiTemplate> form = read_api_template(text.value(), why);
    if (!form) {
        return "--template " + file + ": " + why;
    }
    described = std::make_unique<DescribedApi>();
    described->form = std::move(form).value();
    described->dialect = dialect_of(described->form);
    dialect = &described->dialect;
    return "";
}

void note_api(const std::vector<std::string>& typed, const Dialect& dialect,
              std::vector<std::string>& notes) {
    if (typed.size() == 1 && typed.front() != dialect.name) {
        notes.push_back("the API " + typed.front() + " is taken as " + dialect.name);
    }
}

Result<KeptWords> parse_kept_words(std::string_view text) {
    KeptWords kept{false, false, false};
    while (true) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const Result<bool KeptWords::*> one = kept_choices(text.substr(0, comma));
        if (!one) {
            return one.error();
        }
        kept.*one.value() = true;
        if (comma == text.size()) {
            return kept;
        }
        text.remove_prefix(comma + 1);
    }
}

std::string text_of(const KeptWords& kept) {
    std::string text;
    for (const auto& [name, part] : kept_choices) {
        text += kept.*part ? (text.empty() ? "" : ",") + std::string(name) : "";
    }
    return text;
}

static constexpr Choices<TimedEventKind> actions({{"post", TimedEventKind::post},
                                                  {"run", TimedEventKind::run},
                                                  {"label", TimedEventKind::label}},
                                                 "has an unknown action; use ", " or ");

/// The first word of a text, which loses it.
static std::string_view take_word(std::string_view& text) {
    const std::string_view word = take_until(text, " \t");
    text = trim_blanks(text);
    return word;
}

Result<TypedEvent> parse_event(std::string_view text) {
    std::string_view rest = trim_blanks(text);
    const std::string_view at = take_word(rest);
    const std::string_view verb = take_word(rest);
    if (!at.starts_with('+')) {
        return invalid(
            "is not an event; use \"+90s post URL\", \"+2m run COMMAND\" or "
            "\"+10m label TEXT\"");
    }
    const Result<std::int64_t> at_ns = parse_duration_ns(at.substr(1));
    if (!at_ns) {
        return Error{at_ns.error().code, 0,
                     "does not begin with a time after the start of the run; use +90s or +1.5m"};
    }
    TypedEvent event;
    event.at_ns = at_ns.value();
    event.what = rest;
    if (rest.empty()) {
        return invalid(
            "has no action; use \"+90s post URL\", \"+2m run COMMAND\" or \"+10m label TEXT\"");
    }
    const Result<TimedEventKind> kind = actions(verb);
    if (!kind) {
        return kind.error();
    }
    event.kind = kind.value();
    if (event.kind == TimedEventKind::post) {
        Result<Url> url = parse_url(rest);
        if (!url) {
            return url.error();
        }
        event.url = std::move(url).value();
    }
    return event;
}

std::string read_events(const std::string& path, std::vector<TypedEvent>& out) {
    const Result<std::string> text = read_whole_file(path);
    if (!text) {
        return "--events " + path + ": cannot be read: " + reason_of(text.error());
    }
    return parse_events("--events " + path, text.value(), out);
}

std::string parse_events(const std::string& where, std::string_view text,
                         std::vector<TypedEvent>& out) {
    TextLines lines{text};
    std::string_view typed;
    while (lines.next(typed)) {
        Result<TypedEvent> event = parse_event(typed);
        if (!event) {
            return where + ":" + std::to_string(lines.number) + ": \"" +
                   mask_refused(mask_event, typed) + "\" " + event.error().doing;
        }
        out.push_back(std::move(event).value());
    }
    return "";
}

static bool lacks_a_letter_of(std::string_view word, std::string_view typed) {
    for (std::size_t i = 0; i < word.size(); ++i) {
        if (typed == std::string(word.substr(0, i)) + std::string(word.substr(i + 1))) {
            return true;
        }
    }
    return false;
}

Result<MetricsPlace> parse_metrics_place(std::string_view text) {
    MetricsPlace place;
    if (text == "auto") {
        return place;
    }
    if (text == "none") {
        place.kind = MetricsPlace::Kind::none;
        return place;
    }
    if (lacks_a_letter_of("auto", text) || lacks_a_letter_of("none", text)) {
        return invalid("is no URL; did you mean auto or none? A host of that name is http://NAME");
    }
    Result<Url> url = parse_url(text);
    if (!url) {
        return url.error();
    }
    place.kind = MetricsPlace::Kind::url;
    place.url = std::move(url).value();
    if (place.url.path.empty()) {
        place.url.path = "/metrics";
    } else if (text.ends_with('/')) {  // another page than without it, at some servers
        place.url.path += '/';
    }
    return place;
}

Result<std::int64_t> parse_metrics_period(std::string_view text) {
    constexpr std::int64_t least_ns = 100'000'000;  // servers take up to 40 ms to make a page
    constexpr std::int64_t most_ns = 3600 * std::int64_t{1'000'000'000};
    return within(parse_duration_ns(text), least_ns, most_ns,
                  "is not a scrape period; use 100ms to 1h");
}

Result<Url> parse_listen_place(std::string_view text) {
    Result<Url> place = parse_place(text);
    if (!place) {
        return place.error().code == ErrorCode::out_of_range
                   ? place.error()
                   : invalid("is not ADDRESS:PORT; use 127.0.0.1:9123");
    }
    if (place.value().unix_socket) {
        return invalid("is a Unix socket; use an address such as 127.0.0.1:9123");
    }
    return place;
}

std::string complete_metrics(MetricsFlags& metrics) {
    if (metrics.has(MetricsPlace::Kind::none) && metrics.places.size() > 1) {
        return "--metrics none cannot be combined with other --metrics; remove it";
    }
    if (metrics.places.size() > metrics_places_max) {
        return "--metrics: there are " + std::to_string(metrics.places.size()) +
               " of them: " + std::to_string(metrics_places_max) + " at most";
    }
    for (const std::string& file : metrics.table_files) {
        Result<std::string> text = read_whole_file(file);
        if (!text) {
            return "--metrics-table " + file + ": cannot be read: " + reason_of(text.error());
        }
        const std::string why = read_mapping(text.value(), metrics.tables.emplace_back());
        if (!why.empty()) {
            return "--metrics-table " + file + ": " + why;
        }
        metrics.table_texts.push_back(std::move(text).value());
    }
    return "";
}

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
        return invalid("is not a shard and the number of shards; use 0/3, 1/3 and 2/3, or none");
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
        return invalid(remedy);
    }
    std::string_view host = text.substr(0, colon);
    const bool bracketed = host.front() == '[' && host.back() == ']';
    host = bracketed ? host.substr(1, host.size() - 2) : host;
    const Result<std::uint64_t> port = parse_positive_count(text.substr(colon + 1));
    const bool is_name = host.find_first_of(" /@[]") == std::string_view::npos &&
                         (bracketed || host.find(':') == std::string_view::npos);
    if (!port || port.value() > UINT16_MAX || host.empty() || !is_name) {
        return invalid(remedy);
    }
    return MeetPlace{std::string(host), static_cast<std::uint16_t>(port.value())};
}

std::string text_of(const MeetPlace& place) {
    const bool literal = place.host.find(':') != std::string::npos;
    return (literal ? "[" + place.host + "]" : place.host) + ":" + std::to_string(place.port);
}

static constexpr const char* utc_remedy =
    "is not a date and time of RFC 3339 with its offset; use 2026-11-26T05:30:00Z";

/// "Z", "+02:00", "-07:30": minutes that local time is ahead.
static std::optional<std::int64_t> offset_minutes(std::string_view text) {
    if (text == "Z" || text == "z") {
        return 0;
    }
    if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') {
        return {};
    }
    const auto hours = read_number<std::uint32_t>(text.substr(1, 2));
    const auto minutes = read_number<std::uint32_t>(text.substr(4, 2));
    if (!hours || !minutes || *hours > 23 || *minutes > 59) {
        return {};
    }
    return (text[0] == '-' ? -1 : 1) * std::int64_t{*hours * 60 + *minutes};
}

/// ".25": at most nine digits, and what follows them is left in `text`.
static std::optional<std::int64_t> take_fraction_ns(std::string_view& text) {
    if (!text.starts_with('.')) {
        return 0;
    }
    text.remove_prefix(1);
    std::string digits(take_digits(text));
    if (digits.empty() || digits.size() > 9) {
        return {};
    }
    digits.resize(9, '0');
    return read_number<std::int64_t>(digits);
}

/// Seconds from 1970 on; nothing where there is no such date or time. `text`: 19 characters.
static std::optional<std::int64_t> seconds_of(std::string_view text) {
    const auto number = [text](std::size_t at, std::size_t digits) {
        return read_number<std::uint32_t>(text.substr(at, digits));
    };
    const auto year = number(0, 4);
    const auto month = number(5, 2);
    const auto day = number(8, 2);
    const auto hour = number(11, 2);
    const auto minute = number(14, 2);
    const auto second = number(17, 2);
    const bool has_marks = text[4] == '-' && text[7] == '-' &&
                           (text[10] == 'T' || text[10] == 't') && text[13] == ':' &&
                           text[16] == ':';
    if (!has_marks || !year || !month || !day || !hour || !minute || !second) {
        return {};
    }
    const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                           std::chrono::month(*month), std::chrono::day(*day)};
    if (!date.ok() || *hour > 23 || *minute > 59 || *second > 59) {
        return {};
    }
    const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
    return ((days * 24 + *hour) * 60 + *minute) * 60 + *second;
}

Result<std::int64_t> parse_utc_ns(std::string_view text) {
    constexpr std::size_t seconds_end = 19;  // "2026-11-26T05:30:00"
    constexpr std::int64_t ns_per_second = 1'000'000'000;
    if (text.size() <= seconds_end) {
        return invalid(utc_remedy);
    }
    const std::optional<std::int64_t> local = seconds_of(text.substr(0, seconds_end));
    text.remove_prefix(seconds_end);
    const std::optional<std::int64_t> fraction_ns = take_fraction_ns(text);
    const std::optional<std::int64_t> ahead = offset_minutes(text);
    if (!local || !fraction_ns || !ahead) {
        return invalid(utc_remedy);
    }
    const std::int64_t utc = *local - *ahead * 60;
    if (utc < 0 || utc > INT64_MAX / 2 / ns_per_second) {  // up to the year 2116
        return Error{ErrorCode::out_of_range, 0, "is not a time from 1970 to 2116"};
    }
    return utc * ns_per_second + *fraction_ns;
}

std::string text_of(const ShardPlace& place) {
    return std::to_string(place.index) + "/" + std::to_string(place.count);
}

Result<std::uint32_t> parse_engines(std::string_view text) {
    if (text == "auto") {
        return engines_auto;
    }
    const Result<std::uint64_t> engines = parse_count(text);
    if (!engines || engines.value() == 0 || engines.value() > engines_max) {
        return invalid("is neither auto nor a number from 1 to 256");
    }
    return static_cast<std::uint32_t>(engines.value());
}

}  // namespace driftless
