/// StopRule: a condition that ends a run early (`--stop-when`). A plain value;
/// engine/record/early_stop.hpp judges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/stats/thresholds.hpp"

namespace driftless {

/// What a rule is about: answers of one period, or all requests of the run so far.
enum class StopFigure : std::uint8_t { ttft, ttft_due, tpot, e2e, errors, failed };

/// Nothing where the figure of that threshold is not known while a run goes on.
std::optional<StopFigure> stop_figure_of(const Threshold& threshold);

struct StopRule {
    StopFigure figure = StopFigure::errors;
    Threshold threshold;
    std::int64_t for_ns = 0;  ///< it has to hold for so long; 0: at the end of one period
    std::string text;         ///< as it was typed
};

}  // namespace driftless
