/// ServerSeries, ServerScrape: the two kinds of lines of `server.jsonl`, which keeps every series
/// of the servers' own metrics. A series has one line before its first value; each scrape has one
/// line with the values that are not those of the scrape before. Plain values and their codec; the
/// schemas are server_series.schema.json and server_scrape.schema.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "proto/core/result.hpp"
#include "proto/json/document.hpp"

namespace driftless {

struct ServerSeries {
    std::uint32_t segment = 0;
    std::uint32_t series = 0;  ///< its number in the segment, from 0
    std::string url;
    std::string name;  ///< as served
    std::string type;  ///< name_of(MetricType)
    bool counter = false;
    std::vector<std::pair<std::string, std::string>> labels;
};

struct ServerValue {
    std::uint32_t series = 0;
    std::optional<double> value;  ///< nothing: the page does not have it any more
};

/// A counter that the page before had, too.
struct ServerGrowth {
    std::uint32_t series = 0;
    double by = 0;  ///< added to the value before as doubles are, it gives the new one, bit for bit
};

struct ServerScrape {
    std::uint32_t segment = 0;
    std::int64_t t_ns = 0;     ///< when it was asked for, from time 0; before it: negative
    std::int64_t took_ns = 0;  ///< until the page was whole, or given up
    std::string url;
    std::string error;           ///< why there are no values; empty: null
    std::uint64_t left_out = 0;  ///< samples beyond what is kept
    std::vector<ServerValue> changed;
    std::vector<ServerGrowth> grown;  ///< in lines of older versions none
};

/// Appends one line, newline included, with every key in the order above: `changed` as the two
/// lists `series` and `values`, `grown` as `grown` and `grown_by`. Three or more consecutive
/// numbers of series are a list of the first and the last. NaN and infinities are the texts "NaN",
/// "+Inf", "-Inf".
void append_server_series(std::string& out, const ServerSeries& series);
void append_server_scrape(std::string& out, const ServerScrape& scrape);

using ServerLine = std::variant<ServerSeries, ServerScrape>;
/// Reads such a line back. Errors: bad_json, missing (`doing` is the key), invalid (the lists are
/// not of one length, or no lists).
Result<ServerLine> read_server_line(JsonDocument& document, std::string_view line);

}  // namespace driftless
