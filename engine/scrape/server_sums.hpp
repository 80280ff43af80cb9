/// ServerSums: what servers measured of themselves over a run, from the lines of its server.jsonl,
/// one after the other. The run itself and `report` sum the same lines, so that they say the same.
/// Refers to the mappings; reads no file and no clock. Memory: the series of a segment.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/scrape/endpoint_figures.hpp"
#include "engine/scrape/server_totals.hpp"
#include "proto/record/server_line.hpp"

namespace driftless {

class ServerSums {
  public:
    /// `mappings` outlives this; of those that fit a page, the first holds. `spans`: of segments
    /// that are not in it gauges say nothing.
    ServerSums(std::span<const EngineMapping> mappings, std::vector<MeasuredSpan> spans)
        : mappings_(mappings), spans_(std::move(spans)) {}

    /// The next line. A number that no series has is left out.
    void add(const ServerLine& line);
    ServerTotals totals() const;

  private:
    static constexpr std::size_t gauges = static_cast<std::size_t>(ServerFigure::requests);
    using Gauges = std::array<std::optional<double>, gauges>;

    struct Series {
        ServerSeries line;
        std::size_t source = 0;
        double value = 0;
        bool present = false;
    };
    /// A gauge of one page over the measured span of one segment.
    struct Area {
        double value_seconds = 0;
        double seconds = 0;
    };
    /// A page in one segment.
    struct Source {
        std::string url;
        EndpointFigures figures;
        std::vector<std::uint32_t>
            series;  ///< those that the engine's table uses, once it is known
        bool is_chosen = false;
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

    void begin(std::uint32_t segment);
    void add_series(const ServerSeries& line);
    void add_scrape(const ServerScrape& scrape);
    std::size_t source_of(const std::string& url);
    ScrapedUrl& url_of(const std::string& url);
    void fill_page(Source& source, std::size_t number);
    void add_gauges(Source& source, std::int64_t t_ns);
    void add_most();
    const MeasuredSpan* span() const;
    /// What is under way, on top of the segments before.
    Sum with_segment() const;

    std::span<const EngineMapping> mappings_;
    std::vector<MeasuredSpan> spans_;
    std::uint32_t segment_ = 0;
    std::vector<Series> series_;    ///< of this segment
    std::vector<Source> sources_;   ///< of this segment
    std::vector<ScrapedUrl> urls_;  ///< of all
    Sum sum_;                       ///< of the segments before; `most` of this one, too
    Exposition page_;
};

}  // namespace driftless
