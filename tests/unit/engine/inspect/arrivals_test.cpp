// Rates and bursts, worked out by hand.
#include "engine/inspect/arrivals.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/engine/inspect/make_trace.hpp"

namespace driftless {
namespace {

constexpr std::int64_t second = 1'000'000'000;

/// Rows of 10 tokens at these milliseconds.
struct Made {
    Trace trace;
    std::vector<Planned> rows;
    std::vector<Planned> spread;

    explicit Made(const std::vector<std::int64_t>& at_ms) {
        std::vector<RowSpec> specs;
        for (const std::int64_t at : at_ms) {
            specs.push_back({at, 10, {}});
        }
        trace = make_trace(0, TailRule::ceil, specs);
        PlanOptions options;
        rows = select_rows(trace, options);
        options.spread = true;
        spread = select_rows(trace, options);
    }
    ArrivalFigures figures() const { return arrivals_of(trace, rows, spread); }
};

// One row every 100 ms is a clock; ten at once every second are bursts of variance / mean
// 100 / 10 - 10 x (1 / 10) x .. : 10 of 100 windows hold 10 rows, so (10 - 1) / 1 = 9.
TEST(Arrivals, DispersionTellsBurstsFromClocks) {
    std::vector<std::int64_t> clock;
    std::vector<std::int64_t> bursts;
    for (int i = 0; i <= 100; ++i) {
        clock.push_back(i * 100);
        bursts.push_back(i / 10 * 1000);
    }
    const ArrivalFigures even = Made(clock).figures();
    EXPECT_EQ(even.span_ns, 10 * second);
    EXPECT_DOUBLE_EQ(even.rows_per_s, 10.1);
    EXPECT_EQ(even.instants, 101U);
    EXPECT_EQ(even.dispersion[0].windows, 100U);
    EXPECT_DOUBLE_EQ(even.dispersion[0].recorded, 0);
    EXPECT_DOUBLE_EQ(even.dispersion[1].recorded, 0);
    EXPECT_TRUE(std::isnan(even.dispersion[2].recorded));  // one window says nothing
    EXPECT_DOUBLE_EQ(even.gap_variation, 0);

    const Made made(bursts);
    const ArrivalFigures uneven = made.figures();
    EXPECT_EQ(uneven.instants, 11U);
    EXPECT_EQ(uneven.most_rows.rows, 10U);
    EXPECT_EQ(uneven.most_rows.input_tokens, 100U);
    EXPECT_EQ(uneven.most_rows.at_ns, 0);
    EXPECT_DOUBLE_EQ(uneven.dispersion[0].recorded, 9);
    EXPECT_DOUBLE_EQ(uneven.dispersion[1].recorded, 0);
    EXPECT_LT(uneven.dispersion[0].spread, 2);  // uniform inside each second: 0.9 or so
    EXPECT_DOUBLE_EQ(uneven.gap_variation, 3);  // gaps of 1 s and nine of 0: mean 0.1, std 0.3
}

// 40 rows around 1 s: no window of whole seconds holds them all, one anywhere does.
TEST(Arrivals, PeaksAreTakenInStepAndAnywhere) {
    std::vector<std::int64_t> at{0};
    for (int i = 0; i < 40; ++i) {
        at.push_back(900 + 5 * i);  // 900 .. 1095
    }
    at.push_back(5000);
    const ArrivalFigures figures = Made(at).figures();
    EXPECT_EQ(figures.peaks[0].rows, 20U);
    EXPECT_EQ(figures.peaks[0].rows_anywhere, 20U);
    EXPECT_EQ(figures.peaks[1].rows, 21U);  // with the one at 0
    EXPECT_EQ(figures.peaks[1].rows_anywhere, 40U);
    EXPECT_EQ(figures.peaks[1].input_tokens_anywhere, 400U);
}

TEST(Arrivals, OfOneInstantHaveNoRate) {
    const ArrivalFigures figures = Made({3, 3, 3}).figures();
    EXPECT_EQ(figures.span_ns, 0);
    EXPECT_TRUE(std::isnan(figures.rows_per_s));
    EXPECT_TRUE(std::isnan(figures.gap_variation));
    EXPECT_TRUE(std::isnan(figures.dispersion[0].recorded));
    EXPECT_EQ(figures.most_rows.rows, 3U);
    EXPECT_EQ(figures.peaks[0].rows, 3U);
}

TEST(Arrivals, OfNothingAreNone) {
    const ArrivalFigures figures = arrivals_of(Trace(), {}, {});
    EXPECT_EQ(figures.span_ns, 0);
    EXPECT_EQ(figures.most_rows.rows, 0U);
}

TEST(Timeline, CutsTimeIntoRoundBuckets) {
    EXPECT_EQ(bucket_for(0), 1'000'000);
    EXPECT_EQ(bucket_for(60 * second - 1), second);
    EXPECT_EQ(bucket_for(60 * second), 2 * second);
    EXPECT_EQ(bucket_for(3'537 * second), 60 * second);
    const std::int64_t years = std::int64_t{10} * 365 * 86400 * second;
    EXPECT_LE(static_cast<std::uint64_t>(years / bucket_for(years)) + 1, timeline_buckets_max);

    const Made made({0, 999, 1000, 59'999});
    const Timeline line = timeline_of(made.trace, made.rows);
    EXPECT_EQ(line.bucket_ns, second);
    ASSERT_EQ(line.rows.size(), 60U);
    EXPECT_EQ(line.rows[0], 2U);
    EXPECT_EQ(line.rows[1], 1U);
    EXPECT_EQ(line.rows[59], 1U);
    EXPECT_EQ(line.input_tokens[0], 20U);
    EXPECT_EQ(line.output_tokens[0], 14U);
}

}  // namespace
}  // namespace driftless
