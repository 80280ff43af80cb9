// CellSummary: each figure that a threshold may name reads out of summary.json as it is in a run.
#include "cmd/cells/cell_summary.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cmd/cells/cell.hpp"
#include "cmd/threshold_values.hpp"

namespace driftless {
namespace {

Distribution made_distribution(double from) {
    Distribution d;
    d.count = 190;
    d.min = from;
    d.mean = 2 * from;
    d.max = 3 * from;
    for (std::size_t i = 0; i < d.at.size(); ++i) {
        d.at[i] = from * (4 + static_cast<double>(i));
    }
    return d;
}

SummaryFigures made_figures() {
    SummaryFigures f;
    f.rows = 200;
    f.completed = 180;
    f.short_output = 6;
    f.long_output = 4;
    f.failed = 10;
    f.outcomes[static_cast<std::size_t>(Outcome::not_sent)] = 2;
    f.tainted_rows = 7;
    f.follow_up_turns = 50;
    f.overtaken_turns = 3;
    f.goodput_rules = {{{}, "", {1'000'000, std::nullopt, std::nullopt}}};
    f.goodput_counts = {{200, 90}};
    f.good = 90;
    f.request_goodput = 4.5;
    f.request_throughput = 12.5;
    f.output_throughput = 321.5;
    f.total_token_throughput = 4321.5;
    double from = 1e6;
    for (Distribution* one :
         {&f.ttft, &f.ttft_due, &f.tpot, &f.itl, &f.e2e, &f.chunk_gap, &f.sending.drift}) {
        *one = made_distribution(from);
        from *= 1.5;
    }
    return f;
}

Threshold threshold(const std::string& text) {
    const Result<Threshold> parsed = parse_threshold(text);
    EXPECT_TRUE(parsed) << text;
    return parsed.value();
}

TEST(CellSummary, ReadsWhatThresholdsMeasure) {
    std::vector<std::string> texts;
    for (const char* time : {"ttft", "ttft_due", "tpot", "itl", "e2e", "chunk_gap", "drift"}) {
        for (const char* of :
             {"p25", "p50", "p75", "p90", "p95", "p99", "p99.9", "mean", "min", "max"}) {
            texts.push_back(std::string(time) + ":" + of + " > 0s");
        }
    }
    for (const char* share : {"errors", "good", "tainted", "overtaken"}) {
        texts.push_back(std::string(share) + " > 0 %");
    }
    for (const char* number : {"completed", "failed", "request_throughput", "output_throughput",
                               "total_token_throughput", "request_goodput"}) {
        texts.push_back(std::string(number) + " > 0");
    }
    const SummaryFigures figures = made_figures();
    const Result<CellSummary> full = CellSummary::read(summary_json(figures, {}));
    const Result<CellSummary> none = CellSummary::read(summary_json(SummaryFigures(), {}));
    ASSERT_TRUE(full);
    ASSERT_TRUE(none);
    for (const std::string& text : texts) {
        const Threshold which = threshold(text);
        const ThresholdFinding finding = judge_thresholds({which}, figures).at(0);
        const double unit = finding.unit == FigureUnit::time ? 1e6 : 1;
        const std::optional<double> read = full.value().figure(which);
        ASSERT_TRUE(read && finding.value) << text;
        EXPECT_NEAR(*read, *finding.value * unit, 1e-9 * *read) << text;
        const ThresholdFinding nothing = judge_thresholds({which}, SummaryFigures()).at(0);
        EXPECT_EQ(none.value().figure(which).has_value(), nothing.value.has_value()) << text;
    }
}

TEST(CellSummary, WarmWhereTheRunSaysSo) {
    const auto warm = [](const std::string& text) {
        return CellSummary::read(text).value().warm();
    };
    EXPECT_EQ(warm("{}"), std::nullopt);
    EXPECT_EQ(warm(R"({"warm_cache": true})"), true);
    EXPECT_EQ(warm(R"({"warm_cache": {"probe": "hit", "warm": true}})"), true);
    EXPECT_EQ(warm(R"({"warm_cache": {"probe": "none", "warm": null}})"), std::nullopt);
    EXPECT_FALSE(CellSummary::read("[]"));
    EXPECT_FALSE(CellSummary::read("{"));
}

TEST(CellEnvironment, NamesValuesAsVariables) {
    const std::vector<std::string> all = cell_environment({{"speed", "2"}, {"max-inflight", "8"}},
                                                          "http://a:1", "speed=2", "/tmp/x");
    for (const char* one :
         {"DRIFTLESS_SPEED=2", "DRIFTLESS_MAX_INFLIGHT=8", "DRIFTLESS_URL=http://a:1",
          "DRIFTLESS_CELL=speed=2", "DRIFTLESS_RUN=/tmp/x"}) {
        EXPECT_EQ(std::count(all.begin(), all.end(), one), 1) << one;
    }
}

}  // namespace
}  // namespace driftless
