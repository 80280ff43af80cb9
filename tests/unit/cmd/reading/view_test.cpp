// The four percentiles of the tools, on small samples, where they differ.
#include "cmd/reading/view.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

ValueList list_of(std::initializer_list<double> values) {
    ValueList list;
    for (const double value : values) {
        list.add(value);
    }
    list.close();
    return list;
}

TEST(ValueList, PercentilesDiffer) {
    const ValueList list = list_of({200, 100, 198, 100});
    EXPECT_DOUBLE_EQ(list.linear(500), 149);
    EXPECT_EQ(list.nearest_above(500), 100);
    EXPECT_EQ(list.floor_rank(500), 198);
    double nearest = 0;
    EXPECT_TRUE(list.nearest_even(500, 1, nearest));
    EXPECT_EQ(nearest, 198);
    EXPECT_FALSE(list.nearest_even(900, 1, nearest)) << "it is the infinite one";
    EXPECT_EQ(list.linear(1000), 200);
    EXPECT_EQ(list.floor_rank(1000), 200);
    EXPECT_EQ(list.nearest_above(1), 100);
}

// numpy.percentile([10, 20, 30, 40], 50, method="nearest") is 30: place 1.5 rounds to the even 2.
TEST(ValueList, NearestRoundsHalvesToEven) {
    double nearest = 0;
    EXPECT_TRUE(list_of({10, 20, 30, 40}).nearest_even(500, 0, nearest));
    EXPECT_EQ(nearest, 30);
    EXPECT_TRUE(list_of({10, 20}).nearest_even(500, 0, nearest));
    EXPECT_EQ(nearest, 10);
}

TEST(ValueList, OfNothingIsZero) {
    const ValueList list = list_of({});
    double nearest = 7;
    EXPECT_EQ(list.mean() + list.std() + list.linear(500) + list.floor_rank(500), 0);
    EXPECT_FALSE(list.nearest_even(500, 0, nearest));
}

TEST(WeightedFigures, CountByTheirWeights) {
    const WeightedFigures figures = weighted_figures({{20, 4}, {40, 10}, {100, 1}, {7, 0}});
    EXPECT_EQ(figures.count, 15);
    EXPECT_NEAR(figures.mean, 580.0 / 15, 1e-12);
    EXPECT_EQ(figures.median, 40);
    EXPECT_EQ(figures.mode, 40);
    EXPECT_EQ(figures.min, 20) << "what weighs nothing is not there";
    EXPECT_EQ(figures.max, 100);
    // Without any weight all count the same.
    EXPECT_EQ(weighted_figures({{1, 0}, {3, 0}}).mean, 2);
    EXPECT_EQ(weighted_figures({}).count, 0);
}

}  // namespace
}  // namespace driftless
