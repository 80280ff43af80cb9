// The inverse of a curve is its inverse, at every piece and between them.
#include "engine/plan/rate_curve.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

RateCurve many_pieces() {
    RateCurve curve(0);
    curve.add(10, 0, 5);                          // 25 arrivals
    curve.add(5, 5, 5);                           // 25
    curve.add(10, 5, 50, RampForm::exponential);  // 195.4
    curve.add(20, 50, 0);                         // 500
    curve.add(7, 0, 0);                           // none
    curve.add(3, 8, 2, RampForm::exponential);    // 12.98
    return curve;
}

TEST(RateCurve, IsInvertedExactly) {
    const RateCurve curve = many_pieces();
    for (double arrivals = 0; arrivals < 1000; arrivals += 0.37) {
        const double seconds = curve.seconds_at(arrivals).value();
        EXPECT_NEAR(curve.arrivals_by(seconds), arrivals, 1e-6) << seconds;
    }
    for (double seconds = 0; seconds < 44.9; seconds += 0.11) {
        EXPECT_NEAR(curve.seconds_at(curve.arrivals_by(seconds)).value(), seconds, 1e-4);
    }
}

// By hand: a ramp from 0 to r over T has its nth arrival at sqrt(2nT/r), as GuideLLM sends it.
TEST(RateCurve, OfALineIsARoot) {
    RateCurve curve(0);
    curve.add(10, 0, 5);
    EXPECT_DOUBLE_EQ(curve.seconds_at(0).value(), 0);
    EXPECT_DOUBLE_EQ(curve.seconds_at(1).value(), 2);
    EXPECT_DOUBLE_EQ(curve.seconds_at(4).value(), 4);
    EXPECT_DOUBLE_EQ(curve.seconds_at(25).value(), 10);
    EXPECT_DOUBLE_EQ(curve.seconds_at(26).value(), 10.2) << "the last rate holds";
    EXPECT_EQ(curve.last_rate(), 5);
}

// Where nothing is expected for a while, the next arrival comes behind it.
TEST(RateCurve, SkipsStretchesWithoutArrivals) {
    RateCurve curve(0);
    curve.add(4, 0, 0);
    curve.add(2, 10, 10);
    curve.add(5, 0, 0);
    curve.hold(1);
    EXPECT_EQ(curve.seconds_at(0), 4);
    EXPECT_EQ(curve.seconds_at(19.5), 5.95);
    EXPECT_EQ(curve.seconds_at(20), 11);
    EXPECT_EQ(curve.seconds_at(21), 12);
}

TEST(RateCurve, EndsWhereItsLastRateIsNone) {
    RateCurve curve(0);
    curve.add(2, 10, 0);
    EXPECT_TRUE(curve.seconds_at(9.9));
    EXPECT_FALSE(curve.seconds_at(10));
    EXPECT_FALSE(curve.is_zero());
    EXPECT_TRUE(RateCurve(0).is_zero());
    EXPECT_EQ(RateCurve(4).seconds_at(10), 2.5);
}

}  // namespace
}  // namespace driftless
