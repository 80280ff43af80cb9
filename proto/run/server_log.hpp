/// The pages of servers as a run keeps them: the two kinds of lines of `server.jsonl`; pages into
/// these lines, out of them again, and summed over the run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "proto/core/errors.hpp"
#include "proto/json/members.hpp"
#include "proto/metrics/endpoint_figures.hpp"
#include "proto/metrics/exposition.hpp"
#include "proto/metrics/server_figure.hpp"

namespace driftless {

// ServerSeries, ServerScrape: the two kinds of lines of `server.jsonl`, which keeps every series
// of the servers' own metrics. A series has one line before its first value; each scrape has one
// line with the values that are not those of the scrape before. Plain values and their codec; the
// schemas are server_series.schema.json and server_scrape.schema.json.

struct ServerSeries {
    std::uint32_t segment = 0;
    std::uint32_t series = 0;  ///< its number in the segment, from 0
    std::string url;
    std::string name;  ///< as served
    MetricType type = MetricType::unknown;
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

void walk(auto& fields, IsOf<ServerSeries> auto& series) {
    fields.value("segment", 1, series.segment);
    fields.value("series", 1, series.series);
    fields.value("url", 1, series.url);
    fields.value("name", 1, series.name);
    fields.value("type", 1, series.type);
    fields.value("counter", 1, series.counter);
    fields.by_name("labels", 1, series.labels);
}
/// `fields` also has `series`, which is of these lines alone.
void walk(auto& fields, IsOf<ServerScrape> auto& scrape) {
    fields.value("segment", 1, scrape.segment);
    fields.value("t_ns", 1, scrape.t_ns);
    fields.value("took_ns", 1, scrape.took_ns);
    fields.value("url", 1, scrape.url);
    fields.text("error", 1, scrape.error);
    fields.value("left_out", 1, scrape.left_out);
    fields.series("series", "values", 1, scrape.changed, &ServerValue::value);
    fields.series("grown", "grown_by", 2, scrape.grown, &ServerGrowth::by);
}

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

// The pages of servers as a run keeps them: into the lines of `server.jsonl`, out of them again,
// and summed over the run.

// What a counter grew by, as the shortest number that leads from one value to the other exactly.
// Pure.

/// The number of fewest digits with `from + number == to`, bit for bit, in the arithmetic of
/// doubles. Nothing where `to` is not above `from`, one of them is not finite, or the number would
/// be as long as `to` itself.
std::optional<double> growth(double from, double to);

/// SeriesLog: turns the pages of a server, one after the other, into the lines of `server.jsonl`:
/// a line for each new series, and one for each page with what changed. Owned by whoever scrapes.
/// It writes to a string, fetches nothing and knows no clock.
class SeriesLog {
  public:
    /// Series of all pages; real servers have 1,000 each. More are left out, and counted.
    static constexpr std::size_t series_max = 200'000;
    /// So often a page may have one series; vLLM has some twice.
    static constexpr std::size_t copies_max = 4;

    /// `secrets`: never to be in a label (text.hpp).
    explicit SeriesLog(std::uint32_t segment, std::size_t most = series_max,
                       std::vector<std::string> secrets = {})
        : segment_(segment), series_max_(most), secrets_(std::move(secrets)) {}

    /// Another page that is read again and again. Returns its number.
    std::size_t add_url(std::string url);

    /// Appends the lines of a page, with all newlines.
    void add(std::size_t url, std::int64_t t_ns, std::int64_t took_ns, const Exposition& page,
             std::string& out);
    /// Appends the line of a page that could not be had, or not be read.
    void add_failure(std::size_t url, std::int64_t t_ns, std::int64_t took_ns, std::string error,
                     std::string& out) const;

  private:
    struct Kept {
        std::uint32_t series = 0;
        bool counter = false;
        bool present = true;  ///< on the latest page
        double value = 0;
        std::uint64_t page = 0;  ///< the latest that had it
    };
    struct Source {
        std::string url;
        std::uint64_t pages = 0;
        std::unordered_map<std::string, std::size_t> index;  ///< of `kept`, by name and labels
        std::vector<Kept> kept;
    };

    /// Null: no room for it.
    Kept* find(Source& source, const Exposition& page, const MetricSample& sample,
               std::string& out);
    /// Into the line of the page at hand, where it is not what it was.
    void add_value(const Kept& kept, double value);

    std::uint32_t segment_;
    std::size_t series_max_;
    std::vector<std::string> secrets_;
    std::uint32_t next_ = 0;
    std::vector<Source> sources_;
    std::string key_;
    ServerScrape scrape_;  ///< of the page at hand; reused
};

// ScrapedPages: the servers' pages, put together again from the lines of server.jsonl, one after
// the other. The only reader of what the lines mean; ServerSums and the page of a run ask it.
// Refers to the mappings; reads no file and no clock. Memory: the series of a segment.

/// The stretch of the run that a line is of.
std::uint32_t segment_of(const ServerLine& line);

class ScrapedPages {
  public:
    /// `mappings` outlives this; of those that fit a page, the first holds.
    explicit ScrapedPages(std::span<const EngineMapping> mappings) : mappings_(mappings) {}

    /// The next line; one of another segment begins anew, without places. Returns the place whose
    /// page was read, or could not be; nothing for a line of a series. A number that no series of
    /// the place has is left out.
    std::optional<std::size_t> add(const ServerLine& line);

    std::uint32_t segment() const { return segment_; }
    /// What the pages of each place come to, in the order in which the segment names them.
    const std::vector<std::string>& urls() const { return urls_; }                ///< [places]
    const std::vector<EndpointFigures>& endpoints() const { return endpoints_; }  ///< [places]

  private:
    struct Series {
        ServerSeries line;
        std::size_t place = 0;
        double value = 0;
        bool present = false;
    };

    void begin(std::uint32_t segment);
    std::size_t place_of(const std::string& url);
    void add_series(const ServerSeries& line);
    bool is_used(std::size_t place, std::string_view name) const;
    void take_values(const ServerScrape& scrape, std::size_t place);
    void fill_page(std::size_t place);
    void drop_unused(std::size_t place);

    std::span<const EngineMapping> mappings_;
    std::uint32_t segment_ = 0;
    std::vector<Series> series_;                    ///< by number
    std::vector<std::string> urls_;                 ///< [places]
    std::vector<EndpointFigures> endpoints_;        ///< [places]
    std::vector<std::vector<std::uint32_t>> used_;  ///< [places]: series that figures are made of
    Exposition page_;
};

/// ServerSums: what servers measured of themselves over a run, from the lines of its server.jsonl,
/// one after the other. The run itself and `report` sum the same lines, so that they say the same.
/// Refers to the mappings; reads no file and no clock. Memory: the series of a segment.
class ServerSums {
  public:
    /// `mappings` outlives this; of those that fit a page, the first holds. `spans`: of segments
    /// that are not in it gauges say nothing.
    ServerSums(std::span<const EngineMapping> mappings, std::vector<MeasuredSpan> spans)
        : spans_(std::move(spans)), pages_(mappings) {}

    /// The next line. A number that no series has is left out.
    void add(const ServerLine& line);
    ServerTotals totals() const;

  private:
    static constexpr std::size_t gauges = static_cast<std::size_t>(ServerFigure::requests);
    using Gauges = std::array<std::optional<double>, gauges>;

    /// A gauge of one page over the measured span of one segment.
    struct Area {
        double value_seconds = 0;
        double seconds = 0;
    };
    /// The gauges of one page in the segment that is under way.
    struct PageGauges {
        std::uint64_t restarts = 0;  ///< as far as they are told
        std::int64_t before_ns = 0;  ///< of `before`
        Gauges before;               ///< of the latest page; nothing where that could not be read
        std::array<Area, gauges> areas;
    };
    /// What segments have come to.
    struct Sum {
        std::array<std::optional<double>, server_figures> counters;
        std::array<Area, gauges> areas;
        std::array<std::optional<double>, gauges> most;
        std::optional<double> joules;
    };

    void add_scrape(const ServerScrape& scrape, std::size_t place);
    ScrapedUrl& url_of(const std::string& url);
    void add_gauges(std::size_t place, std::int64_t t_ns);
    void add_most();
    const MeasuredSpan* span() const;
    /// What is under way, on top of the segments before.
    Sum with_segment() const;

    std::vector<MeasuredSpan> spans_;
    ScrapedPages pages_;
    std::vector<PageGauges> gauges_;  ///< [places of pages_]
    std::vector<ScrapedUrl> urls_;    ///< of all segments
    Sum sum_;                         ///< of the segments before; `most` of this one, too
};

}  // namespace driftless
