/// The two sides of a dual-fire run, as a short table for people. Pure.
#pragma once

#include <optional>
#include <string>

#include "engine/stats/side_figures.hpp"

namespace driftless {

/// Empty where the run has no sides. It tells of both sides' drift, and of what was measured row by
/// row; whether that is more than chance is `compare`'s to say.
std::string sides_table(const std::optional<SideFigures>& sides);

}  // namespace driftless
