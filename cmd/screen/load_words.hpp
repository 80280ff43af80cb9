/// Words of the summary for what a run sent and got. Pure; for the screen alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/stats/summary.hpp"

namespace driftless {

/// The best whole second; nothing where it is not known, or the run is shorter than one.
std::optional<std::uint64_t> shown_peak(const SummaryFigures& f);
/// ", peak 1,234/s", the best whole second; empty where the run is shorter than one.
std::string peak_text(const SummaryFigures& f);

/// Lengths of answers against those recorded; empty where all are as recorded.
std::string outputs_text(const SummaryFigures& f);

}  // namespace driftless
