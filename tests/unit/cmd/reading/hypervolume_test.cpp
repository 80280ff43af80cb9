// Hypervolume: areas that were added up by hand; and, of random points on a small grid, the number
// of unit squares that some point dominates.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "cmd/runs/table.hpp"

namespace driftless {
namespace {

constexpr ParetoAxes latency_against_rate{Better::low, Better::high};
constexpr ParetoAxes both_high{Better::high, Better::high};

TEST(Hypervolume, OfAStaircase) {
    // Up to 50 ms and from 0/s on: 40 x 100, then 30 x 80 more, then 10 x 80 more.
    const std::vector<ParetoPoint> points{{10, 100}, {20, 180}, {40, 260}, {45, 200}};
    EXPECT_DOUBLE_EQ(hypervolume(points, latency_against_rate, {50, 0}), 4000 + 2400 + 800);
}

TEST(Hypervolume, WhereMoreIsBetterOnBothAxes) {
    // 50 x 100, then 40 x 80 more.
    const std::vector<ParetoPoint> points{{40, 180}, {50, 100}, {30, 60}};
    EXPECT_DOUBLE_EQ(hypervolume(points, both_high, {0, 0}), 5000 + 3200);
    EXPECT_DOUBLE_EQ(hypervolume(points, both_high, {10, 50}), 40 * 50 + 30 * 80);
}

TEST(Hypervolume, PointsBeyondTheReferenceAddNothing) {
    const std::vector<ParetoPoint> points{{60, 300}, {50, 200}, {10, 0}};
    EXPECT_DOUBLE_EQ(hypervolume(points, latency_against_rate, {50, 0}), 0);
    EXPECT_DOUBLE_EQ(hypervolume({}, both_high, {0, 0}), 0);
}

TEST(Hypervolume, ReferenceLiesBeyondTheWorst) {
    const std::vector<ParetoPoint> points{{10, 100}, {40, 300}};
    const ParetoPoint low_high = hypervolume_reference(points, latency_against_rate);
    EXPECT_DOUBLE_EQ(low_high.x, 44);
    EXPECT_DOUBLE_EQ(low_high.y, 0);
    const ParetoPoint high_low = hypervolume_reference(points, {Better::high, Better::low});
    EXPECT_DOUBLE_EQ(high_low.x, 0);
    EXPECT_DOUBLE_EQ(high_low.y, 330);
}

/// Unit squares between the reference corner (x = 14 or 0, y = 14 or 0) and some point.
int squares(const std::vector<ParetoPoint>& points, ParetoAxes axes) {
    int count = 0;
    for (int x = 0; x < 14; ++x) {
        for (int y = 0; y < 14; ++y) {
            const auto holds = [&](const ParetoPoint& one) {
                const bool in_x = axes.x == Better::high ? x + 1 <= one.x : x >= one.x;
                const bool in_y = axes.y == Better::high ? y + 1 <= one.y : y >= one.y;
                return in_x && in_y;
            };
            count += std::any_of(points.begin(), points.end(), holds) ? 1 : 0;
        }
    }
    return count;
}

TEST(Hypervolume, IsTheAreaThatSquaresCover) {
    std::mt19937 random(11);
    std::uniform_int_distribution<int> place(0, 14);
    std::uniform_int_distribution<std::size_t> many(0, 25);
    for (int round = 0; round < 400; ++round) {
        const ParetoAxes axes{round % 2 == 0 ? Better::low : Better::high,
                              round % 4 < 2 ? Better::low : Better::high};
        std::vector<ParetoPoint> points(many(random));
        for (ParetoPoint& point : points) {
            point = {static_cast<double>(place(random)), static_cast<double>(place(random))};
        }
        const ParetoPoint reference{axes.x == Better::high ? 0.0 : 14.0,
                                    axes.y == Better::high ? 0.0 : 14.0};
        EXPECT_DOUBLE_EQ(hypervolume(points, axes, reference), squares(points, axes));
    }
}

}  // namespace
}  // namespace driftless
