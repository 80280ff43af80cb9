#include "cmd/reading/pareto.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace driftless {

namespace {

/// The point with the sign of each axis turned so that more is better.
ParetoPoint upward(const ParetoPoint& point, ParetoAxes axes) {
    return {axes.x == Better::high ? point.x : -point.x,
            axes.y == Better::high ? point.y : -point.y};
}

}  // namespace

bool dominates(const ParetoPoint& a, const ParetoPoint& b, ParetoAxes axes) {
    const ParetoPoint up = upward(a, axes);
    const ParetoPoint other = upward(b, axes);
    const bool nowhere_worse = up.x >= other.x && up.y >= other.y;
    return nowhere_worse && (up.x > other.x || up.y > other.y);
}

std::vector<std::size_t> pareto_frontier(std::span<const ParetoPoint> points, ParetoAxes axes) {
    std::vector<std::size_t> order(points.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const ParetoPoint one = upward(points[a], axes);
        const ParetoPoint other = upward(points[b], axes);
        return one.x != other.x ? one.x > other.x : one.y > other.y;
    });
    // Best x first, and best y among equal x: what comes later is dominated unless its y is better,
    // or the point is equal to the last one that was kept.
    std::vector<std::size_t> frontier;
    for (const std::size_t index : order) {
        const ParetoPoint one = upward(points[index], axes);
        const ParetoPoint last = frontier.empty() ? one : upward(points[frontier.back()], axes);
        const bool equal = one.x == last.x && one.y == last.y;
        if (frontier.empty() || one.y > last.y || equal) {
            frontier.push_back(index);
        }
    }
    return frontier;
}

std::vector<Dominance> pareto_dominance(std::span<const ParetoPoint> points, ParetoAxes axes) {
    const std::vector<std::size_t> frontier = pareto_frontier(points, axes);
    std::vector<Dominance> all(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
        const auto beats = [&](const ParetoPoint& one) { return dominates(one, points[i], axes); };
        const auto found = std::find_if(frontier.begin(), frontier.end(),
                                        [&](std::size_t at) { return beats(points[at]); });
        if (found != frontier.end()) {
            all[i].by = *found;
            all[i].count =
                static_cast<std::size_t>(std::count_if(points.begin(), points.end(), beats));
        }
    }
    return all;
}

namespace {

/// How much better than the reference, on one axis; below 0: worse.
double gain(double value, double reference, Better better) {
    return better == Better::high ? value - reference : reference - value;
}

}  // namespace

ParetoPoint hypervolume_reference(std::span<const ParetoPoint> points, ParetoAxes axes) {
    ParetoPoint worst;
    for (const ParetoPoint& point : points) {
        worst.x = std::max(worst.x, point.x);
        worst.y = std::max(worst.y, point.y);
    }
    return {axes.x == Better::high ? 0 : worst.x * reference_margin,
            axes.y == Better::high ? 0 : worst.y * reference_margin};
}

double hypervolume(std::span<const ParetoPoint> points, ParetoAxes axes,
                   const ParetoPoint& reference) {
    double area = 0;
    double covered = 0;  // of y, by the points with a better x
    for (const std::size_t index : pareto_frontier(points, axes)) {
        const double width = gain(points[index].x, reference.x, axes.x);
        const double height = gain(points[index].y, reference.y, axes.y);
        if (width > 0 && height > covered) {
            area += width * (height - covered);
            covered = height;
        }
    }
    return area;
}

}  // namespace driftless
