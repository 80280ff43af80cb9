// Each arrival process has the gaps of its law: 10,000 of them, Kolmogorov-Smirnov at 1 %, with
// fixed seeds.
#include "engine/plan/unit_gaps.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tests/unit/engine/plan/goodness_of_fit.hpp"

namespace driftless {
namespace {

std::vector<double> gaps_of(ArrivalLaw law, double shape, std::uint64_t seed) {
    const UnitGaps gaps(law, shape, seed);
    std::vector<double> all;
    for (std::uint64_t number = 1; number <= 10'000; ++number) {
        all.push_back(gaps.gap(number));
    }
    return all;
}

double mean_of(const std::vector<double>& all) {
    return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

TEST(UnitGaps, OfPoissonAreExponential) {
    for (const std::uint64_t seed : {0, 1, 2, 42}) {
        const std::vector<double> gaps = gaps_of(ArrivalLaw::poisson, 1, seed);
        EXPECT_LT(distance_from(gaps, exponential_law), fits_at_one_percent) << seed;
        EXPECT_NEAR(mean_of(gaps), 1, 0.03);
    }
}

TEST(UnitGaps, OfGammaHaveTheirShape) {
    for (const double shape : {0.05, 0.5, 1.0, 2.5, 40.0}) {
        const std::vector<double> gaps = gaps_of(ArrivalLaw::gamma, shape, 3);
        const auto law = [shape](double x) { return gamma_law(shape, x * shape); };
        EXPECT_LT(distance_from(gaps, law), fits_at_one_percent) << shape;
        EXPECT_NEAR(mean_of(gaps), 1, 0.04 / std::sqrt(shape)) << shape;
    }
}

// The test that they pass is not blind: other laws fail it.
TEST(UnitGaps, OfOtherLawsDoNotFit) {
    const auto half = [](double x) { return gamma_law(0.9, x * 0.9); };
    EXPECT_GT(distance_from(gaps_of(ArrivalLaw::poisson, 1, 0), half), fits_at_one_percent);
    EXPECT_GT(distance_from(gaps_of(ArrivalLaw::gamma, 1.1, 0), exponential_law),
              fits_at_one_percent);
    EXPECT_GT(distance_from(gaps_of(ArrivalLaw::constant, 1, 0), exponential_law), 10);
}

// A gap depends on the seed and its number, and not on how many others were drawn.
TEST(UnitGaps, AreNumbered) {
    const UnitGaps gaps(ArrivalLaw::gamma, 0.5, 9);
    const double fifth = gaps.gap(5);
    (void)gaps.gap(4);
    EXPECT_EQ(gaps.gap(5), fifth);
    EXPECT_NE(gaps.gap(6), fifth);
    EXPECT_NE(UnitGaps(ArrivalLaw::gamma, 0.5, 10).gap(5), fifth);
    EXPECT_EQ(UnitGaps(ArrivalLaw::constant, 1, 0).gap(77), 1);
}

// Neighbours are not alike: no correlation of gaps that follow each other, beyond chance.
TEST(UnitGaps, AreIndependent) {
    const std::vector<double> gaps = gaps_of(ArrivalLaw::poisson, 1, 5);
    double sum = 0;
    for (std::size_t i = 1; i < gaps.size(); ++i) {
        sum += (gaps[i] - 1) * (gaps[i - 1] - 1);
    }
    EXPECT_LT(std::abs(sum / std::sqrt(static_cast<double>(gaps.size()))), 2.58);
}

}  // namespace
}  // namespace driftless
