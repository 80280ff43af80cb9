#include "cmd/replay/flags/metrics_values.hpp"

#include <algorithm>
#include <utility>

#include "cmd/replay/flags/options.hpp"
#include "cmd/scrape/mapping_file.hpp"
#include "cmd/values.hpp"
#include "cmd/whole_file.hpp"

namespace driftless {

namespace {

bool lacks_a_letter_of(std::string_view word, std::string_view typed) {
    for (std::size_t i = 0; i < word.size(); ++i) {
        if (typed == std::string(word.substr(0, i)) + std::string(word.substr(i + 1))) {
            return true;
        }
    }
    return false;
}

}  // namespace

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
        return Error{ErrorCode::invalid, 0,
                     "is no URL; did you mean auto or none? A host of that name is http://NAME"};
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
    const Result<std::int64_t> period = parse_duration_ns(text);
    if (!period || period.value() < least_ns || period.value() > most_ns) {
        return Error{ErrorCode::invalid, 0, "is not a scrape period; use 100ms to 1h"};
    }
    return period;
}

Result<Url> parse_listen_place(std::string_view text) {
    Result<Url> place = parse_place(text);
    if (!place) {
        return place.error().code == ErrorCode::out_of_range
                   ? place.error()
                   : Error{ErrorCode::invalid, 0, "is not ADDRESS:PORT; use 127.0.0.1:9123"};
    }
    if (place.value().unix_socket) {
        return Error{ErrorCode::invalid, 0,
                     "is a Unix socket; use an address such as 127.0.0.1:9123"};
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

bool MetricsFlags::has(MetricsPlace::Kind kind) const {
    return std::any_of(places.begin(), places.end(),
                       [kind](const MetricsPlace& one) { return one.kind == kind; });
}

}  // namespace driftless
