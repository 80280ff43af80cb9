// Pareto: frontiers that were found by hand, ties among them; and, of random points on a small
// grid, those that the definition gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "cmd/runs/table.hpp"

namespace driftless {
namespace {

using Indices = std::vector<std::size_t>;

constexpr ParetoAxes latency_against_rate{Better::low, Better::high};
constexpr ParetoAxes both_high{Better::high, Better::high};

TEST(Pareto, LowLatencyAndHighRate) {
    // A ladder of load: the fourth point is slower than the third and serves less.
    const std::vector<ParetoPoint> points{{10, 100}, {20, 180}, {40, 260}, {60, 250}, {15, 90}};
    EXPECT_EQ(pareto_frontier(points, latency_against_rate), (Indices{0, 1, 2}));
    const std::vector<Dominance> all = pareto_dominance(points, latency_against_rate);
    EXPECT_EQ(all[2].count, 0U);
    EXPECT_EQ(all[3].count, 1U);  // by {40, 260} alone: {20, 180} serves less
    EXPECT_EQ(all[3].by, 2U);
    EXPECT_EQ(all[4].count, 1U);
    EXPECT_EQ(all[4].by, 0U);
}

TEST(Pareto, HighInteractivityAndHighRate) {
    const std::vector<ParetoPoint> points{{50, 100}, {40, 180}, {45, 120}, {39, 181}, {38, 150}};
    EXPECT_EQ(pareto_frontier(points, both_high), (Indices{0, 2, 1, 3}));
    EXPECT_EQ(pareto_dominance(points, both_high)[4].count, 2U);
}

TEST(Pareto, TiesOfOneAxisLeaveTheBetter) {
    const std::vector<ParetoPoint> points{{10, 100}, {10, 120}, {12, 120}, {9, 100}};
    EXPECT_EQ(pareto_frontier(points, latency_against_rate), (Indices{3, 1}));
}

TEST(Pareto, EqualPointsAreAllThere) {
    const std::vector<ParetoPoint> points{{20, 5}, {10, 1}, {20, 5}, {10, 1}, {20, 4}};
    EXPECT_EQ(pareto_frontier(points, latency_against_rate), (Indices{1, 3, 0, 2}));
}

TEST(Pareto, FewPoints) {
    EXPECT_TRUE(pareto_frontier({}, both_high).empty());
    const std::vector<ParetoPoint> one{{1, 1}};
    EXPECT_EQ(pareto_frontier(one, both_high), Indices{0});
}

/// What is better, by the words of the definition.
bool beats(const ParetoPoint& a, const ParetoPoint& b, ParetoAxes axes) {
    const double x = axes.x == Better::low ? b.x - a.x : a.x - b.x;
    const double y = axes.y == Better::low ? b.y - a.y : a.y - b.y;
    return std::min(x, y) >= 0 && std::max(x, y) > 0;
}

TEST(Pareto, IsWhatTheDefinitionGives) {
    std::mt19937 random(7);
    std::uniform_int_distribution<int> place(1, 12);
    std::uniform_int_distribution<std::size_t> many(0, 40);
    for (int round = 0; round < 400; ++round) {
        const ParetoAxes axes{round % 2 == 0 ? Better::low : Better::high,
                              round % 4 < 2 ? Better::low : Better::high};
        std::vector<ParetoPoint> points(many(random));
        for (ParetoPoint& point : points) {
            point = {static_cast<double>(place(random)), static_cast<double>(place(random))};
        }
        Indices expected;
        const std::vector<Dominance> all = pareto_dominance(points, axes);
        for (std::size_t i = 0; i < points.size(); ++i) {
            const auto count = std::count_if(points.begin(), points.end(), [&](const auto& one) {
                return beats(one, points[i], axes);
            });
            EXPECT_EQ(all[i].count, static_cast<std::size_t>(count));
            if (count == 0) {
                expected.push_back(i);
            } else {
                EXPECT_TRUE(beats(points[all[i].by], points[i], axes));
                EXPECT_EQ(all[all[i].by].count, 0U);
            }
        }
        Indices found = pareto_frontier(points, axes);
        for (std::size_t i = 1; i < found.size(); ++i) {  // from the best x on
            const double before = points[found[i - 1]].x;
            EXPECT_TRUE(axes.x == Better::low ? before <= points[found[i]].x
                                              : before >= points[found[i]].x);
        }
        std::sort(found.begin(), found.end());
        EXPECT_EQ(found, expected);
    }
}

}  // namespace
}  // namespace driftless
