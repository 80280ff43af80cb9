#include "cmd/replay/flags/metrics_values.hpp"

#include <algorithm>
#include <utility>

#include "cmd/replay/flags/options.hpp"
#include "cmd/values.hpp"

namespace driftless {

Result<MetricsPlace> parse_metrics_place(std::string_view text) {
    MetricsPlace place;
    if (text == "auto") {
        return place;
    }
    if (text == "none") {
        place.kind = MetricsPlace::Kind::none;
        return place;
    }
    Result<Url> url = parse_url(text);
    if (!url) {
        return url.error();
    }
    place.kind = MetricsPlace::Kind::url;
    place.url = std::move(url).value();
    if (place.url.path.empty()) {
        place.url.path = "/metrics";
    }
    return place;
}

Result<std::int64_t> parse_metrics_period(std::string_view text) {
    constexpr std::int64_t least_ns = 100'000'000;  // servers take up to 40 ms to make a page
    constexpr std::int64_t most_ns = 3600 * std::int64_t{1'000'000'000};
    const Result<std::int64_t> period = parse_duration_ns(text);
    if (!period || period.value() < least_ns || period.value() > most_ns) {
        return Error{ErrorCode::invalid, 0, "is not a period of scrapes; use 100ms to 1h"};
    }
    return period;
}

bool MetricsFlags::has(MetricsPlace::Kind kind) const {
    return std::any_of(places.begin(), places.end(),
                       [kind](const MetricsPlace& one) { return one.kind == kind; });
}

}  // namespace driftless
