// Cells of a table: what becomes one line, what its columns are, means and ranges of repeats, what
// is left out, and the order by a figure.
#include <gtest/gtest.h>

#include "cmd/runs/table.hpp"
#include "tests/unit/cmd/runs/made_run.hpp"

namespace driftless {
namespace {

using Texts = std::vector<std::string>;
using Indices = std::vector<std::size_t>;

TableFigure figure(const char* name) {
    const Result<TableFigure> parsed = parse_table_figure(name);
    EXPECT_TRUE(parsed) << name;
    return parsed.value();
}

MadeSummary with_ttft(double ms, const std::string& run = "", const std::string& members = "") {
    return {.ttft_p99_ms = ms, .run = run, .members = members};
}

TEST(RunCell, RepeatsOfASweepAreOneLine) {
    const ManyRuns table =
        table_of(list_of(made_cell("01-speed=1", {{"speed", "1"}}, with_ttft(10)),
                         made_cell("02-speed=2", {{"speed", "2"}}, with_ttft(30)),
                         made_cell("03-speed=2", {{"speed", "2"}}, with_ttft(36)),
                         made_cell("04-speed=1", {{"speed", "1"}}, with_ttft(14))),
                 false);
    EXPECT_EQ(table.columns, Texts{"speed"});
    ASSERT_EQ(table.cells.size(), 2U);
    EXPECT_EQ(table.cells[0].runs, (Indices{0, 3}));
    EXPECT_EQ(table.cells[0].values, Texts{"1"});
    EXPECT_FALSE(table.merged);
    const std::optional<CellFigure> ttft = figure_of(table, table.cells[0], figure("ttft:p99"));
    ASSERT_TRUE(ttft);
    EXPECT_DOUBLE_EQ(ttft->mean, 12);
    EXPECT_DOUBLE_EQ(ttft->low, 10);
    EXPECT_DOUBLE_EQ(ttft->high, 14);
    EXPECT_EQ(ttft->runs, 2U);
}

TEST(RunCell, RunsOfEqualLoadAndLabelsAreOneLineUnlessEachIsWanted) {
    MadeSummary labelled;
    labelled.labels = R"("tp":"4")";
    const auto runs = [&labelled] {
        return list_of(made_run("a"), made_run("b", labelled), made_run("c"),
                       made_run("d", with_ttft(9, R"("speed":"2",)")));
    };
    const ManyRuns table = table_of(runs(), false);
    EXPECT_EQ(table.columns, (Texts{"tp", "speed"}));
    ASSERT_EQ(table.cells.size(), 3U);
    EXPECT_EQ(table.cells[0].runs, (Indices{0, 2}));
    EXPECT_EQ(table.cells[1].values, (Texts{"4", "1"}));
    EXPECT_TRUE(table.merged);
    const ManyRuns apart = table_of(runs(), true);
    EXPECT_EQ(apart.cells.size(), 4U);
    EXPECT_FALSE(apart.merged);
}

TEST(RunCell, WarmSpoiledAndFailedRunsAreInNoMean) {
    ManyRuns table = table_of(
        list_of(
            made_run("good", with_ttft(10)),
            made_run("warm", with_ttft(1, "", R"("warm_cache":{"warm":true},)")),
            made_run("spoiled", with_ttft(99, "",
                                          R"("verdict":{"name":"client-limited",)"
                                          R"("reasons":["slow"]},)")),
            made_run("stopped", with_ttft(2, "", R"("stopped_when":{"cond":"errors > 5 %"},)"))),
        false);
    ASSERT_EQ(table.cells.size(), 1U);
    EXPECT_EQ(table.cells[0].shown, Indices{0});
    EXPECT_TRUE(table.cells[0].counts);
    EXPECT_DOUBLE_EQ(figure_of(table, table.cells[0], figure("ttft:p99"))->mean, 10);
    EXPECT_EQ(table.runs[2].left_out, "its verdict is client-limited: slow");
    EXPECT_EQ(table.runs[3].left_out, "stopped early: errors > 5 %");
}

TEST(RunCell, WhereNoRunCountsFiguresAreShownAndTheCellIsInNoChart) {
    const ManyRuns table = table_of(
        list_of(made_run("warm", with_ttft(1, "", R"("warm_cache":{"warm":true},)"))), false);
    EXPECT_EQ(table.cells[0].shown, Indices{0});
    EXPECT_FALSE(table.cells[0].counts);
}

TEST(RunCell, BestFirstAndUnknownLast) {
    TableRun killed;
    killed.folder = killed.name = "killed";
    killed.left_out = "no summary.json";
    ManyRuns table = table_of(list_of(std::move(killed), made_run("slow", with_ttft(30)),
                                      made_run("fast", with_ttft(10, R"("speed":"2",)"))),
                              false);
    sort_cells(table, figure("ttft:p99"));
    EXPECT_EQ(table.cells[0].name, "fast");
    EXPECT_EQ(table.cells[1].name, "slow");
    EXPECT_EQ(table.cells[2].name, "killed");
}

TEST(TableFigure, Values) {
    MadeSummary made;
    made.labels = R"("gpus":"4")";
    made.members = R"("server":{"energy":{"joules_per_token":0.5}},)";
    const TableRun run = made_run("a", made);
    EXPECT_DOUBLE_EQ(*figure("ttft:p99").of(run), 20);
    EXPECT_DOUBLE_EQ(*figure("interactivity:p50").of(run), 200);  // 1000 / 5 ms
    EXPECT_DOUBLE_EQ(*figure("interactivity:p99").of(run), 50);   // the slow tail: 1000 / 20 ms
    EXPECT_DOUBLE_EQ(*figure("input_throughput").of(run), 400);
    EXPECT_DOUBLE_EQ(*figure("output_throughput/gpu").of(run), 25);
    EXPECT_DOUBLE_EQ(*figure("hits").of(run), 0.25);
    EXPECT_DOUBLE_EQ(*figure("joules_per_token").of(run), 0.5);
    EXPECT_FALSE(figure("output_throughput/gpu").of(made_run("b")));
    EXPECT_FALSE(figure("itl:p50").of(run));
}

TEST(TableFigure, InteractivityOfWholeRequestsNeedsTheirRecords) {
    TableRun run = made_run("a");
    const TableFigure asked = figure("e2e_interactivity:p90");
    EXPECT_TRUE(asked.needs_records());
    EXPECT_FALSE(figure("interactivity:p90").needs_records());
    EXPECT_FALSE(asked.of(run));
    Sample sample;
    for (int ms = 1; ms <= 100; ++ms) {
        sample.add(ms);
    }
    run.e2e_per_token = sample.distribution();
    EXPECT_DOUBLE_EQ(*asked.of(run), 1000.0 / 90);
    EXPECT_FALSE(asked.below_floor(run));
    EXPECT_TRUE(figure("e2e_interactivity:p99").below_floor(run));
}

TEST(TableFigure, KnowsWhenAPercentileHasTooFewValues) {
    MadeSummary made;
    made.count = 661;
    EXPECT_TRUE(figure("ttft:p99").below_floor(made_run("a", made)));
    EXPECT_TRUE(figure("interactivity:p99").below_floor(made_run("a", made)));
    made.count = 662;
    EXPECT_FALSE(figure("ttft:p99").below_floor(made_run("a", made)));
    EXPECT_TRUE(figure("ttft:p99.9").below_floor(made_run("a", made)));
    EXPECT_FALSE(figure("ttft:mean").below_floor(made_run("a", made)));
}

TEST(TableFigure, RefusesWhatIsNoFigure) {
    for (const char* name : {"", "ttft", "hits:p50", "ttft:p98", "hits/gpu", "ttft:p99/gpu",
                             "interactivity", "interactivity:p50/gpu", "speed"}) {
        EXPECT_FALSE(parse_table_figure(name)) << name;
    }
}

}  // namespace
}  // namespace driftless
