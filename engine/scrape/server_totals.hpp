/// ServerTotals: what servers measured of themselves over a run. Plain values; server_sums.hpp
/// makes them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/scrape/server_figure.hpp"

namespace driftless {

/// What of a segment of the run is measured, from time 0.
struct MeasuredSpan {
    std::uint32_t segment = 0;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
};

/// One page that was read again and again.
struct ScrapedUrl {
    std::string url;
    std::string engine;  ///< whose table fits; empty: none
    std::uint64_t scrapes = 0;
    std::uint64_t failures = 0;
    std::string first_failure;
    std::uint64_t restarts = 0;  ///< pages on which some counter had begun anew
    bool several = false;        ///< servers answered in turn: EndpointFigures::is_several
};

/// A gauge over the measured spans.
struct GaugeTotals {
    double mean = 0;  ///< over time, by straight lines between scrapes
    double max = 0;   ///< of the scrapes
};

struct ServerTotals {
    std::vector<ScrapedUrl> urls;
    std::uint64_t scrapes = 0;  ///< pages that were read
    std::uint64_t failures = 0;
    /// What counters grew by from the first page to the last; null: no page says it.
    std::array<std::optional<double>, server_figures> counters;
    std::array<std::optional<GaugeTotals>, server_figures> gauges;
    std::optional<double> joules;  ///< over the measured spans

    std::optional<double> counter(ServerFigure figure) const {
        return counters[static_cast<std::size_t>(figure)];
    }
    const std::optional<GaugeTotals>& gauge(ServerFigure figure) const {
        return gauges[static_cast<std::size_t>(figure)];
    }
    /// The pages of some URL are of several servers in turn: no figure but power is known.
    const ScrapedUrl* of_several() const;
    /// The two counters' quotient; null where one is unknown, or `of` is 0.
    std::optional<double> share(ServerFigure part, ServerFigure of) const;
};

}  // namespace driftless
