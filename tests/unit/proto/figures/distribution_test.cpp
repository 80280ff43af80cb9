// How many values a percentile needs: the table of MLPerf Endpoints (docs/early_stopping.md).

#include "proto/figures/distribution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "proto/core/hash.hpp"

namespace driftless {

namespace {

TEST(Floors, AreThoseOfMlperf) {
    EXPECT_EQ(percentile_floor(500), 11U);
    EXPECT_EQ(percentile_floor(750), 24U);
    EXPECT_EQ(percentile_floor(900), 64U);
    EXPECT_EQ(percentile_floor(950), 130U);
    EXPECT_EQ(percentile_floor(990), 662U);
    EXPECT_EQ(percentile_floor(999), 6636U);
    EXPECT_EQ(percentile_floor(250), 24U);
}

// Percentiles are nearest rank, exact from the sample and within 0.1 % from the histogram.

// The textbook example of nearest rank (15, 20, 35, 40, 50): P25 is 20, P50 35, P75 40, P90 50.
TEST(Sample, IsNearestRank) {
    Sample sample;
    for (const double value : {35.0, 20.0, 15.0, 50.0, 40.0}) {
        sample.add(value);
    }
    const Distribution d = sample.distribution();
    EXPECT_EQ(d.count, 5u);
    EXPECT_EQ(d.at[0], 20);
    EXPECT_EQ(d.median(), 35);
    EXPECT_EQ(d.at[2], 40);
    EXPECT_EQ(d.at[3], 50);
    EXPECT_EQ(d.mean, 32);
    EXPECT_DOUBLE_EQ(d.std, std::sqrt(166.0));  // of the population: numpy.std gives 12.884098
    EXPECT_EQ(d.min, 15);
    EXPECT_EQ(d.max, 50);
}

// Ranks at the borders: of 1,000 values P99.9 is the 999th, of 1,001 the 1,000th, of 1 the first.
TEST(Sample, RanksAtTheBorders) {
    EXPECT_EQ(nearest_rank(1000, 999), 999u);
    EXPECT_EQ(nearest_rank(1001, 999), 1000u);
    EXPECT_EQ(nearest_rank(100, 990), 99u);
    EXPECT_EQ(nearest_rank(101, 990), 100u);
    EXPECT_EQ(nearest_rank(1, 250), 1u);
    EXPECT_EQ(nearest_rank(2, 500), 1u);
    EXPECT_EQ(Sample().distribution().count, 0u);
}

// Many numbers are sorted without comparing them, to the same order: of both signs, fractions, and
// far apart; on both sides of the count from which that is done.
TEST(Sample, SortsManyNumbers) {
    Random random(7);
    for (const std::size_t count : {2047U, 2048U, 5000U}) {
        Sample sample;
        std::vector<double> values;
        for (std::size_t i = 0; i < count; ++i) {
            const double sign = random.uniform() < 0.3 ? -1 : 1;
            values.push_back(i % 9 == 0 ? 0.0 : sign * std::pow(10.0, 40 * random.uniform() - 20));
            sample.add(values.back());
        }
        std::sort(values.begin(), values.end());
        const Distribution d = sample.distribution();
        EXPECT_EQ(d.min, values.front());
        EXPECT_EQ(d.max, values.back());
        double sum = 0;
        for (const double value : values) {
            sum += value;
        }
        EXPECT_EQ(d.mean, sum / static_cast<double>(count));  // in the same order, to the last bit
        for (std::size_t i = 0; i < percentiles.size(); ++i) {
            EXPECT_EQ(d.at[i], values[nearest_rank(count, percentiles[i].per_mille) - 1]);
        }
    }
}

// Over nine decades the histogram stays within 0.1 % of the exact sample, and its mean, std, min
// and max are those of the values.
TEST(Histogram, StaysWithinItsError) {
    Random random(11);
    Sample sample;
    Histogram histogram;
    for (int i = 0; i < 50000; ++i) {
        const auto value = static_cast<std::int64_t>(std::pow(10.0, 9 * random.uniform()));
        sample.add(static_cast<double>(value));
        histogram.add(value);
    }
    const Distribution exact = sample.distribution();
    const Distribution close = histogram.distribution();
    EXPECT_EQ(close.count, exact.count);
    EXPECT_EQ(close.min, exact.min);
    EXPECT_EQ(close.max, exact.max);
    EXPECT_NEAR(close.mean, exact.mean, 1e-9 * exact.mean);
    EXPECT_NEAR(close.std, exact.std, 1e-9 * exact.std);
    for (std::size_t i = 0; i < percentiles.size(); ++i) {
        EXPECT_NEAR(close.at[i], exact.at[i], 0.001 * exact.at[i]) << percentiles[i].name;
    }
}

// Each value alone comes back within 0.1 %, at every border of a bucket and at both ends.
TEST(Histogram, EveryBorderIsWithinItsError) {
    for (int shift = 0; shift < 63; ++shift) {
        for (const std::int64_t step : {-1, 0, 1}) {
            const std::int64_t value = (std::int64_t{1} << shift) + step;
            for (const std::int64_t other : {value, value + value / 513}) {
                Histogram histogram;
                histogram.add(other, 1000);
                histogram.add(0);  // so that it is the bucket that answers, and not min or max
                histogram.add(INT64_MAX);
                EXPECT_NEAR(histogram.distribution().median(), static_cast<double>(other),
                            0.001 * static_cast<double>(other));
            }
        }
    }
    Histogram histogram;
    histogram.add(-5);
    EXPECT_EQ(histogram.distribution().max, 0);
}

// Merging two is the same as adding all to one; weights are repetitions.
TEST(Histogram, MergesAndWeighs) {
    Random random(5);
    Histogram all;
    Histogram left;
    Histogram right;
    for (int i = 0; i < 3000; ++i) {
        const auto value = static_cast<std::int64_t>(random.below(1'000'000));
        const std::uint64_t weight = random.below(4);
        for (std::uint64_t k = 0; k < weight; ++k) {
            all.add(value);
        }
        (i % 3 == 0 ? left : right).add(value, weight);
    }
    left.merge(right);
    left.merge(Histogram());
    const Distribution a = all.distribution();
    const Distribution b = left.distribution();
    EXPECT_EQ(a.count, b.count);
    EXPECT_EQ(a.at, b.at);
    EXPECT_EQ(a.min, b.min);
    EXPECT_EQ(a.max, b.max);
    EXPECT_NEAR(a.mean, b.mean, 1e-9 * a.mean);
    EXPECT_NEAR(a.std, b.std, 1e-9 * a.std);
}

}  // namespace

}  // namespace driftless
