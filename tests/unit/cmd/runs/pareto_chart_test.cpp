// Charts of a table: axes as people type them, frontiers by group, what has no place, per GPU.
#include <gtest/gtest.h>

#include "cmd/runs/table.hpp"
#include "tests/unit/cmd/runs/made_run.hpp"
#include "tests/unit/schema_check.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

using Indices = std::vector<std::size_t>;

ChartAxes axes(const char* text) {
    const Result<ChartAxes> parsed = parse_chart_axes(text);
    EXPECT_TRUE(parsed) << text;
    return parsed.value();
}

MadeSummary made(double ttft_ms, double rate, const std::string& labels = "") {
    return {.ttft_p99_ms = ttft_ms, .output_throughput = rate, .labels = labels};
}

/// Two servers, at three speeds each; one of the first's is dominated.
ManyRuns two_servers() {
    const auto one = R"("server":"one","gpus":"2")";
    const auto two = R"("server":"two","gpus":"4")";
    return table_of(
        list_of(made_cell("01", {{"speed", "1"}, {"server", "one"}}, made(10, 100, one)),
                made_cell("02", {{"speed", "2"}, {"server", "one"}}, made(20, 180, one)),
                made_cell("03", {{"speed", "4"}, {"server", "one"}}, made(40, 170, one)),
                made_cell("04", {{"speed", "1"}, {"server", "two"}}, made(12, 90, two)),
                made_cell("05", {{"speed", "2"}, {"server", "two"}}, made(15, 190, two)),
                made_cell("06", {{"speed", "4"}, {"server", "two"}}, made(50, 300, two))),
        false);
}

TEST(ParetoChart, AxesAsPeopleTypeThem) {
    for (const char* text : {"ttft:p99:output_throughput", "ttft:p99,output_throughput",
                             "low ttft:p99, high output_throughput"}) {
        const ChartAxes one = axes(text);
        EXPECT_EQ(one.x.name, "ttft:p99") << text;
        EXPECT_EQ(one.y.name, "output_throughput") << text;
        EXPECT_EQ(one.x.better, Better::low);
        EXPECT_EQ(one.y.better, Better::high);
    }
    EXPECT_EQ(axes("errors:e2e:p50").y.name, "e2e:p50");
    EXPECT_EQ(axes("high:hits:low:tpot:p90").x.better, Better::high);
    EXPECT_EQ(axes("high:errors:hits").x.better, Better::high);
    for (const char* text : {"", "ttft:p99", "ttft:output_throughput", "hits:errors:tpot:p50",
                             "low", "ttft:p99:speed"}) {
        EXPECT_FALSE(parse_chart_axes(text)) << text;
    }
}

TEST(ParetoChart, FrontierOfEachGroupAndOfAll) {
    const ManyRuns table = two_servers();
    const ParetoChart chart = pareto_chart(table, axes("ttft:p99:output_throughput"), "server");
    ASSERT_EQ(chart.groups.size(), 2U);
    EXPECT_EQ(chart.groups[0].name, "one");
    EXPECT_EQ(chart.groups[0].frontier, (Indices{0, 1}));
    EXPECT_EQ(chart.groups[1].frontier, (Indices{3, 4, 5}));
    EXPECT_EQ(chart.frontier, (Indices{0, 4, 5}));
    EXPECT_DOUBLE_EQ(chart.reference.x, 55);  // 1.1 x 50
    EXPECT_DOUBLE_EQ(chart.reference.y, 0);
    EXPECT_DOUBLE_EQ(chart.groups[0].hypervolume, 45 * 100 + 35 * 80);
    EXPECT_DOUBLE_EQ(chart.groups[1].hypervolume, 43 * 90 + 40 * 100 + 5 * 110);
    EXPECT_DOUBLE_EQ(chart.hypervolume, 45 * 100 + 40 * 90 + 5 * 110);
    EXPECT_TRUE(chart.points[1].on_frontier);
    EXPECT_FALSE(chart.points[1].on_all);
    EXPECT_EQ(chart.points[1].dominated.by, 4U);
    EXPECT_EQ(chart.points[2].dominated.count, 2U);
    EXPECT_TRUE(chart.missing.empty());
}

TEST(ParetoChart, RatesAreOfEachGpuWhereEveryRunSaysHowMany) {
    const ManyRuns table = two_servers();
    EXPECT_TRUE(knows_gpus(table));
    const ParetoChart chart = pareto_chart(table, axes("ttft:p99:output_throughput/gpu"), "server");
    EXPECT_DOUBLE_EQ(chart.points[0].y.mean, 50);
    EXPECT_DOUBLE_EQ(chart.points[5].y.mean, 75);
    EXPECT_EQ(chart.frontier, (Indices{0, 1}));
    EXPECT_FALSE(knows_gpus(table_of(list_of(made_run("a")), false)));
    EXPECT_EQ(standard_charts(true).size(), 16U);
    EXPECT_EQ(standard_charts(true)[0].y.name, "input_throughput/gpu");
    EXPECT_EQ(standard_charts(false)[15].x.name, "interactivity:p99.9");
}

TEST(ParetoChart, CellsWithoutAFigureHaveNoPlace) {
    MadeSummary nothing = made(10, 0);
    const ManyRuns table = table_of(
        list_of(made_run("a", made(10, 100)), made_cell("01", {{"speed", "2"}}, nothing)), false);
    EXPECT_EQ(pareto_chart(table, axes("ttft:p99:output_throughput"), "").missing, Indices{1});
    EXPECT_EQ(pareto_chart(table, axes("itl:p99:output_throughput"), "").missing, (Indices{0, 1}));
}

TEST(ParetoChart, TooFewValuesAreMarked) {
    MadeSummary few = made(10, 100);
    few.count = 100;
    const ManyRuns table = table_of(list_of(made_run("a", few)), false);
    EXPECT_TRUE(pareto_chart(table, axes("ttft:p99:hits"), "").points[0].below_floor());
    EXPECT_FALSE(pareto_chart(table, axes("ttft:p50:hits"), "").points[0].below_floor());
}

TEST(TableJson, KeepsToItsSchema) {
    const ManyRuns table = two_servers();
    std::vector<ParetoChart> charts;
    for (const ChartAxes& one : standard_charts(true)) {
        charts.push_back(pareto_chart(table, one, "server"));
    }
    const std::vector<std::string> differences{"runs/b: other\n"};
    const std::string group = "server";
    const std::string text = table_json({table, charts, group, differences});
    const std::string schema_text = source_file("cmd/runs/table.schema.json");
    JsonDocument schema;
    JsonDocument document;
    const Result<JsonValue> shape = schema.parse(schema_text);
    const Result<JsonValue> value = document.parse(text);
    ASSERT_TRUE(shape);
    ASSERT_TRUE(value);
    EXPECT_EQ(schema_errors(shape.value(), value.value()), std::vector<std::string>());
}

TEST(TableScreen, OneLineACellAndWhatIsLeftOut) {
    std::vector<TableRun> runs = list_of(made_cell("01-speed=1", {{"speed", "1"}}, made(10, 100)),
                                         made_cell("02-speed=2", {{"speed", "2"}}, made(20, 180)),
                                         made_cell("03-speed=2", {{"speed", "2"}}, made(30, 180)));
    runs[0].left_out = "warm";
    const ManyRuns table = table_of(std::move(runs), false);
    const std::string text = table_screen(table);
    EXPECT_TRUE(says(text, "25.00 ±20%"));
    EXPECT_TRUE(says(text, "sweeps/s/01-speed=1: left out of means and frontiers: warm"));
    const ParetoChart chart = pareto_chart(table, axes("ttft:p99:output_throughput"), "");
    const std::string lines = charts_screen(table, {chart});
    EXPECT_TRUE(says(lines,
                     "TTFT p99 (low) against output tokens/s (high); hypervolume up to 27.5, 0\n"
                     "  frontier, 450 ms x tokens/s: 02\n"));
}

}  // namespace
}  // namespace driftless
