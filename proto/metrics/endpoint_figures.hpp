/// EndpointFigures: the figures of one address, from its pages, one after the other.
///
/// The first page is the baseline: counters are what they grew by since. A counter that the
/// baseline lacked was 0. One that fell began anew at 0: the server was restarted; where it rises
/// and falls in turns, several servers answer in turn, and no figure is known. Owned by the
/// code that scrapes; refers to the mappings. It fetches nothing and knows no clock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/metrics/exposition.hpp"
#include "proto/metrics/server_figure.hpp"

namespace driftless {

class EndpointFigures {
  public:
    /// `mappings` outlives this; of those that fit a page, the first holds.
    explicit EndpointFigures(std::span<const EngineMapping> mappings) : mappings_(mappings) {}

    /// The next page. Pages of an engine that no mapping has say nothing.
    void add(const Exposition& page);

    /// The engine that the pages are of; empty: unknown.
    std::string_view engine() const {
        return mapping_ != nullptr ? std::string_view(mapping_->engine) : std::string_view();
    }
    /// Whether figures of that engine are made of a metric.
    bool uses(std::string_view name) const;
    /// A gauge of the latest page, or what a counter grew by. Nothing where the server does not say
    /// it.
    std::optional<double> value(ServerFigure figure) const;
    /// Pages on which some counter was lower than before.
    std::uint64_t restarts() const { return restarts_; }
    /// Several servers answered in turn, as behind a gateway: `process_start_time_seconds` went
    /// back, or counters fell and rose again. Then no figure has a value.
    bool is_several() const { return several_; }

  private:
    /// One series of a source. Counters: what it grew by.
    struct Series {
        std::string group;  ///< its labels without those of ranks
        double latest = 0;
        double grown = 0;
        std::uint64_t page = 0;  ///< the latest that had it
        // What the pages before it had come to.
        std::optional<double> before;
        double grown_before = 0;
        bool fell = false;     ///< a counter, on that page
        bool unknown = false;  ///< a counter that was infinite, negative, or no number
        // How it fell before: each time to a new life, or back to the one of another server.
        std::uint32_t falls = 0;
        double peak = 0;         ///< before the latest fall
        double floor = 0;        ///< where it fell to
        double low = 0;          ///< since then, before it rose again to where it was
        bool has_risen = false;  ///< it did so in one step
    };
    /// What a source has found; by the text of the series.
    struct Found {
        std::map<std::string, Series> series;
        std::map<std::string, Series> over;
        std::map<std::string, Series> counts;  ///< of the histograms whose sums they are
    };

    void choose(const Exposition& page);
    /// On the latest page; `several_` where one fell back to what it was before it rose.
    bool some_counter_fell();
    void note_start(const Exposition& page, const MetricSample& sample);
    void take(const Exposition& page, const FigureSource& source, const MetricSample& sample,
              std::map<std::string, Series>& series);
    double sum(const std::map<std::string, Series>& series, ServerFigure figure) const;

    std::span<const EngineMapping> mappings_;
    const EngineMapping* mapping_ = nullptr;
    std::vector<Found> found_;  ///< [sources]
    std::uint64_t pages_ = 0;
    std::uint64_t restarts_ = 0;
    std::map<std::string, double> started_;  ///< latest start of a process, by its labels
    bool several_ = false;
};

/// One figure of several addresses: usages take the highest, all else is added up. Nothing where
/// none says it.
std::optional<double> figure_of_all(std::span<const EndpointFigures> endpoints,
                                    ServerFigure figure);

}  // namespace driftless
