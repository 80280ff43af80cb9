// Corpus: which runs may stand in one table. What differs on purpose is accepted, other work is
// refused with the reason, and what a sweep varied is excused, but for trace and window.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cmd/runs/sweep.hpp"
#include "cmd/runs/table.hpp"
#include "tests/unit/cmd/runs/made_run.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

/// What is said of the second of two runs, or the empty text.
std::string second(TableRun a, TableRun b) {
    const std::vector<std::string> all = corpus_differences(list_of(std::move(a), std::move(b)));
    EXPECT_LE(all.size(), 1U);
    return all.empty() ? "" : all[0];
}

std::string against_usual(const MadeSummary& made) {
    return second(made_run("a"), made_run("b", made));
}

MadeSummary with_run(const std::string& members) {
    MadeSummary made;
    made.run = members;
    return made;
}

MadeSummary with_members(const std::string& members) {
    MadeSummary made;
    made.members = members;
    return made;
}

TEST(Corpus, PaceUsersServerAndSaltMayDiffer) {
    for (const char* members :
         {R"("speed":"4","schedule_digest":"0c",)", R"("rate":"10","schedule_digest":"0c",)",
          R"("users":8,"schedule_digest":"0c",)", R"("urls":["http://b:2"],)",
          R"("cache_salt":"x",)", R"("spread":true,"schedule_digest":"0c",)"}) {
        EXPECT_EQ(against_usual(with_run(members)), "") << members;
    }
    EXPECT_EQ(against_usual(with_members(R"("model_id":"other",)")), "");
    EXPECT_EQ(against_usual(with_members(R"("max_concurrency":4,)")), "");
}

TEST(Corpus, CopiesMayDifferAndHaveOtherRows) {
    EXPECT_EQ(against_usual(with_run(R"("rows":480,"arguments":["t.jsonl","--replicate=2"],)")),
              "");
}

TEST(Corpus, OtherTraceWindowOrSeedIsRefused) {
    EXPECT_EQ(against_usual(with_run(R"("trace_digest":"00000000000000ab",)")),
              R"(runs/b: trace is "00000000000000ab", not "00000000000000aa")");
    EXPECT_EQ(against_usual(with_run(R"("end_ns":60000000000,)")),
              "runs/b: --end is 60000000000 ns, not none");
    EXPECT_EQ(against_usual(with_run(R"("limit":100,"rows":100,)")),
              R"(runs/b: --limit is "100", not none)");
    EXPECT_EQ(against_usual(with_run(R"("seed":7,)")), R"(runs/b: --seed is "7", not "0")");
    EXPECT_EQ(against_usual(with_run(R"("output":"free",)")),
              R"(runs/b: --output is "free", not "exact")");
    EXPECT_EQ(against_usual(with_run(R"("arguments":["t.jsonl","--sample-sessions=0.5"],)")),
              R"(runs/b: --sample-sessions is "0.5", not none)");
}

TEST(Corpus, OtherRowsOfTheSameFlagsAreRefused) {
    EXPECT_EQ(against_usual(with_run(R"("rows":120,"speed":"2",)")),
              "runs/b: it plays 120 rows, not 240");
    const MadeSummary slow = with_run(R"("duration_ns":5,)");
    const MadeSummary fast = with_run(R"("duration_ns":5,"rows":480,"speed":"2",)");
    EXPECT_EQ(second(made_run("a", slow), made_run("b", fast)),
              "runs/b: it plays 480 rows, not 240 (--duration counts wall time, so it selects "
              "other rows at another speed or rate; use --start and --end, or --limit)");
}

TEST(Corpus, DigestsMustFitTheFlags) {
    EXPECT_EQ(against_usual(with_run(R"("schedule_digest":"00000000000000cc",)")),
              "runs/b: its schedule (digest 00000000000000cc) is not 00000000000000bb, though it "
              "has the same pace");
    TableRun a = made_run("a");
    TableRun b = made_run("b");
    a.prompts_digest = "01";
    b.prompts_digest = "02";
    EXPECT_EQ(second(std::move(a), std::move(b)),
              "runs/b: its prompts (digest 02) are not 01, though seed and salt are the same");
    TableRun plain = made_run("a");
    TableRun salted = made_run("b", with_run(R"("cache_salt":"x",)"));
    plain.prompts_digest = "01";
    salted.prompts_digest = "02";
    EXPECT_EQ(second(std::move(plain), std::move(salted)), "");
}

TEST(Corpus, ASweepMayVaryWhatItLikesButTraceAndWindow) {
    const MadeSummary one = with_run(R"("arguments":["t.jsonl","--max-trees=5"],"rows":20,)");
    const MadeSummary two = with_run(R"("arguments":["t.jsonl","--max-trees=9"],"rows":40,)");
    EXPECT_EQ(second(made_cell("01", {{"max-trees", "5"}}, one),
                     made_cell("02", {{"max-trees", "9"}}, two)),
              "");
    EXPECT_EQ(second(made_run("a", one), made_run("b", two)),
              R"(runs/b: --max-trees is "9", not "5")");
    EXPECT_EQ(second(made_cell("01", {{"limit", "5"}}, with_run(R"("limit":5,)")),
                     made_cell("02", {{"limit", "9"}}, with_run(R"("limit":9,)"))),
              R"(sweeps/s/02: --limit is "9", not "5")");
}

TEST(Corpus, RunsThatDoNotSayWhatTheyPlayed) {
    TableRun silent = made_run("b");
    silent.corpus.clear();
    EXPECT_EQ(second(made_run("a"), std::move(silent)),
              "runs/b: its summary.json does not say what it played");
    TableRun cell = made_cell("02", {{"speed", "2"}});
    cell.corpus.clear();
    EXPECT_EQ(second(made_cell("01", {{"speed", "1"}}), std::move(cell)), "");
    const MadeSummary nameless = with_run(R"("trace_digest":null,)");
    EXPECT_EQ(corpus_differences(list_of(made_run("a", nameless), made_run("b", nameless))),
              (std::vector<std::string>{"runs/a: it does not say which trace it played",
                                        "runs/b: it does not say which trace it played"}));
}

TEST(Corpus, ARunWithoutSummaryIsNotAsked) {
    TableRun killed;
    killed.folder = "runs/k";
    EXPECT_TRUE(corpus_differences(list_of(std::move(killed), made_run("a"))).empty());
}

// Reading the runs of a table: run folders and sweeps, what is missing, names that are alike;
// and summaries in which any one key is gone or of another type.

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
    EXPECT_TRUE(says(read({"empty"}), "not a run or sweep folder"));
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
