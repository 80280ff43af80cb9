// Sweeps: flags, plan and ledger.

#include "cmd/runs/sweep.hpp"

#include "cmd/runs/find.hpp"
#include "tests/unit/made.hpp"
#include "tests/unit/schema_check.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

FindCommandLine parse(Words words, const Words& more = {}) {
    words.insert(words.begin(), {"trace.jsonl", "--url", "http://a:1"});
    words.insert(words.end(), more.begin(), more.end());
    return parse_find_options(words);
}

FindCommandLine over(const char* load, const Words& more = {}) {
    return parse({"--slo", "ttft:p90<1s", "--over", load}, more);
}

std::string refusal(const FindCommandLine& line) {
    EXPECT_EQ(line.kind, FindCommandLine::Kind::refused);
    return line.text;
}

TEST(FindOptions, HasBoundsAndHandsTheRestToReplay) {
    const FindCommandLine copies = over("replicate");
    ASSERT_EQ(copies.kind, FindCommandLine::Kind::run) << copies.text;
    EXPECT_EQ(std::tuple(copies.options.rules.low, copies.options.rules.start), std::tuple(1, 1));
    EXPECT_EQ(copies.options.rules.high, 1024);
    EXPECT_TRUE(copies.options.rules.whole);
    EXPECT_EQ(copies.options.rules.tolerance, 0.05);
    EXPECT_EQ(copies.options.slos.rows_min, 64U);

    EXPECT_EQ(over("users", {"--low", "4", "--high", "100"}).options.rules.start, 20);
    const FindCommandLine rate = over("rate", {"--low", "2.5", "--tolerance", "0.1"});
    EXPECT_EQ(std::tuple(rate.options.rules.start, rate.options.rules.high), std::tuple(2.5, 2560));
    EXPECT_EQ(rate.options.rules.tolerance, 0.1);
    EXPECT_FALSE(rate.options.rules.whole);
    EXPECT_EQ(over("speed", {"--high", "0.5"}).options.rules.start, 0.5);
    const FindCommandLine line = over("rate", {"--", "--duration", "2m", "--cache-salt=x"});
    ASSERT_EQ(line.kind, FindCommandLine::Kind::run) << line.text;
    EXPECT_EQ(line.options.replay_flags, (Words{"--duration", "2m", "--cache-salt=x"}));
    EXPECT_TRUE(line.options.salted);
    EXPECT_EQ(line.options.traces, Words{"trace.jsonl"});
}

TEST(FindOptions, RefusesOtherLoadsAndWritesThemPlainly) {
    for (const char* load : {"0", "-1", "x", "1e3", "inf", ""}) {
        EXPECT_TRUE(says(refusal(over("rate", {"--low", load})), "--low")) << load;
    }
    EXPECT_TRUE(says(refusal(over("users", {"--low", "1.5"})), "whole number"));
    EXPECT_TRUE(says(refusal(over("users", {"--low", "9", "--high", "8"})), "--low 9 is above"));
    EXPECT_TRUE(says(refusal(over("rate", {"--high", "8", "--start-at", "9"})), "between"));
    EXPECT_TRUE(says(refusal(over("rate", {"--tolerance", "0"})), "tolerance"));
    EXPECT_TRUE(says(refusal(over("qps")), "is not a load"));
    EXPECT_TRUE(says(refusal(parse({"--over", "rate"})), "--slo is missing"));
    EXPECT_TRUE(says(refusal(parse({"--slo", "ttft:p90<1s"})), "--over is missing"));
    EXPECT_TRUE(
        says(refusal(parse_find_options({"--slo", "ttft:p90<1s", "--over", "rate"})), "no trace"));
    EXPECT_TRUE(says(refusal(parse_find_options({"t", "--slo", "ttft:p90<1s", "--over", "rate"})),
                     "--url is missing"));
    for (const char* flag : {"--rate", "--seed", "--out", "--fail-if", "--dry-run", "--from"}) {
        EXPECT_TRUE(says(refusal(over("rate", {"--", flag, "3"})), flag)) << flag;
    }
    EXPECT_TRUE(says(refusal(over("rate", {"--rate", "3"})), "unknown flag --rate"));
    EXPECT_EQ(std::tuple(load_text(1), load_text(1000000), load_text(12.5), load_text(0.00125)),
              std::tuple("1", "1000000", "12.5", "0.00125"));
    EXPECT_EQ(std::tuple(load_text(0.0000123), load_text(99999.97), load_text(1234.56)),
              std::tuple("0.0000123", "100000", "1234.56"));
    EXPECT_EQ(load_text(50), "50");
}

// A plan: the product of its lists, in interleaved order; what cannot be a cell is refused.

SweepPlan made_plan() {
    return SweepPlan{.arguments = {"trace.jsonl", "--url=http://a:1"},
                     .axes = {{"speed", {"1", "2"}, false}, {"users", {"8", "16", "32"}, false}}};
}

/// The plan that this makes of it.
SweepPlan plan_with(auto change) {
    SweepPlan plan = made_plan();
    change(plan);
    return plan;
}

std::vector<std::string> names_of(const std::vector<PlannedCell>& cells) {
    return members_of(cells, &PlannedCell::name);
}

TEST(SweepPlan, HasTheProductOfItsLists) {
    const std::vector<PlannedCell> cells = plan_cells(made_plan());
    EXPECT_EQ(names_of(cells), (std::vector<std::string>{"speed=1 users=8", "speed=1 users=16",
                                                         "speed=1 users=32", "speed=2 users=8",
                                                         "speed=2 users=16", "speed=2 users=32"}));
    EXPECT_EQ(cells[3].folder, "04-speed=2-users=8");
    SweepPlan plan = made_plan();
    plan.axes.pop_back();
    plan.repeat = 3;
    const std::vector<PlannedCell> other_cells = plan_cells(plan);
    EXPECT_EQ(names_of(other_cells), words_of("speed=1 speed=2 speed=2 speed=1 speed=1 speed=2"));
    EXPECT_EQ(other_cells[2].repeat, 2U);
    EXPECT_EQ(other_cells[2].folder, "03-speed=2");
    plan = made_plan();
    plan.axes = {{"spread", {"true", "false"}, false}, {"tp", {"4"}, true}};
    plan.labels = {{"gpu", "h100"}};
    plan.salted = true;
    const std::vector<PlannedCell> third_cells = plan_cells(plan);
    EXPECT_EQ(arguments_of(plan, third_cells[0]),
              words_of("trace.jsonl --url=http://a:1 --spread --label=spread=true --label=tp=4 "
                       "--label=gpu=h100 --cache-salt=random"));
    EXPECT_EQ(arguments_of(plan, third_cells[1])[2], "--label=spread=false");
}

TEST(SweepPlan, SaltsWhereItMustAndBoundsItsCells) {
    const auto salts = [](auto change) { return needs_salt(plan_with(change)); };
    EXPECT_TRUE(needs_salt(made_plan()));
    EXPECT_FALSE(salts([](SweepPlan& p) { p.before.command = "restart"; }));
    EXPECT_FALSE(salts([](SweepPlan& p) { p.arguments.push_back("--reset-cache"); }));
    EXPECT_FALSE(salts(
        [](SweepPlan& p) { p.arguments.insert(p.arguments.end(), {"--cache-salt", "mine"}); }));
    EXPECT_FALSE(salts([](SweepPlan& p) { p.axes.push_back({"cache-salt", {"a", "b"}, false}); }));
    SweepPlan plan = made_plan();
    plan.axes = {{"speed", {}, false}};
    for (std::size_t i = 1; i <= cells_max; ++i) {
        plan.axes[0].values.push_back(std::to_string(i));
    }
    EXPECT_EQ(check_plan(plan), "");
    EXPECT_EQ(plan_cells(plan).size(), cells_max);
    EXPECT_EQ(plan_cells(plan)[8].folder, "0009-speed=9");
    plan.repeat = 2;
    EXPECT_TRUE(says(check_plan(plan), "more than 1000 cells"));
    plan.repeat = UINT64_MAX;
    EXPECT_NE(check_plan(plan), "");
    plan = made_plan();
    plan.repeat = cells_max / 6;
    EXPECT_EQ(check_plan(plan), "");
    plan.repeat += 1;
    EXPECT_NE(check_plan(plan), "");
}

TEST(SweepPlan, KeepsNoKeyOfAHook) {
    SweepPlan plan = made_plan();
    plan.ready.command = "curl -H \"X-Key: $KEY\" http://h";
    EXPECT_EQ(check_plan(plan), "");
    plan.ready.command = "curl -u me:hunter2 http://h";
    EXPECT_TRUE(says(check_plan(plan), "--ready has a key in it"));
    EXPECT_FALSE(says(check_plan(plan), "hunter2"));
    plan = made_plan();
    plan.axes.push_back({.name = "hf_token", .values = {"hunter2"}, .of_server = true});
    EXPECT_TRUE(says(check_plan(plan), "--server hf_token: sweep.json would contain a secret"));
}

TEST(SweepPlan, RefusesWhatCellsMayNotHave) {
    const auto why = [](auto change) { return check_plan(plan_with(change)); };
    EXPECT_EQ(check_plan(made_plan()), "");
    EXPECT_TRUE(says(why([](SweepPlan& p) { p.arguments.push_back("--out=x"); }), "--out"));
    EXPECT_NE(why([](SweepPlan& p) { p.arguments.push_back("--resume"); }), "");
    EXPECT_TRUE(says(why([](SweepPlan& p) { p.arguments[0] = "-"; }), "standard input"));
    EXPECT_TRUE(
        says(why([](SweepPlan& p) { p.arguments.push_back("--api-key=sk-1234567"); }), "env:NAME"));
    EXPECT_EQ(why([](SweepPlan& p) { p.arguments.push_back("--api-key=env:KEY"); }), "");
    EXPECT_NE(why([](SweepPlan& p) { p.axes.push_back({"api-key", {"sk-1234567"}, false}); }), "");
    EXPECT_TRUE(says(why([](SweepPlan& p) { p.axes[1].name = "speed"; }), "given twice"));
    EXPECT_TRUE(says(why([](SweepPlan& p) { p.labels = {{"speed", "x"}}; }), "--label speed"));
    EXPECT_NE(why([](SweepPlan& p) { p.axes[0].values.clear(); }), "");
    EXPECT_TRUE(says(why([](SweepPlan& p) { p.axes[0] = {"url", {"x"}, true}; }), "another value"));
    const auto over_url = [](SweepPlan& p) {
        p.arguments = {"t.jsonl"};
        p.axes[0] = {"url", {"http://a:1"}, false};
    };
    EXPECT_EQ(why(over_url), "");
    EXPECT_TRUE(says(why([&](SweepPlan& p) {
                         over_url(p);
                         p.arguments.push_back("--url=http://b:1");
                     }),
                     "--url is also given"));
    EXPECT_TRUE(says(why([](SweepPlan& p) { p.axes[0].of_server = true; }), "--before"));
}

TEST(SweepAxis, IsANameAndAList) {
    const SweepAxis axis = parse_axis("--max-inflight=4, 8").value();
    EXPECT_EQ(axis.name, "max-inflight");
    EXPECT_EQ(axis.values, (std::vector<std::string>{"4", "8"}));
    for (const char* wrong : {"", "speed", "=1", "--=1", "a b=1", "speed=", "speed=1,,2"}) {
        EXPECT_FALSE(parse_axis(wrong)) << wrong;
    }
}

TEST(SweepPlanFile, IsReadInItsOwnOrder) {
    SweepPlan plan;
    EXPECT_EQ(read_plan_file(R"(trace = ["a.jsonl", "b.jsonl"]
url = "http://a:1"
repeat = 3
idle_limit = "5m"
[over]
speed = [1, 2.5]
api = "sglang"
[server]
tp = [1, 2]
[replay]
no-progress = true
spread = false
limit = 7
header = ["A: 1", "B: 2"]
[labels]
gpu = "h100"
[hooks]
before = "start"
before_limit = 90
)",
                             plan),
              "");
    EXPECT_EQ(plan.arguments,
              (std::vector<std::string>{"a.jsonl", "b.jsonl", "--url=http://a:1", "--header=A: 1",
                                        "--header=B: 2", "--limit=7", "--no-progress"}));
    EXPECT_EQ(std::tuple(plan.repeat, plan.idle_limit_ns), std::tuple(3U, 300'000'000'000));
    ASSERT_EQ(plan.axes.size(), 3U);
    EXPECT_EQ(plan.axes[0].name, "speed");
    EXPECT_EQ(plan.axes[0].values, (std::vector<std::string>{"1", "2.5"}));
    EXPECT_EQ(plan.axes[1].values, (std::vector<std::string>{"sglang"}));
    EXPECT_TRUE(plan.axes[2].of_server);
    EXPECT_EQ(std::tuple(plan.before.command, plan.before.limit_ns, plan.labels[0].second),
              std::tuple("start", 90'000'000'000, "h100"));
}

TEST(SweepPlanFile, IsRefusedByLineAndKeepsNumbers) {
    const auto why = [](const std::string& text) {
        SweepPlan plan;
        return read_plan_file(text, plan);
    };
    expect_each(why, gives("\nreapeat = 2\n", "line 2: reapeat is not known; remove or correct it"),
                gives("repeat = 0\n", "line 1: repeat is not a whole number of 1 or more"),
                gives("over = 3\n", "line 1: over is not written as [over]"),
                gives("[hooks]\nbefore = 3\n", "line 2: before is not a text; put it in quotes"),
                gives("[hooks]\nbefore_limit = 0\n",
                      "line 2: before_limit is not a time above 0; use 90, \"10m\" or \"30s\""),
                gives("[over]\nspeed = [[1]]\n",
                      "line 2: speed is not a text, a number, or a list of them"));
    EXPECT_TRUE(says(why("repeat = \n"), "line 1: "));
    // What stands in the file is what replay is given, to the last digit.
    SweepPlan plan;
    EXPECT_EQ(read_plan_file("[over]\nrate = [1.23456789, 0.000001, 1e7, 2.0, inf, -1.5]\n", plan),
              "");
    EXPECT_EQ(plan.axes[0].values,
              (std::vector<std::string>{"1.23456789", "0.000001", "10000000", "2", "inf", "-1.5"}));
}

TEST(SweepPlan, RefusesWhatNoCommandLineHolds) {
    const auto why = [](auto change) { return check_plan(plan_with(change)); };
    EXPECT_EQ(why([](SweepPlan& p) { p.repeat = 0; }),
              "the plan repeats each cell 0 times; use 1 or more");
    EXPECT_EQ(why([](SweepPlan& p) { p.axes[0].name = "a b"; }),
              "--over \"a b\" is not a name; use letters, digits, - and _");
    const std::string nul("a\0b", 3);
    EXPECT_TRUE(says(why([&](SweepPlan& p) { p.axes[0].values.push_back(nul); }), "U+0000"));
    EXPECT_TRUE(says(why([&](SweepPlan& p) { p.arguments.push_back(nul); }), "U+0000"));
    EXPECT_TRUE(says(why([&](SweepPlan& p) { p.labels.emplace_back("gpu", nul); }), "U+0000"));
    EXPECT_TRUE(says(why([&](SweepPlan& p) { p.after.command = nul; }), "U+0000"));
    EXPECT_FALSE(says(check_plan(made_plan()), "U+0000"));
}

// sweep.json holds a sweep whole: it reads back, keeps to its schema, and its means have no warm
// cell.

void end_cell(LedgerCell& cell, CellOutcome outcome, double ttft_ms) {
    cell.state = CellState::ended;
    cell.outcome = outcome;
    cell.exit_code = 0;
    cell.began = "2026-11-21T00:00:00Z";
    cell.verdict = "certified";
    cell.summary =
        R"({"num_prompts":4,"completed":4,"duration":2,"total_input_tokens":100,"request_throughput":2,)"
        R"("mean_ttft_ms":)" +
        std::to_string(ttft_ms) + R"(,"p99_ttft_ms":null})";
}

Ledger made_ledger() {
    SweepPlan plan{.home = "/work",
                   .traces = {{"trace.jsonl", "0123456789abcdef"}},
                   .arguments = {"trace.jsonl"},
                   .axes = {{"speed", {"1", "2"}, false}, {"tp", {"a,\"b"}, true}},
                   .repeat = 2,
                   .labels = {{"gpu", "h100"}},
                   .before = {"before", "start \"it\"", 7}};
    plan.ready.limit_ns = plan.after.limit_ns = 9;
    plan.idle_limit_ns = 11;
    plan.salted = true;
    Ledger ledger = new_ledger(plan);
    end_cell(ledger.cells[0], CellOutcome::completed, 10);  // speed=1
    end_cell(ledger.cells[1], CellOutcome::completed, 20);  // speed=2
    end_cell(ledger.cells[2], CellOutcome::completed, 1);   // speed=2, again
    ledger.cells[2].warm = true;
    ledger.cells[2].summary.insert(1, R"("warm_cache":{"warm":true},)");
    ledger.cells[3].state = CellState::running;
    ledger.cells[3].cut_folders = {"x.cut-1"};
    ledger.cells[3].note = "a note";
    ledger.cells[3].hook_failed = "after: exit code 3";
    return ledger;
}

TEST(SweepLedger, ReadsBackWhatItWritesAndNothingElse) {
    const std::string text = sweep_json(made_ledger());
    Ledger read;
    ASSERT_EQ(read_ledger(text, read), "");
    EXPECT_EQ(sweep_json(read), text);
    EXPECT_EQ(read.cells[3].state, CellState::running);
    EXPECT_EQ(std::tuple(read.cells[2].warm, read.plan.home), std::tuple(true, "/work"));
    ASSERT_EQ(read.plan.traces.size(), 1U);
    EXPECT_EQ(read.plan.traces[0].path, "trace.jsonl");
    EXPECT_EQ(read.plan.traces[0].digest, "0123456789abcdef");
    EXPECT_EQ(read.plan.before.command, "start \"it\"");
    EXPECT_EQ(schema_errors("cmd/runs/sweep.schema.json", sweep_json(made_ledger())), Words());
    Ledger other_read;
    EXPECT_EQ(read_ledger("{", other_read), "is not JSON; start a new sweep");
    EXPECT_EQ(read_ledger("{}", other_read),
              "was written by another version of driftless; use that one");
    std::string other_text = sweep_json(made_ledger());
    other_text.replace(other_text.find("\"running\""), 9, "\"unheard\"");
    EXPECT_EQ(read_ledger(other_text, other_read),
              "has cells that do not match its plan; start a new sweep");
    other_text = sweep_json(made_ledger());
    other_text.replace(other_text.find("[\"1\",\"2\"]"), 9, "[\"1\"]");
    EXPECT_EQ(read_ledger(other_text, other_read),
              "has cells that do not match its plan; start a new sweep");
}

// A warm cell looks 20 times as fast.
TEST(SweepRuns, LeaveOutAWarmCellAndSaySo) {
    Ledger ledger = made_ledger();
    const auto mean = [&ledger](std::size_t cell) {
        const ManyRuns table = table_of(sweep_runs(ledger, "no-such-folder"), false);
        const std::optional<CellFigure> found =
            figure_of(table, table.cells[cell], parse_table_figure("ttft:mean").value());
        return found && table.cells[cell].counts ? std::optional(found->mean) : std::nullopt;
    };
    EXPECT_EQ(mean(0), 10);  // its repeat still runs
    EXPECT_EQ(mean(1), 20);
    EXPECT_TRUE(says(table_screen(table_of(sweep_runs(ledger, "no-such-folder"), false)),
                     "left out of means and frontiers: its cache was warm"));
    EXPECT_TRUE(says(cell_ends(ledger.cells[2]), "began with a warm cache"));
    EXPECT_FALSE(says(cell_ends(ledger.cells[2]), "from due"));
    ledger.cells[2].summary = R"({"p99_ttft_ms":20,"p99_ttft_due_ms":9001})";
    EXPECT_TRUE(says(cell_ends(ledger.cells[2]), "TTFT p99 20.00 ms (9001.00 from due)"));

    end_cell(ledger.cells[2], CellOutcome::spoiled, 1000);
    EXPECT_EQ(mean(1), 20);
    end_cell(ledger.cells[2], CellOutcome::threshold, 30);
    EXPECT_EQ(mean(1), 25);
    std::string& summary = ledger.cells[2].summary;
    summary.replace(summary.size() - 1, 1, R"(,"stopped_when":{"cond":"errors > 5 %"}})");
    EXPECT_EQ(mean(1), 20);
}

// Running and waiting requests of a /metrics page, by the names of each server.

TEST(BusyRequests, AreSummedOverEnginesThatCount) {
    EXPECT_EQ(busy_requests("# HELP vllm:num_requests_running Number\n"
                            "# TYPE vllm:num_requests_running gauge\n"
                            "vllm:num_requests_running{engine=\"0\",model_name=\"a b}c\"} 2.0\n"
                            "vllm:num_requests_running{engine=\"1\"} 1.0\n"
                            "vllm:num_requests_waiting{engine=\"0\"} 4\n"
                            "vllm:num_requests_waiting_by_reason{reason=\"x\"} 9\n"
                            "vllm:num_requests_swapped 5\n"),
              7);
    expect_each(
        busy_requests, gives("sglang:num_running_reqs{x=\"y\"} 0.0\nsglang:num_queue_reqs 0", 0),
        gives("llamacpp:requests_processing 1\n", 1), gives("tgi_queue_size 3 1700000000000\n", 3),
        gives("", std::nullopt), gives("process_cpu_seconds_total 3\n", std::nullopt),
        gives("vllm:num_requests_running{engine=\"0\" 2\n", std::nullopt),
        gives("vllm:num_requests_running NaN\n", std::nullopt));
}

}  // namespace
}  // namespace driftless
