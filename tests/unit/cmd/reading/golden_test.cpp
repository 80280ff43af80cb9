// The statistics of comparisons are those of SciPy and arch on the same data
// (tests/data/comparison/make.py).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cmd/reading/compare_groups.hpp"
#include "cmd/reading/compare_spread.hpp"
#include "proto/figures/distribution.hpp"
#include "proto/json/document.hpp"
#include "tests/unit/json_text.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace driftless {
namespace {

double number(JsonValue of, const char* name) {
    return *of.find(name).as_double();
}

ComparedRun run_of(const std::vector<double>& ttfts, const std::vector<double>& trees = {}) {
    ComparedRun run;
    for (std::size_t row = 0; row < ttfts.size(); ++row) {
        ComparedRequest request;
        request.key = row;
        request.due_ns = static_cast<std::int64_t>(row) * 1'000'000;
        request.tree = trees.empty() ? 0 : static_cast<std::uint64_t>(trees[row]);
        request.ok = true;
        request.values[static_cast<std::size_t>(RowValue::ttft)] = ttfts[row];
        run.requests.push_back(request);
    }
    return run;
}

class GoldenComparison : public testing::Test {
  protected:
    JsonText golden_{read_bytes(TEST_DATA "/comparison/golden.json")};
    JsonValue root_ = golden_.root;
};

TEST_F(GoldenComparison, StudentQuantiles) {
    const JsonValue cases = root_.find("students");
    ASSERT_EQ(cases.size(), 99U);
    for (JsonValue one = cases.first(); one.present(); one = one.next()) {
        const double expected = number(one, "x");
        EXPECT_NEAR(student_quantile(number(one, "p"), number(one, "freedom")), expected,
                    1e-8 * std::max(std::fabs(expected), 1.0))
            << number(one, "p") << " " << number(one, "freedom");
    }
}

TEST_F(GoldenComparison, FloorsAreThoseOfTheBinomialLaw) {
    const JsonValue cases = root_.find("floors");
    ASSERT_EQ(cases.size(), 11U);
    for (JsonValue one = cases.first(); one.present(); one = one.next()) {
        EXPECT_EQ(percentile_floor(static_cast<std::uint32_t>(number(one, "per_mille"))),
                  *one.find("floor").as_u64());
    }
}

// arch follows the same papers and counts the last significant lag another way, which matters where
// few lags are significant.
TEST_F(GoldenComparison, BlockLengthsAndLongRunVariance) {
    const JsonValue cases = root_.find("series");
    ASSERT_EQ(cases.size(), 5U);
    for (JsonValue one = cases.first(); one.present(); one = one.next()) {
        const LongRun found = long_run_of(numbers_of(one.find("values")));
        const double truth = number(one, "long_run");
        const double tolerance = number(one, "memory") >= 0.5 ? 0.15 : 0.7;
        EXPECT_NEAR(found.block / number(one, "block"), 1, tolerance) << number(one, "memory");
        EXPECT_NEAR(found.variance / truth, 1, 0.35) << number(one, "memory");
    }
}

// The interval is Student's, not BCa: ends may differ by a tenth of the width.
TEST_F(GoldenComparison, PairedRows) {
    const JsonValue paired = root_.find("paired");
    const std::vector<ComparedRun> a{run_of(numbers_of(paired.find("a")))};
    const std::vector<ComparedRun> b{run_of(numbers_of(paired.find("b")))};
    const JsonValue cases = paired.find("found");
    ASSERT_EQ(cases.size(), 3U);
    for (JsonValue one = cases.first(); one.present(); one = one.next()) {
        const std::string name(*one.find("name").as_string());
        const std::vector<ComparedMetric> metrics{*read_metric(name)};
        const MetricComparison found = compare_groups(a, b, metrics, {}).metrics[0];
        EXPECT_NEAR(found.a, number(one, "a"), 1e-3) << name;
        EXPECT_NEAR(found.b, number(one, "b"), 1e-3) << name;
        EXPECT_NEAR(found.error / number(one, "error"), 1, 0.08) << name;
        const double width = number(one, "high") - number(one, "low");
        EXPECT_NEAR(found.low, number(one, "low"), 0.1 * width) << name;
        EXPECT_NEAR(found.high, number(one, "high"), 0.1 * width) << name;
    }
}

TEST_F(GoldenComparison, WholeTrees) {
    const JsonValue trees = root_.find("trees");
    const std::vector<double> names = numbers_of(trees.find("tree"));
    const std::vector<ComparedRun> a{run_of(numbers_of(trees.find("a")), names)};
    const std::vector<ComparedRun> b{run_of(numbers_of(trees.find("b")), names)};
    const std::vector<ComparedMetric> metrics{*read_metric("ttft:mean")};
    const MetricComparison found = compare_groups(a, b, metrics, {}).metrics[0];
    EXPECT_EQ(found.units, 150U);
    EXPECT_EQ(found.block, 1U);
    EXPECT_NEAR(found.error / number(trees, "error"), 1, 0.08);
    const double width = number(trees, "high") - number(trees, "low");
    EXPECT_NEAR(found.low, number(trees, "low"), 0.1 * width);
    EXPECT_NEAR(found.high, number(trees, "high"), 0.1 * width);
}

// All rows of a run are equal: nothing but the runs varies, and the interval is Welch's.
TEST_F(GoldenComparison, RepeatsAreTheOuterLevel) {
    const JsonValue repeats = root_.find("repeats");
    std::vector<ComparedRun> a;
    std::vector<ComparedRun> b;
    for (const double value : numbers_of(repeats.find("a"))) {
        a.push_back(run_of(std::vector<double>(20, value)));
    }
    for (const double value : numbers_of(repeats.find("b"))) {
        b.push_back(run_of(std::vector<double>(20, value)));
    }
    const std::vector<ComparedMetric> metrics{*read_metric("ttft:mean"), *read_metric("ttft:p50")};
    const GroupComparison compared = compare_groups(a, b, metrics, {});
    EXPECT_EQ(compared.evidence, Evidence::between_runs);
    for (const MetricComparison& found : compared.metrics) {
        EXPECT_NEAR(found.freedom, number(repeats, "freedom"), 1e-6);
        EXPECT_NEAR(found.error, number(repeats, "error"), 1e-9);
        EXPECT_NEAR(found.low, number(repeats, "low"), 1e-9);
        EXPECT_NEAR(found.high, number(repeats, "high"), 1e-9);
        EXPECT_EQ(found.word, Word::worse);
    }
}

}  // namespace
}  // namespace driftless
