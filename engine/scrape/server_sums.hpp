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

#include "engine/scrape/scraped_pages.hpp"
#include "engine/scrape/server_totals.hpp"
#include "proto/record/server_line.hpp"

namespace driftless {

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
