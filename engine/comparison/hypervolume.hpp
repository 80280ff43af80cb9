/// Hypervolume of points in two figures: the area that they dominate, up to a reference point. One
/// number for a whole frontier: of two groups with the same reference, the larger one reaches
/// further. Pure. (Zitzler and Thiele, 1998.)
#pragma once

#include <span>

#include "engine/comparison/pareto.hpp"

namespace driftless {

/// How far the reference lies beyond the worst point of an axis where less is better: with 1 the
/// worst point would span no area at all.
inline constexpr double reference_margin = 1.1;

/// The reference of a chart, for all of its groups: 0 where more is better, else the worst of all
/// points times `reference_margin`. Points are positive.
ParetoPoint hypervolume_reference(std::span<const ParetoPoint> points, ParetoAxes axes);

/// In the unit of x times the unit of y. Points that are not better than the reference on both axes
/// add nothing.
double hypervolume(std::span<const ParetoPoint> points, ParetoAxes axes,
                   const ParetoPoint& reference);

}  // namespace driftless
