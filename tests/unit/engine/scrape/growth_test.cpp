// What is added to the old value gives the new one, bit for bit, and is as short as can be.
#include "engine/scrape/growth.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace driftless {
namespace {

TEST(Growth, IsExactAndShort) {
    EXPECT_EQ(growth(5, 6), 1);
    EXPECT_EQ(growth(-3, 4), 7);
    EXPECT_EQ(growth(1'000'000'000'000, 1'000'000'123'456), 123'456);
    // 0.3 - 0.1 is 0.19999999999999998; decimals that a server adds come back as it added them.
    EXPECT_EQ(growth(0.1, 0.1 + 0.2), 0.2);
    EXPECT_EQ(growth(1234.5678, 1234.5678 + 0.0017), 0.0017);
}

TEST(Growth, SaysNothingOfWhatDoesNotGrow) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const double nan = std::nan("");
    EXPECT_EQ(growth(5, 5), std::nullopt);
    EXPECT_EQ(growth(6, 5), std::nullopt);
    EXPECT_EQ(growth(5, infinity), std::nullopt);
    EXPECT_EQ(growth(-infinity, 5), std::nullopt);
    EXPECT_EQ(growth(nan, 5), std::nullopt);
    EXPECT_EQ(growth(5, nan), std::nullopt);
    EXPECT_EQ(growth(-std::numeric_limits<double>::max(), std::numeric_limits<double>::max()),
              std::nullopt);
}

TEST(Growth, OfRandomSumsIsExact) {
    std::mt19937_64 random(7);
    std::lognormal_distribution<double> size(3, 8);
    std::size_t told = 0;
    for (int i = 0; i < 20'000; ++i) {
        const double from = size(random);
        const double to = from + size(random);
        if (const std::optional<double> by = growth(from, to)) {
            EXPECT_EQ(from + *by, to);
            ++told;
        }
    }
    EXPECT_GT(told, 9'000U);
}

}  // namespace
}  // namespace driftless
