// Tables of runs, and their exports.

#include "cmd/runs/table.hpp"

#include "cmd/reading/compare_judge.hpp"
#include "cmd/report/export_cells.hpp"
#include "cmd/report/report.hpp"
#include "cmd/runs/find.hpp"
#include "cmd/runs/sweep.hpp"
#include "tests/unit/cmd/reading/vector_run.hpp"
#include "tests/unit/cmd/runs/made_figures.hpp"
#include "tests/unit/cmd/runs/made_run.hpp"
#include "tests/unit/schema_check.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

// Corpus: which runs may stand in one table. What differs on purpose is accepted, other work is
// refused with the reason, and what a sweep varied is excused, but for trace and window.

namespace {

/// What is said of the second of two runs, or the empty text.
std::string second(TableRun a, TableRun b) {
    const std::vector<std::string> all = corpus_differences(list_of(std::move(a), std::move(b)));
    EXPECT_LE(all.size(), 1U);
    return all.empty() ? "" : all[0];
}

MadeSummary with_run(const std::string& members) {
    return MadeSummary{.run = members};
}

/// What is said of a run with these members, after a usual one.
std::string said_of(const std::string& members) {
    return second(made_run("a"), made_run("b", with_run(members)));
}

TEST(Corpus, IsOneWhateverMayDiffer) {
    for (const char* members :
         {R"("speed":"4","schedule_digest":"0c",)", R"("rate":"10","schedule_digest":"0c",)",
          R"("users":8,"schedule_digest":"0c",)", R"("urls":["http://b:2"],)",
          R"("cache_salt":"x",)", R"("spread":true,"schedule_digest":"0c",)",
          R"("end_ns":60000000000,"limit":240,)",  // digests say that it selects the same rows
          R"("arguments":["t.jsonl","--extra-body={\"top_p\":1}"],)"}) {
        EXPECT_EQ(said_of(members), "") << members;
    }
    EXPECT_EQ(second(made_run("a"), made_run("b", {.members = R"("model_id":"other",)"})), "");
    EXPECT_EQ(second(made_run("a"), made_run("b", {.members = R"("max_concurrency":4,)"})), "");
    EXPECT_EQ(said_of(R"("rows":480,"arguments":["t.jsonl","--replicate=2"],)"), "");
    EXPECT_EQ(said_of(R"("trace_digest":"00000000000000ab",)"),
              "runs/b: trace is  (00000000000000ab), not  (00000000000000aa)");
    const std::string other = R"("schedule_digest":"00000000000000cc",)";
    EXPECT_EQ(said_of(R"("limit":100,"rows":100,)" + other),
              "runs/b: window is start to end, due within any time, limit 100: 100 rows, not start "
              "to end, due within any time, limit none: 240 rows");
    EXPECT_EQ(said_of(R"("seed":7,)" + other), "runs/b: seed is 7, not 0");
    EXPECT_EQ(said_of(R"("output":"free",)"), "runs/b: output mode is free, not exact");
    EXPECT_EQ(said_of(R"("arguments":["t.jsonl","--sample-sessions=0.5"],)"),
              "runs/b: --sample-sessions is 0.5, not none");
    EXPECT_EQ(said_of(R"("rows":120,"speed":"2",)" + other), "runs/b: it plays 120 rows, not 240");
    const MadeSummary fast = with_run(R"("duration_ns":5,"rows":480,"speed":"2",)" + other);
    EXPECT_EQ(second(made_run("a", with_run(R"("duration_ns":5,)")), made_run("b", fast)),
              "runs/b: it plays 480 rows, not 240 (--duration counts wall time, so it selects "
              "other rows at another speed or rate; use --start and --end, or --limit)");
}

TEST(Corpus, DigestsMustFitWhatTheFlagsSay) {
    EXPECT_EQ(said_of(R"("schedule_digest":"00000000000000cc",)"),
              "runs/b: due instants is 00000000000000cc, not 00000000000000bb");
    TableRun a = made_run("a");
    TableRun b = made_run("b");
    a.facts.prompts_digest = 1;
    b.facts.prompts_digest = 2;
    EXPECT_EQ(second(std::move(a), std::move(b)),
              "runs/b: prompt digests is 0000000000000002, not 0000000000000001");
    TableRun plain = made_run("a");
    TableRun salted = made_run("b", with_run(R"("cache_salt":"x",)"));
    plain.facts.prompts_digest = 1;
    salted.facts.prompts_digest = 2;
    EXPECT_EQ(second(std::move(plain), std::move(salted)), "");
    const MadeSummary one = with_run(R"("arguments":["t.jsonl","--max-trees=5"],"rows":20,)");
    const MadeSummary two = with_run(R"("arguments":["t.jsonl","--max-trees=9"],"rows":40,)");
    EXPECT_EQ(second(made_cell("01", {{"max-trees", "5"}}, one),
                     made_cell("02", {{"max-trees", "9"}}, two)),
              "");
    EXPECT_EQ(second(made_run("a", one), made_run("b", two)), "runs/b: --max-trees is 9, not 5");
    EXPECT_TRUE(says(
        second(made_cell("01", {{"limit", "5"}}, with_run(R"("limit":5,)")),
               made_cell("02", {{"limit", "9"}}, with_run(R"("limit":9,"schedule_digest":null,)"))),
        "sweeps/s/02: window is start to end, due within any time, limit 9"));
    TableRun silent = made_run("b");
    silent.says_work = false;
    EXPECT_EQ(second(made_run("a"), std::move(silent)),
              "runs/b: its summary.json does not say what it played");
    TableRun cell = made_cell("02", {{"speed", "2"}});
    cell.says_work = false;
    EXPECT_EQ(second(made_cell("01", {{"speed", "1"}}), std::move(cell)), "");
    const MadeSummary nameless = with_run(R"("trace_digest":null,)");
    EXPECT_EQ(corpus_differences(list_of(made_run("a", nameless), made_run("b", nameless))),
              (std::vector<std::string>{"runs/a: it does not say which trace it played",
                                        "runs/b: it does not say which trace it played"}));
    EXPECT_TRUE(corpus_differences(list_of(TableRun{.folder = "runs/k"}, made_run("a"))).empty());
}

// Reading the runs of a table: run folders and sweeps, what is missing, names that are alike;
// and summaries in which any one key is gone or of another type.

class TableRuns : public testing::Test {
  protected:
    void put(const std::string& path, const std::string& text) { folder_.write(path, text); }
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
    put("a/run.json", R"({"plan":{"prompts_digest":"00000000000000dd"}})");
    put("b/summary.json", made_summary({}));
    ASSERT_EQ(read({"a/", "b"}), "");
    ASSERT_EQ(runs_.size(), 2U);
    EXPECT_EQ(std::tuple(runs_[0].name, runs_[0].facts.prompts_digest.value_or(0),
                         runs_[1].facts.prompts_digest.value_or(0)),
              std::tuple("a", 0xddU, 0U));
    EXPECT_TRUE(runs_[0].counts());
    EXPECT_EQ(runs_[0].outcome, "completed");
}

TEST_F(TableRuns, NamesThatAreAlikeGetTheFolderAbove) {
    put("x/run/summary.json", made_summary({}));
    put("y/run/summary.json", made_summary({}));
    ASSERT_EQ(read({"x/run", "y/run"}), "");
    EXPECT_EQ(std::tuple(runs_[0].name, runs_[1].name), std::tuple("x/run", "y/run"));
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
    SweepPlan plan{.home = "/work",
                   .traces = {{"trace.jsonl", "0123456789abcdef"}},
                   .arguments = {"trace.jsonl"},
                   .axes = {{"speed", {"1", "2", "4", "8"}, false}},
                   .repeat = 1,
                   .labels = {{"gpu", "h100"}}};
    plan.before.limit_ns = plan.ready.limit_ns = plan.after.limit_ns = 9;
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
    EXPECT_EQ(std::tuple(runs_[0].cell, runs_[0].label("gpu")), std::tuple("speed=1", "h100"));
    EXPECT_TRUE(runs_[0].counts());
    EXPECT_EQ(std::tuple(runs_[1].outcome, runs_[1].left_out), std::tuple("failed", "no server"));
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
    EXPECT_FALSE(table_json({table, charts, "gpus", {}}).empty());
    EXPECT_FALSE((table_screen(table) + charts_screen(table, charts)).empty());
    EXPECT_FALSE(table_csv(table).empty());
}

TEST(TableRun, AnyKeyMayBeGoneOrOfAnotherType) {
    const JsonText json(made_summary({}));
    for (JsonValue one = json.root.first(); one.present(); one = one.next()) {
        for (const char* other :
             {"null", "true", "-1", "1e300", "\"\\u0000\\\"x,\\n\"", "[1,\"a\"]",
              R"({"name":3,"reasons":{"x":[]},"urls":7,"speed":[]})"}) {
            MadeSummary made{.members = "\"" + std::string(one.key()) + "\":" + other + ","};
            use(list_of(made_run("a"), made_run("b", made)));
            use(list_of(made_run("b", made)));
        }
    }
}

// Cells of a table: what becomes one line, what its columns are, means and ranges of repeats, what
// is left out, and the order by a figure.

using Indices = std::vector<std::size_t>;

TableFigure figure(const char* name) {
    const Result<TableFigure> parsed = parse_table_figure(name);
    EXPECT_TRUE(parsed) << name;
    return parsed.value();
}

MadeSummary with_ttft(double ms, const std::string& run = "", const std::string& members = "") {
    return {.ttft_p99_ms = ms, .run = run, .members = members};
}

TEST(RunCell, EqualRunsAreOneLineUnlessEachIsWanted) {
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
    const CellFigure ttft = figure_of(table, table.cells[0], figure("ttft:p99")).value();
    EXPECT_DOUBLE_EQ(ttft.mean, 12);
    EXPECT_DOUBLE_EQ(ttft.low, 10);
    EXPECT_DOUBLE_EQ(ttft.high, 14);
    EXPECT_EQ(ttft.runs, 2U);
    MadeSummary labelled{.labels = R"("tp":"4")"};
    const auto runs = [&labelled] {
        return list_of(made_run("a"), made_run("b", labelled), made_run("c"),
                       made_run("d", with_ttft(9, R"("speed":"2","schedule_digest":null,)")));
    };
    const ManyRuns other_table = table_of(runs(), false);
    EXPECT_EQ(other_table.columns, (Texts{"tp", "speed"}));
    ASSERT_EQ(other_table.cells.size(), 3U);
    EXPECT_EQ(other_table.cells[0].runs, (Indices{0, 2}));
    EXPECT_EQ(other_table.cells[1].values, (Texts{"4", "1"}));
    EXPECT_TRUE(other_table.merged);
    const ManyRuns apart = table_of(runs(), true);
    EXPECT_EQ(apart.cells.size(), 4U);
    EXPECT_FALSE(apart.merged);
}

TEST(RunCell, RunsOfOtherSettingsAreNoRepeats) {
    const auto with_flag = [](const std::string& flag) {
        return made_run(flag, with_run(R"("arguments":["t.jsonl",")" + flag + R"("],)"));
    };
    for (const auto& [flag, columns] :
         {std::pair("--budget-input=2000/s", Texts{"budget-input"}),
          std::pair("--header=X-Priority: low", Texts{"header"}),
          std::pair("--connection=fresh", Texts{"connection"}),
          std::pair("--abandon=50%:1ms..2ms", Texts{"abandon"}),
          std::pair("--traceparent", Texts{"traceparent"}),
          std::pair("--no-stream", Texts{"no-stream"}),
          std::pair("--event=+1s run true", Texts{"event"}),
          // The same by what it means, or by the digests of what was played.
          std::pair("--connection=reuse", Texts()), std::pair("--gap-cap=60", Texts())}) {
        TableRun first = made_run("none");
        TableRun other = with_flag(flag);
        first.facts.prompts_digest = other.facts.prompts_digest = 1;
        const ManyRuns table = table_of(list_of(std::move(first), std::move(other)), false);
        EXPECT_EQ(table.columns, columns) << flag;
        EXPECT_EQ(table.cells.size(), 1 + columns.size()) << flag;
        EXPECT_TRUE(table.mixed.empty()) << flag;
    }
    EXPECT_EQ(value_of(table_of(list_of(with_flag("--traceparent")), false), {.runs = {0}},
                       "traceparent"),
              "true");
    // How the client used its host is told.
    TableRun epoll = with_flag("--wait=spin");
    epoll.watched.push_back({"driver", "epoll"});
    TableRun uring = made_run("u");
    uring.watched.push_back({"driver", "io_uring"});
    const ManyRuns table = table_of(list_of(std::move(uring), std::move(epoll)), false);
    EXPECT_EQ(table.cells.size(), 1U);
    EXPECT_EQ(table.mixed, (Texts{"driver", "wait"}));
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
    const ManyRuns other_table = table_of(
        list_of(made_run("warm", with_ttft(1, "", R"("warm_cache":{"warm":true},)"))), false);
    EXPECT_EQ(other_table.cells[0].shown, Indices{0});
    EXPECT_FALSE(other_table.cells[0].counts);
    TableRun killed;
    killed.folder = killed.name = "killed";
    killed.left_out = "no summary.json";
    table =
        table_of(list_of(std::move(killed), made_run("slow", with_ttft(30)),
                         made_run("fast", with_ttft(10, R"("speed":"2","schedule_digest":null,)"))),
                 false);
    sort_cells(table, figure("ttft:p99"));
    EXPECT_EQ(std::tuple(table.cells[0].name, table.cells[1].name), std::tuple("fast", "slow"));
    EXPECT_EQ(table.cells[2].name, "killed");
}

TEST(TableFigure, ValuesPercentilesAndRefusals) {
    MadeSummary made{.labels = R"("gpus":"4")",
                     .members = R"("server":{"energy":{"joules_per_token":0.5}},)"};
    const TableRun run = made_run("a", made);
    EXPECT_DOUBLE_EQ(*figure("ttft:p99").of(run), 20);
    EXPECT_DOUBLE_EQ(*figure("interactivity:p50").of(run), 200);  // 1000 / 5 ms
    EXPECT_DOUBLE_EQ(*figure("interactivity:p99").of(run), 50);   // the slow tail: 1000 / 20 ms
    EXPECT_DOUBLE_EQ(*figure("input_throughput").of(run), 400);
    EXPECT_DOUBLE_EQ(*figure("output_throughput/gpu").of(run), 25);
    EXPECT_DOUBLE_EQ(*figure("hits").of(run), 0.25);
    EXPECT_DOUBLE_EQ(*figure("joules_per_token").of(run), 0.5);
    EXPECT_FALSE(figure("output_throughput/gpu").of(made_run("b")) || figure("itl:p50").of(run));
    TableRun other_run = made_run("a");
    const TableFigure asked = figure("e2e_interactivity:p90");
    EXPECT_TRUE(asked.needs_records());
    EXPECT_FALSE(figure("interactivity:p90").needs_records());
    EXPECT_FALSE(asked.of(other_run));
    Sample sample;
    for (int ms = 1; ms <= 100; ++ms) {
        sample.add(ms);
    }
    other_run.e2e_per_token = sample.distribution();
    EXPECT_DOUBLE_EQ(*asked.of(other_run), 1000.0 / 90);
    EXPECT_FALSE(asked.below_floor(other_run));
    EXPECT_TRUE(figure("e2e_interactivity:p99").below_floor(other_run));
    MadeSummary other_made{.count = 661};
    EXPECT_TRUE(figure("ttft:p99").below_floor(made_run("a", other_made)));
    EXPECT_TRUE(figure("interactivity:p99").below_floor(made_run("a", other_made)));
    other_made.count = 662;
    EXPECT_FALSE(figure("ttft:p99").below_floor(made_run("a", other_made)));
    EXPECT_TRUE(figure("ttft:p99.9").below_floor(made_run("a", other_made)));
    EXPECT_FALSE(figure("ttft:mean").below_floor(made_run("a", other_made)));
    for (const char* name : {"", "ttft", "hits:p50", "ttft:p98", "hits/gpu", "ttft:p99/gpu",
                             "interactivity", "interactivity:p50/gpu", "speed"}) {
        EXPECT_FALSE(parse_table_figure(name)) << name;
    }
}

TEST(Figures, NearestOnesAreOffered) {
    const auto why = [](const char* text) -> std::string {
        const Result<TableFigure> read = parse_table_figure(text);
        return read ? "" : read.error().doing;
    };
    expect_saying(why, gives("TTFT:p99", "did you mean ttft:p99?"),
                  gives("p99_ttft_ms", "did you mean ttft:p99?"),
                  gives("ttf:p99", "did you mean ttft:p99?"),
                  gives("hit_rate", "did you mean hits?"), gives("throughput_rps", "throughput?"),
                  gives("speed", "joules_per_token, e2e_"),
                  gives("e2e_interactivity", "needs one of these statistics"));
    EXPECT_TRUE(says(parse_fail_if("e2e_interactivity:p90 < 5").error().doing, "--table alone"));
    EXPECT_TRUE(says(why_not_compared("ttft:max"), "one request"));
    EXPECT_EQ(read_metric("ttft:median")->name(), "ttft:p50");
}

// Whoever names figures knows all of them: offers one, or says why not.
TEST(Figures, AreTheSameForAllThatNameThem) {
    std::istringstream names(list_of_figures([](const FigureName&) { return true; }));
    std::size_t count = 0;
    for (std::string word; names >> word;) {
        word.resize(word.find_last_not_of(',') + 1);
        const FigureName* const named = find_figure(word);
        if (named == nullptr) {
            continue;  // "(each with ..)"
        }
        ++count;
        const bool is_time = named->unit == FigureUnit::time;
        const std::string name = word + (named->has_statistics() ? ":p90" : "");
        const std::string is_low = name + (is_time                            ? " < 2s"
                                           : named->unit == FigureUnit::share ? " < 2 %"
                                                                              : " < 2");
        EXPECT_TRUE(parse_fail_if(is_low)) << is_low;
        EXPECT_EQ(static_cast<bool>(parse_stop_rule(is_low)), named->stop.has_value()) << is_low;
        const Result<Slos> slos = parse_slos(is_low);
        EXPECT_EQ(static_cast<bool>(slos), named->in_slo && named->better == Better::low) << word;
        EXPECT_TRUE(slos || !says(slos.error().doing, "is not a known figure")) << word;
        const Result<TableFigure> in_table = parse_table_figure(name);
        ASSERT_TRUE(in_table) << name;
        EXPECT_EQ(in_table.value().better, named->better) << name;
        EXPECT_TRUE(std::ranges::any_of(table_figures(), [&name](const TableFigure& one) {
            return one.name == name;
        })) << name;
        const std::string why = why_not_compared(name);
        EXPECT_NE(static_cast<bool>(read_metric(name)), says(why, "can be compared:")) << why;
    }
    EXPECT_EQ(count, 20U);
    EXPECT_EQ(parse_fail_if("interactivity:min < 5").value().statistic, find_statistic("max"));
    EXPECT_TRUE(parse_fail_if("hits > 105 %")) << "a warm cache has more than the trace allows";
    EXPECT_FALSE(parse_fail_if("good > 100 %"));
    EXPECT_EQ(find_figure("goodput"), find_figure("request_goodput"));
    EXPECT_EQ(find_figure("throughput"), find_figure("request_throughput"));
    EXPECT_EQ(find_figure("e2el"), find_figure("e2e"));
}

// Whoever shows one run shows each figure as the registry has it: summary.json, from which tables,
// sweeps, CSV and workbook are made, the short screen, the tables by group, and --why.
TEST(Figures, AreShownByAllThatShowOneRun) {
    const SummaryFigures f = made_figures();
    const std::string text = summary_json(f, {});
    const Result<CellSummary> summary = CellSummary::read(text);
    ASSERT_TRUE(summary);
    const std::vector<TableRow> rows = summary_rows(text);
    const std::string screen = summary_table(f, {});
    for (const FigureName& figure : figure_names()) {
        const std::string name(figure.name);
        const bool is_time = figure.unit == FigureUnit::time;
        const Threshold p90 = parse_figure(name + (figure.has_statistics() ? ":p90" : "")).value();
        const std::optional<double> in_run = judge_thresholds({p90}, f).front().value;
        const std::optional<double> in_file = summary.value().figure(p90);
        ASSERT_TRUE(in_run && in_file) << name;
        EXPECT_NEAR(is_time ? *in_file / 1e6 : *in_file, *in_run, 1e-9) << name;
        EXPECT_EQ(says(screen, "\n" + std::string(figure.title) + "  "), figure.on_screen) << name;
        EXPECT_EQ(find_why_figure(name) != nullptr, figure.of_request != nullptr) << name;
        const bool in_groups = std::ranges::any_of(group_columns(), [&name](const auto& one) {
            return one.name == "p90_" + name + "_ms";
        });
        EXPECT_EQ(in_groups, figure.of_request != nullptr && figure.in_slo) << name;
        const std::string cell = name == "drift" ? "drift_ns.p90"
                                 : name == "e2e" ? "p90_e2el_ms"
                                                 : "p90_" + name + "_ms";
        EXPECT_EQ(std::ranges::any_of(
                      rows, [&cell](const TableRow& row) { return row.front().text == cell; }),
                  is_time)
            << name;
    }
}

// Exports of a table: the rows of InferenceX have the keys of its own (tests/data/views), the
// reports of llm-d keep to its schema, and the CSV has the columns of InferenceX's sweeps.

ViewedRun five_requests(void (*change)(Record& record) = nullptr) {
    return vector_run(JsonText(vector_text()).root.find("vector"), 5, change);
}

TableRun labelled_cell() {
    MadeSummary made;
    made.labels =
        R"("hw":"h100","tp":"4","gpus":"8","disagg":"true","precision":"fp8","ep":"many")";
    return made_cell("01-users=16", {{"users", "16"}, {"conc", "16"}}, made);
}

TEST(InferencexRow, HasTheKeysAndTheProvenanceOfTheirs) {
    const JsonText row(inferencex_row(labelled_cell(), inferencex_view(five_requests()).json));
    std::istringstream keys(source_file("tests/data/views/inferencex_row_keys.txt"));
    std::set<std::string> known;
    for (std::string key; std::getline(keys, key);) {
        if (key.starts_with('#')) {
            continue;
        }
        const bool optional = key.starts_with('?');
        key = optional ? key.substr(1) : key;
        std::replace(key.begin(), key.end(), '.', '/');
        EXPECT_TRUE(optional || at(row.root, key).present()) << key;
        known.insert(key);
    }
    for (JsonValue one = row.root.first(); one.present(); one = one.next()) {
        EXPECT_TRUE(known.contains(std::string(one.key()))) << one.key();
    }
    // `ep`: "many" is not a number.
    EXPECT_EQ(values_of(row.root, "hw, tp, conc, disagg, model, ep, image"),
              "h100, 4, 16, true, m, null, null");
    const JsonValue rates = at(row.root, "request_metrics/throughput");
    const double total = at(rates, "total/tokens_per_second").as_double().value_or(0);
    EXPECT_GT(total, 0);
    EXPECT_DOUBLE_EQ(at(rates, "per_gpu/total_tput_tps").as_double().value_or(0), total / 8);
}

TEST(LlmdReport, KeepsToTheSchema) {
    for (auto* const change : {+[](Record&) {}, keep_no_chunks, answer_at_once}) {
        const std::string text =
            llmd_report(labelled_cell(), llmd_view(five_requests(change)).json);
        EXPECT_EQ(schema_errors("tests/data/views/llmd_report.schema.json", text), Texts());
        const JsonText report(text);
        EXPECT_EQ(values_of(report.root, "run/eid, run/description"), "s, users=16 conc=16");
    }
}

TEST(TableCsv, HasTheColumnsOfTheirSweeps) {
    MadeSummary made{.labels = R"("offload":"on, host","tp":"4")",
                     .members = R"("server":{"prefix_hit_tokens":30,"prefix_query_tokens":40},)"};
    const ManyRuns table =
        table_of(list_of(made_cell("01-users=8", {{"users", "8"}}, made)), false);
    const Texts lines = lines_of(table_csv(table));
    ASSERT_EQ(lines.size(), 2U);
    // collect_sweep_results.py (495db32d)
    EXPECT_TRUE(lines[0].starts_with(
        "users,exp_name,tp,offload,status,num_requests,throughput_rps,input_throughput_tps,"
        "output_throughput_tps,total_throughput_tps,mean_ttft_ms,p50_ttft_ms,p90_ttft_ms,"
        "p99_ttft_ms,mean_tpot_ms,p50_tpot_ms,p90_tpot_ms,p99_tpot_ms,mean_latency_ms,"
        "p50_latency_ms,p90_latency_ms,p99_latency_ms,gpu_hit_rate,cpu_hit_rate,"))
        << lines[0];
    EXPECT_TRUE(lines[1].starts_with(
        "8,01-users=8,4,\"on, host\",SUCCESS,240,,400,100,500,,10,,20,,5,,20,,,,,75,,"))
        << lines[1];
    const auto commas = [](const std::string& line) {
        return std::count(line.begin(), line.end(), ',');
    };
    EXPECT_EQ(commas(lines[0]), commas(lines[1]) - 1);  // one stands in quotes
}

}  // namespace
}  // namespace driftless
