// Counters are added up over segments and servers, gauges are means over the measured time alone.
#include "engine/scrape/server_sums.hpp"

#include <gtest/gtest.h>

#include "cmd/scrape/mapping_file.hpp"

namespace driftless {
namespace {

constexpr std::int64_t second = 1'000'000'000;

/// A server whose page has one counter and one gauge.
struct Told {
    explicit Told(std::vector<MeasuredSpan> spans) : sums(mappings, std::move(spans)) {}

    void series(std::uint32_t segment, std::uint32_t number, const char* url, const char* name,
                bool counter) {
        ServerSeries line;
        line.segment = segment;
        line.series = number;
        line.url = url;
        line.name = name;
        line.type = counter ? "counter" : "gauge";
        line.counter = counter;
        sums.add(line);
    }
    void scrape(std::uint32_t segment, double at_s, const char* url,
                std::vector<ServerValue> changed, const char* error = "") {
        ServerScrape line;
        line.segment = segment;
        line.t_ns = static_cast<std::int64_t>(at_s * second);
        line.url = url;
        line.error = error;
        line.changed = std::move(changed);
        sums.add(line);
    }
    std::optional<double> counter(ServerFigure figure) { return sums.totals().counter(figure); }

    std::vector<EngineMapping> mappings = known_mappings();
    ServerSums sums;
};

void begin(Told& told, std::uint32_t segment, const char* url, std::uint32_t first) {
    told.series(segment, first, url, "vllm:prompt_tokens_total", true);
    told.series(segment, first + 1, url, "vllm:num_requests_running", false);
}

TEST(ServerSums, CountersGrowFromTheFirstPageToTheLast) {
    Told told({{0, 0, 10 * second}});
    begin(told, 0, "a", 0);
    told.scrape(0, -0.5, "a", {{0, 100}, {1, 0}});
    told.scrape(0, 1, "a", {{0, 150}});
    told.scrape(0, 2, "a", {});
    told.scrape(0, 11, "a", {{0, 175}});
    EXPECT_EQ(told.counter(ServerFigure::prompt_tokens), 75);
    EXPECT_EQ(told.counter(ServerFigure::preemptions), std::nullopt);
    EXPECT_EQ(told.sums.totals().scrapes, 4U);
    EXPECT_EQ(told.sums.totals().urls[0].engine, "vllm");
}

// Two servers; one of them was restarted in the second segment.
TEST(ServerSums, SegmentsAndServersAreAddedUp) {
    Told told({{0, 0, second}, {1, 5 * second, 6 * second}});
    begin(told, 0, "a", 0);
    told.scrape(0, -1, "a", {{0, 10}, {1, 0}});
    begin(told, 0, "b", 2);
    told.scrape(0, -1, "b", {{2, 0}, {3, 0}});
    told.scrape(0, 1, "a", {{0, 15}});
    told.scrape(0, 1, "b", {{2, 1}});
    begin(told, 1, "a", 0);
    told.scrape(1, 4, "a", {{0, 1000}, {1, 0}});
    told.scrape(1, 5, "a", {{0, 1100}});
    told.scrape(1, 6, "a", {{0, 30}});
    EXPECT_EQ(told.counter(ServerFigure::prompt_tokens), 5 + 1 + 100 + 30);
    const ServerTotals totals = told.sums.totals();
    ASSERT_EQ(totals.urls.size(), 2U);
    EXPECT_EQ(totals.urls[0].restarts, 1U);
    EXPECT_EQ(totals.urls[0].scrapes, 5U);
    EXPECT_EQ(totals.urls[1].restarts, 0U);
}

// 0 until 2 s, from there to 10 at 4 s, 10 until 8 s: of 1 s to 8 s that is 50 / 7 requests.
TEST(ServerSums, GaugesAreMeansOverTheMeasuredTime) {
    Told told({{0, second, 8 * second}});
    begin(told, 0, "a", 0);
    told.scrape(0, -1, "a", {{0, 0}, {1, 0}});
    told.scrape(0, 2, "a", {});
    told.scrape(0, 4, "a", {{1, 10}});
    told.scrape(0, 10, "a", {});
    told.scrape(0, 11, "a", {{1, 99}});
    const ServerTotals totals = told.sums.totals();
    ASSERT_TRUE(totals.gauge(ServerFigure::running));
    EXPECT_NEAR(totals.gauge(ServerFigure::running)->mean, 50.0 / 7, 1e-9);
    EXPECT_EQ(totals.gauge(ServerFigure::running)->max, 10);
}

TEST(ServerSums, WhatCouldNotBeReadIsAGapAndNotAValue) {
    Told told({{0, 0, 10 * second}});
    begin(told, 0, "a", 0);
    told.scrape(0, 0, "a", {{0, 0}, {1, 4}});
    told.scrape(0, 1, "a", {});
    told.scrape(0, 2, "a", {}, "answered 503");
    told.scrape(0, 3, "a", {{1, 100}});
    told.scrape(0, 4, "a", {{1, 8}});
    const ServerTotals totals = told.sums.totals();
    EXPECT_NEAR(totals.gauge(ServerFigure::running)->mean, (4 + 54) / 2.0, 1e-9);
    EXPECT_EQ(totals.failures, 1U);
    EXPECT_EQ(totals.urls[0].first_failure, "answered 503");
}

TEST(ServerSums, UsagesTakeTheFullestServerAndLoadsAreAddedUp) {
    Told told({{0, 0, 10 * second}});
    for (std::uint32_t i = 0; i < 2; ++i) {
        const char* url = i == 0 ? "a" : "b";
        told.series(0, 2 * i, url, "vllm:kv_cache_usage_perc", false);
        told.series(0, 2 * i + 1, url, "vllm:num_requests_running", false);
        told.scrape(0, 0, url, {{2 * i, 0.25 * (i + 1)}, {2 * i + 1, 3}});
    }
    told.scrape(0, 10, "a", {});
    told.scrape(0, 10, "b", {});
    const ServerTotals totals = told.sums.totals();
    EXPECT_NEAR(totals.gauge(ServerFigure::kv_usage)->mean, 0.5, 1e-9);
    EXPECT_NEAR(totals.gauge(ServerFigure::kv_usage)->max, 0.5, 1e-9);
    EXPECT_NEAR(totals.gauge(ServerFigure::running)->mean, 6, 1e-9);
    EXPECT_NEAR(totals.gauge(ServerFigure::running)->max, 6, 1e-9);
}

// 300 W for 10 s, but only the 4 s that are measured.
TEST(ServerSums, EnergyIsPowerOverTheMeasuredTime) {
    Told told({{0, 3 * second, 7 * second}});
    told.series(0, 0, "gpu", "DCGM_FI_DEV_POWER_USAGE", false);
    told.scrape(0, 0, "gpu", {{0, 300}});
    told.scrape(0, 5, "gpu", {});
    told.scrape(0, 10, "gpu", {});
    EXPECT_NEAR(told.sums.totals().joules.value_or(0), 1200, 1e-6);
}

TEST(ServerSums, LinesThatReferToNothingAreLeftOut) {
    Told told({{0, 0, second}});
    told.series(0, 7, "a", "vllm:prompt_tokens_total", true);
    told.scrape(0, 0, "a", {{0, 1}, {4'000'000'000U, 1}});
    EXPECT_EQ(told.counter(ServerFigure::prompt_tokens), std::nullopt);
    EXPECT_EQ(told.sums.totals().scrapes, 1U);
    EXPECT_FALSE(told.sums.totals().joules);
}

}  // namespace
}  // namespace driftless
