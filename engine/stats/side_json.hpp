/// The block `sides` of summary.json: the two servers of a dual-fire run beside each other.
#pragma once

#include <optional>

#include "engine/stats/side_figures.hpp"
#include "proto/json/write.hpp"

namespace driftless {

/// Writes the member `sides`; null where the run has none.
void write_sides(JsonWriter& json, const std::optional<SideFigures>& sides);

}  // namespace driftless
