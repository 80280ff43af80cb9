// The parts of a comparison: names of metrics, draws, and what power says.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "cmd/reading/compare_groups.hpp"
#include "cmd/reading/compare_spread.hpp"
#include "tests/comparison/made_runs.hpp"

namespace driftless {
namespace {

TEST(ComparedMetric, NamesAreReadBack) {
    for (const char* name :
         {"ttft:mean", "ttft_due:p50", "tpot:p99.9", "e2e:p0.1", "errors", "good", "goodput",
          "request_throughput", "output_throughput", "total_token_throughput"}) {
        const std::optional<ComparedMetric> metric = read_metric(name);
        ASSERT_TRUE(metric) << name;
        EXPECT_EQ(metric->name(), name);
    }
    EXPECT_EQ(read_metric("throughput")->name(), "request_throughput");
    EXPECT_EQ(read_metric("request_goodput")->name(), "goodput");
    EXPECT_EQ(read_metric("ttft:p99.0")->name(), "ttft:p99");
}

TEST(ComparedMetric, OtherNamesAreNone) {
    for (const char* name :
         {"", ":", "ttft", "ttft:", "ttft:p", "ttft:p0", "ttft:p100", "ttft:p0.0", "ttft:p99.",
          "ttft:p99.99", "ttft:p-1", "ttft:p9x", "ttft:p .5", "ttft:max", "itl:p50", "Errors",
          "errors:mean", "ttft:mean ", "ttft:p4294967395"}) {
        EXPECT_FALSE(read_metric(name)) << name;
    }
}

TEST(ComparedMetric, UsualOnesHaveNamesOfTheirOwn) {
    EXPECT_EQ(usual_metrics(false).size() + 2, usual_metrics(true).size());
    for (const ComparedMetric& metric : usual_metrics(true)) {
        EXPECT_EQ(read_metric(metric.name())->name(), metric.name());
    }
}

TEST(BlockDraws, EachDrawHasAsManyUnitsAsThereAre) {
    for (const std::size_t block : {1U, 2U, 7U, 10U, 11U}) {
        BlockDraws draws(11, block, 1);
        std::vector<double> sums(11, 0);
        for (int i = 0; i < 20'000; ++i) {
            const auto counts = draws.next();
            ASSERT_EQ(std::accumulate(counts.begin(), counts.end(), 0U), 11U);
            for (std::size_t unit = 0; unit < 11; ++unit) {
                sums[unit] += counts[unit];
            }
        }
        for (const double sum : sums) {  // no unit stands at an edge
            EXPECT_NEAR(sum / 20'000, 1, 0.05) << block;
        }
    }
}

TEST(BlockDraws, NeighboursAreDrawnTogether) {
    BlockDraws draws(1000, 100, 3);
    const auto counts = draws.next();
    std::size_t changes = 0;
    for (std::size_t i = 0; i < 1000; ++i) {
        changes += counts[i] != counts[(i + 1) % 1000] ? 1 : 0;
    }
    EXPECT_LE(changes, 20U);  // ten blocks, two ends each
}

// The dependence of a tenth of a series is found whatever its length: an AR(1) has the variance
// (1 + memory) / (1 - memory) of an independent series.
TEST(LongRun, SlowDependenceIsSeenToItsEnd) {
    for (const std::size_t rows : {1500U, 12'000U}) {
        const double memory = std::exp(-20.0 / static_cast<double>(rows));
        double variance = 0;
        double reach = 0;
        constexpr int runs = 20;
        for (std::uint64_t seed = 0; seed < runs; ++seed) {
            MadeLaw law{.law = Law::series, .rows = rows, .memory = memory};
            std::vector<double> values;
            const MadeGroups made = make_groups(law, 1, 1, seed);
            for (const ComparedRequest& one : made.a[0].requests) {
                values.push_back(std::log(one.values[0]) / 0.5);
            }
            const LongRun found = long_run_of(values);
            variance += found.variance / runs;
            reach += found.reach / runs;
        }
        EXPECT_GT(variance * (1 - memory) / (1 + memory), 0.8) << rows;
        // (1.5 rows^3 / 20^2)^(1/3) = 0.155 rows, less what the mean of a short series hides.
        EXPECT_NEAR(reach / static_cast<double>(rows), 0.1, 0.03) << rows;
    }
}

TEST(LongRun, OfShortAndConstantSeries) {
    EXPECT_EQ(long_run_of({}).variance, 0);
    const std::vector<double> three{1, 2, 3};
    EXPECT_NEAR(long_run_of(three).variance, 2.0 / 3, 1e-12);
    EXPECT_EQ(long_run_of(three).block, 1);
    const std::vector<double> equal(50, 7.0);
    EXPECT_EQ(long_run_of(equal).variance, 0);
    EXPECT_EQ(block_variance(equal, 5), 0);
    EXPECT_EQ(block_variance(equal, 51), 0);
}

/// An error of 2 % from 1,000 rows, of which `between` stays.
MetricComparison found_with(double between) {
    MetricComparison found;
    found.metric = *read_metric("ttft:mean");
    found.pairs = 1000;
    found.error = 0.02;
    found.error_between = between;
    return found;
}

TEST(Power, RowsGoWithTheSquareOfTheDifference) {
    // (1.95996 + 0.84162)^2 = 7.8489; 1000 x 0.02^2 x 7.8489 / log(1.03)^2
    const double log_difference = std::log(1.03);
    EXPECT_EQ(*rows_needed(found_with(0), 0.03),
              std::ceil(3.1395519 / (log_difference * log_difference)));
    EXPECT_FALSE(rows_needed(found_with(0.0199), 0.03));
    EXPECT_GT(*rows_needed(found_with(0.005), 0.03), *rows_needed(found_with(0), 0.03));
    EXPECT_FALSE(rows_needed(MetricComparison{}, 0.03));
}

TEST(Power, RunsHelpWhereRowsDoNot) {
    EXPECT_FALSE(runs_needed(found_with(0), 3, 0.03));
    const std::optional<double> few = runs_needed(found_with(0.0199), 3, 0.2);
    const std::optional<double> many = runs_needed(found_with(0.0199), 3, 0.03);
    ASSERT_TRUE(few && many);
    EXPECT_LT(*few, *many);
    EXPECT_FALSE(runs_needed(found_with(0.01), 3, 0.01)) << "rows alone are too few";
}

// As many rows as it asks for find the difference in about 80 of 100 cases.
TEST(Power, IsReached) {
    constexpr int simulations = 200;
    const std::vector<ComparedMetric> metrics{*read_metric("ttft:mean")};
    ComparisonOptions options;
    options.resamples = 200;
    MadeLaw law;
    law.ratio = 1.2;
    const MadeGroups pilot = make_groups(law, 1, 1, 1000);
    const MetricComparison first = compare_groups(pilot.a, pilot.b, metrics, options).metrics[0];
    law.rows = static_cast<std::size_t>(*rows_needed(first, 0.2));
    int found = 0;
    for (std::uint64_t seed = 0; seed < simulations; ++seed) {
        const MadeGroups made = make_groups(law, 1, 1, seed);
        found += compare_groups(made.a, made.b, metrics, options).metrics[0].in_these_runs ==
                 Shown::higher;
    }
    EXPECT_NEAR(100.0 * found / simulations, 80, 12) << law.rows << " rows";
}

}  // namespace
}  // namespace driftless
