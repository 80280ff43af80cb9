// Reading the runs of a table: run folders and sweeps, what is missing, names that are alike;
// and summaries in which any one key is gone or of another type.
#include "cmd/compare/table/table_run.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cmd/compare/table/corpus.hpp"
#include "cmd/compare/table/table_csv.hpp"
#include "cmd/compare/table/table_json.hpp"
#include "cmd/compare/table/table_screen.hpp"
#include "cmd/sweep/ledger.hpp"
#include "tests/unit/cmd/compare/table/made_run.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace driftless {
namespace {

class TableRuns : public testing::Test {
  protected:
    void put(const std::string& path, const std::string& text) {
        const std::filesystem::path file = folder_ / path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    std::string at(const std::string& path) { return folder_ / path; }

    std::string read(const std::vector<std::string>& folders) {
        runs_.clear();
        std::vector<std::string> paths;
        for (const std::string& one : folders) {
            paths.push_back(at(one));
        }
        return read_table_runs(paths, runs_);
    }

    ScratchFolder folder_;
    std::vector<TableRun> runs_;
};

TEST_F(TableRuns, AFolderWithASummaryIsARun) {
    put("a/summary.json", made_summary({}));
    put("a/run.json", R"({"run_id":"7","plan":{"prompts_digest":"00000000000000dd"}})");
    put("b/summary.json", made_summary({}));
    ASSERT_EQ(read({"a/", "b"}), "");
    ASSERT_EQ(runs_.size(), 2U);
    EXPECT_EQ(runs_[0].name, "a");
    EXPECT_EQ(runs_[0].prompts_digest, "00000000000000dd");
    EXPECT_EQ(runs_[1].prompts_digest, "");
    EXPECT_TRUE(runs_[0].counts());
    EXPECT_EQ(runs_[0].outcome, "completed");
}

TEST_F(TableRuns, NamesThatAreAlikeGetTheFolderAbove) {
    put("x/run/summary.json", made_summary({}));
    put("y/run/summary.json", made_summary({}));
    ASSERT_EQ(read({"x/run", "y/run"}), "");
    EXPECT_EQ(runs_[0].name, "x/run");
    EXPECT_EQ(runs_[1].name, "y/run");
}

TEST_F(TableRuns, ARunWithoutSummarySaysWhy) {
    put("killed/run.json", "{}");
    ASSERT_EQ(read({"killed"}), "");
    EXPECT_FALSE(runs_[0].counts());
    EXPECT_EQ(runs_[0].outcome, "killed");
    EXPECT_EQ(runs_[0].left_out,
              "no summary.json: the run was killed or is still running; see driftless report " +
                  at("killed"));
}

TEST_F(TableRuns, ADamagedSummaryIsTold) {
    put("broken/run.json", "{}");
    put("broken/summary.json", "[1");
    ASSERT_EQ(read({"broken"}), "");
    EXPECT_FALSE(runs_[0].counts());
    EXPECT_EQ(runs_[0].outcome, "unreadable");
    EXPECT_EQ(runs_[0].left_out, at("broken/summary.json") + ": not a JSON object");
}

TEST_F(TableRuns, WhatIsNoRunIsRefused) {
    put("a/summary.json", made_summary({}));
    put("empty/notes.txt", "");
    EXPECT_EQ(read({"nowhere"}),
              at("nowhere") + ": no such folder; name the folder of a run or of a sweep");
    EXPECT_NE(read({"empty"}).find("not a run or sweep folder"), std::string::npos);
    EXPECT_EQ(read({"a", "a/"}), at("a") + ": given twice; name each run once");
    put("bad/sweep.json", "{}");
    EXPECT_EQ(read({"bad"}),
              at("bad/sweep.json") + ": was written by another version of driftless; use that one");
}

TEST_F(TableRuns, ASweepGivesAllOfItsCells) {
    SweepPlan plan;
    plan.arguments = {"trace.jsonl"};
    plan.traces = {{"trace.jsonl", "0123456789abcdef"}};
    plan.home = "/work";
    plan.axes = {{"speed", {"1", "2", "4", "8"}, false}};
    plan.repeat = 1;
    plan.labels = {{"gpu", "h100"}};
    plan.before = plan.ready = plan.after = {"", 9};
    Ledger ledger = new_ledger(plan);
    for (std::size_t i = 0; i < 3; ++i) {
        ledger.cells[i].state = CellState::ended;
        ledger.cells[i].outcome = CellOutcome::completed;
        ledger.cells[i].summary = R"({"p99_ttft_ms":7})";
    }
    ledger.cells[1].outcome = CellOutcome::failed;
    ledger.cells[1].why = "no server";
    put("s/sweep.json", sweep_json(ledger));
    put("s/" + ledger.cells[0].planned.folder + "/summary.json", made_summary({}));
    ASSERT_EQ(read({"s"}), "");
    ASSERT_EQ(runs_.size(), 4U);
    EXPECT_EQ(runs_[0].cell, "speed=1");
    EXPECT_EQ(runs_[0].label("gpu"), "h100");
    EXPECT_TRUE(runs_[0].counts());
    EXPECT_EQ(runs_[1].outcome, "failed");
    EXPECT_EQ(runs_[1].left_out, "no server");
    // Its folder is gone; sweep.json keeps some figures.
    ASSERT_TRUE(runs_[2].summary);
    EXPECT_EQ(runs_[2].summary->root().find("p99_ttft_ms").as_double(), 7);
    EXPECT_EQ(runs_[3].outcome, "pending");
    EXPECT_FALSE(runs_[3].counts());
}

/// Everything that is made of a table.
void use(std::vector<TableRun> runs) {
    (void)corpus_differences(runs);
    const ManyRuns table = table_of(std::move(runs), false);
    std::vector<ParetoChart> charts;
    for (const ChartAxes& axes : standard_charts(knows_gpus(table))) {
        charts.push_back(pareto_chart(table, axes, "gpus"));
    }
    const std::string group = "gpus";
    EXPECT_FALSE(table_json({table, charts, group, {}}).empty());
    EXPECT_FALSE((table_screen(table) + charts_screen(table, charts)).empty());
    EXPECT_FALSE(table_csv(table).empty());
}

TEST(TableRun, AnyKeyMayBeGoneOrOfAnotherType) {
    JsonDocument document;
    const std::string text = made_summary({});
    const JsonValue root = document.parse(text).value();
    for (JsonValue one = root.first(); one.present(); one = one.next()) {
        for (const char* other :
             {"null", "true", "-1", "1e300", "\"\\u0000\\\"x,\\n\"", "[1,\"a\"]",
              R"({"name":3,"reasons":{"x":[]},"urls":7,"speed":[]})"}) {
            MadeSummary made;
            made.members = "\"" + std::string(one.key()) + "\":" + other + ",";
            use(list_of(made_run("a"), made_run("b", made)));
            use(list_of(made_run("b", made)));
        }
    }
}

}  // namespace
}  // namespace driftless
