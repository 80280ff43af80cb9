/// ScrapedPages: the servers' pages, put together again from the lines of server.jsonl, one after
/// the other. The only reader of what the lines mean; ServerSums and the page of a run ask it.
/// Refers to the mappings; reads no file and no clock. Memory: the series of a segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/scrape/endpoint_figures.hpp"
#include "proto/record/server_line.hpp"

namespace driftless {

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

}  // namespace driftless
