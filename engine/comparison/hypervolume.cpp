#include "engine/comparison/hypervolume.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace driftless {

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
