/// GrowRules: when users are added to a run (`--grow`), and by what figure. Plain values.
#pragma once

#include <cstdint>

namespace driftless {

/// What of a period (period.hpp) is held against the limit.
enum class GrowMetric : std::uint8_t { ttft, ttft_due, tpot, e2e };
enum class GrowFigure : std::uint8_t { avg, p50, p90, p95, p99, max };

struct GrowRules {
    GrowMetric metric = GrowMetric::ttft;
    GrowFigure figure = GrowFigure::avg;
    std::int64_t limit_ns = 0;  ///< 0: the number of users stays
    std::uint32_t users_first = 0;
    std::uint32_t users_max = 0;
    bool any() const { return limit_ns > 0; }
};

}  // namespace driftless
