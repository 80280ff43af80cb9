/// Where a replay reads the servers' own metrics, and where it shows its own, as people type it.
/// Pure, but for `complete_metrics`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proto/core/result.hpp"
#include "proto/http/url.hpp"

namespace driftless {

/// One value of `--metrics`.
struct MetricsPlace {
    enum class Kind : std::uint8_t { automatic, none, url };
    Kind kind = Kind::automatic;
    Url url;  ///< its path is "/metrics" where none was typed
};

/// Each has a connection of its own on the thread that reads them.
inline constexpr std::size_t metrics_places_max = 32;

/// "auto", "none" or a URL. Errors: invalid, out_of_range.
Result<MetricsPlace> parse_metrics_place(std::string_view text);

/// "1s": from 100ms to 1h. Errors: invalid.
Result<std::int64_t> parse_metrics_period(std::string_view text);

/// "127.0.0.1:9123", "[::1]:9123". Errors: invalid, out_of_range.
Result<Url> parse_listen_place(std::string_view text);

struct MetricsFlags;
/// Reads the files of tables. Returns what contradicts another flag, or why a file cannot be taken;
/// empty: all is well.
std::string complete_metrics(MetricsFlags& metrics);

}  // namespace driftless
