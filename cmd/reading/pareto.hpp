/// Pareto frontiers of two figures: which of many points no other point beats. Pure; points are
/// finite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace driftless {

enum class Better : std::uint8_t { low, high };

/// Which end of each axis people want.
struct ParetoAxes {
    Better x = Better::low;
    Better y = Better::high;
};

struct ParetoPoint {
    double x = 0;
    double y = 0;
};

/// `a` is at least as good as `b` on both axes, and better on one.
bool dominates(const ParetoPoint& a, const ParetoPoint& b, ParetoAxes axes);

/// Indices of the points that none dominates, from the best x to the best y. Of equal points all
/// are there, in the order given.
std::vector<std::size_t> pareto_frontier(std::span<const ParetoPoint> points, ParetoAxes axes);

struct Dominance {
    std::size_t count = 0;  ///< of points that dominate this one; 0: it is on the frontier
    std::size_t by = 0;     ///< one of them that is on the frontier, the one with the best x
};
/// [points]. Compares every two: for tables that people read, of some thousand points at most.
std::vector<Dominance> pareto_dominance(std::span<const ParetoPoint> points, ParetoAxes axes);

// Hypervolume of points in two figures: the area that they dominate, up to a reference point. One
// number for a whole frontier: of two groups with the same reference, the larger one reaches
// further. Pure. (Zitzler and Thiele, 1998.)

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
