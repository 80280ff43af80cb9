// Ramp, drain and trends of made runs are found; the statistics are those of SciPy and NumPy
// (tests/data/statistics/make.py), and of processes whose truth is known.
#include "cmd/reading/steady_state.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include "proto/json/document.hpp"
#include "tests/unit/json_text.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace driftless {
namespace {

constexpr std::int64_t second = 1'000'000'000;

class GoldenStatistics : public testing::Test {
  protected:
    JsonText golden_{read_bytes(TEST_DATA "/statistics/golden.json")};
    JsonValue root_ = golden_.root;
};

TEST_F(GoldenStatistics, MannKendall) {
    const JsonValue cases = root_.find("kendall");
    ASSERT_EQ(cases.size(), 4U);
    for (JsonValue one = cases.first(); one.present(); one = one.next()) {
        const TrendFinding found = mann_kendall(numbers_of(one.find("values")));
        EXPECT_NEAR(found.z, *one.find("z").as_double(), 1e-6);
        EXPECT_NEAR(found.p, *one.find("p").as_double(), 1e-6);
    }
}

TEST_F(GoldenStatistics, Mser5) {
    const JsonValue cases = root_.find("mser5");
    ASSERT_EQ(cases.size(), 3U);
    for (JsonValue one = cases.first(); one.present(); one = one.next()) {
        EXPECT_EQ(mser5(numbers_of(one.find("values"))), *one.find("cut").as_u64());
    }
}

TEST_F(GoldenStatistics, EffectiveSampleSize) {
    const JsonValue cases = root_.find("effective");
    ASSERT_EQ(cases.size(), 2U);
    for (JsonValue one = cases.first(); one.present(); one = one.next()) {
        EXPECT_NEAR(effective_sample_size(numbers_of(one.find("values"))),
                    *one.find("effective").as_double(), 1e-6);
    }
}

// Of x(i) = a x(i-1) + noise, n (1 - a) / (1 + a) values are independent.
TEST(EffectiveSampleSize, IsThatOfAnAutoregression) {
    for (const double a : {0.0, 0.5, 0.9}) {
        double sum = 0;
        constexpr int seeds = 20;
        constexpr std::size_t count = 20'000;
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
            std::mt19937_64 random(seed);
            std::normal_distribution<double> noise;
            std::vector<double> values{noise(random)};
            while (values.size() < count) {
                values.push_back(a * values.back() + noise(random));
            }
            sum += effective_sample_size(values);
        }
        const double truth = count * (1 - a) / (1 + a);
        EXPECT_NEAR(sum / seeds, truth, 0.1 * truth) << a;
    }
    EXPECT_EQ(effective_sample_size(std::vector<double>(50, 7.0)), 50);
}

struct Made {
    std::int64_t ramp = 0;  ///< in which the rate rises to the full one
    std::int64_t full = 600 * second;
    double per_second = 20;
    double slower = 1;  ///< answers at the end take so many times as long as at the begin
};

/// Poisson arrivals, which rise over the ramp; answers of 5 s on average.
std::vector<SteadyRow> made_run(const Made& made, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::exponential_distribution<double> gap(made.per_second);
    std::uniform_real_distribution<double> share;
    std::exponential_distribution<double> answer(1.0 / 5);
    std::vector<SteadyRow> rows;
    const std::int64_t end = made.ramp + made.full;
    for (double at = gap(random); at * second < static_cast<double>(end); at += gap(random)) {
        const auto at_ns = static_cast<std::int64_t>(at * second);
        if (at_ns < made.ramp && share(random) * static_cast<double>(made.ramp) > at * second) {
            continue;
        }
        const double grown = 1 + (made.slower - 1) * at * second / static_cast<double>(end);
        const auto took = static_cast<std::int64_t>(answer(random) * grown * second) + 1;
        rows.push_back({at_ns, at_ns + took, took / 10});
    }
    return rows;
}

TEST(SteadyState, IsNearlyAllOfASteadyRun) {
    int steady = 0;
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        const SteadyState state = find_steady_state(made_run({}, seed));
        ASSERT_TRUE(state.found);
        // It fills within some answers of 5 s, and drains behind the last fire.
        EXPECT_GT(state.begin_ns, second) << seed;
        EXPECT_LE(state.end_ns, 600 * second) << seed;
        EXPECT_TRUE(state.little_holds()) << seed << ": " << state.little_difference();
        EXPECT_NEAR(state.rate, 20, 2.5) << seed;
        EXPECT_NEAR(state.in_flight, 100, 15) << seed;
        steady += state.is_steady() ? 1 : 0;
    }
    // A trend of 1 % in two series each: 49 of 50 on average, 44 or fewer has a chance below 0.1 %.
    EXPECT_GE(steady, 44);
}

TEST(SteadyState, LeavesOutTheRampAndTheDrain) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const SteadyState state = find_steady_state(made_run({200 * second}, seed));
        EXPECT_GE(state.begin_ns, 100 * second) << seed;
        EXPECT_LE(state.begin_ns, 420 * second) << seed;
        EXPECT_LE(state.end_ns, 800 * second) << seed;
        EXPECT_GT(state.last_ns, state.end_ns) << seed;
    }
}

TEST(SteadyState, TellsARunThatGetsSlower) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Made made;
        made.slower = 4;
        const SteadyState state = find_steady_state(made_run(made, seed));
        EXPECT_LT(state.ttft_trend.p, 0.01) << seed;
        EXPECT_GT(state.ttft_trend.z, 0) << seed;
        EXPECT_FALSE(state.is_steady()) << seed;
    }
}

TEST(SteadyState, OfFewRequestsIsUnknown) {
    EXPECT_FALSE(find_steady_state({}).found);
    std::vector<SteadyRow> rows = made_run({}, 1);
    rows.resize(99);
    EXPECT_FALSE(find_steady_state(rows).found);
    rows = made_run({}, 1);
    rows.resize(100);
    EXPECT_TRUE(find_steady_state(rows).found);
    // All at one instant.
    EXPECT_FALSE(find_steady_state(std::vector<SteadyRow>(200, {5, 5, 0})).found);
}

}  // namespace
}  // namespace driftless
