// sweep.json holds a sweep whole: it reads back, keeps to its schema, and averages no warm cell.
#include <gtest/gtest.h>

#include "cmd/runs/sweep.hpp"
#include "tests/unit/schema_check.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

void end_cell(LedgerCell& cell, CellOutcome outcome, double ttft_ms) {
    cell.state = CellState::ended;
    cell.outcome = outcome;
    cell.exit_code = 0;
    cell.began = "2026-11-21T00:00:00Z";
    cell.verdict = "certified";
    cell.summary =
        R"({"num_prompts":4,"duration":2,"total_input_tokens":100,"request_throughput":2,)"
        R"("mean_ttft_ms":)" +
        std::to_string(ttft_ms) + R"(,"p99_ttft_ms":null})";
}

Ledger made_ledger() {
    SweepPlan plan;
    plan.home = "/work";
    plan.traces = {{"trace.jsonl", "0123456789abcdef"}};
    plan.arguments = {"trace.jsonl"};
    plan.axes = {{"speed", {"1", "2"}, false}, {"tp", {"a,\"b"}, true}};
    plan.repeat = 2;
    plan.labels = {{"gpu", "h100"}};
    plan.before = {"start \"it\"", 7};
    plan.ready = plan.after = {"", 9};
    plan.idle_limit_ns = 11;
    plan.salted = true;
    Ledger ledger = new_ledger(plan);
    end_cell(ledger.cells[0], CellOutcome::completed, 10);  // speed=1
    end_cell(ledger.cells[1], CellOutcome::completed, 20);  // speed=2
    end_cell(ledger.cells[2], CellOutcome::completed, 1);   // speed=2, again
    ledger.cells[2].warm = true;
    ledger.cells[3].state = CellState::running;
    ledger.cells[3].cut_folders = {"x.cut-1"};
    ledger.cells[3].note = "a note";
    return ledger;
}

TEST(SweepLedger, ReadsBackWhatItWrites) {
    const std::string text = sweep_json(made_ledger());
    Ledger read;
    ASSERT_EQ(read_ledger(text, read), "");
    EXPECT_EQ(sweep_json(read), text);
    EXPECT_EQ(read.cells[3].state, CellState::running);
    EXPECT_EQ(read.cells[2].warm, true);
    EXPECT_EQ(read.plan.home, "/work");
    ASSERT_EQ(read.plan.traces.size(), 1U);
    EXPECT_EQ(read.plan.traces[0].path, "trace.jsonl");
    EXPECT_EQ(read.plan.traces[0].digest, "0123456789abcdef");
    EXPECT_EQ(read.plan.before.command, "start \"it\"");
}

TEST(SweepLedger, KeepsToItsSchema) {
    JsonDocument schema;
    JsonDocument ledger;
    const std::string schema_text = source_file("cmd/runs/sweep.schema.json");
    const std::string text = sweep_json(made_ledger());
    const Result<JsonValue> shape = schema.parse(schema_text);
    const Result<JsonValue> value = ledger.parse(text);
    ASSERT_TRUE(shape);
    ASSERT_TRUE(value);
    EXPECT_EQ(schema_errors(shape.value(), value.value()), std::vector<std::string>());
}

TEST(SweepLedger, RefusesWhatIsNotItsOwn) {
    Ledger read;
    EXPECT_EQ(read_ledger("{", read), "is not JSON; start a new sweep");
    EXPECT_EQ(read_ledger("{}", read), "was written by another version of driftless; use that one");
    std::string text = sweep_json(made_ledger());
    text.replace(text.find("\"running\""), 9, "\"unheard\"");
    EXPECT_EQ(read_ledger(text, read), "has cells that do not match its plan; start a new sweep");
    text = sweep_json(made_ledger());
    text.replace(text.find("[\"1\",\"2\"]"), 9, "[\"1\"]");
    EXPECT_EQ(read_ledger(text, read), "has cells that do not match its plan; start a new sweep");
}

// A warm cell looks 20 times as fast.
TEST(SweepAverages, LeaveOutAWarmCellAndSaySo) {
    Ledger ledger = made_ledger();
    std::vector<Average> averages = averages_of(ledger);
    ASSERT_EQ(averages.size(), 2U);
    EXPECT_EQ(averages[1].averaged, 1U);
    EXPECT_EQ(averages[1].warm, 1U);
    EXPECT_EQ(averages[1].figure("mean_ttft_ms"), 20);
    EXPECT_EQ(averages[1].figure("p99_ttft_ms"), std::nullopt);
    EXPECT_EQ(averages[0].others, 1U);  // still running
    EXPECT_TRUE(says(sweep_table(ledger), "1 of 4 cells began with a warm cache and are left out"));
    EXPECT_TRUE(says(cell_ends(ledger.cells[2]), "began with a warm cache"));

    end_cell(ledger.cells[2], CellOutcome::spoiled, 1000);
    ledger.cells[2].warm = false;
    averages = averages_of(ledger);
    EXPECT_EQ(averages[1].figure("mean_ttft_ms"), 20);
    EXPECT_EQ(averages[1].others, 1U);

    end_cell(ledger.cells[2], CellOutcome::threshold, 30);
    EXPECT_EQ(averages_of(ledger)[1].figure("mean_ttft_ms"), 25);

    std::string& summary = ledger.cells[2].summary;
    summary.replace(summary.size() - 1, 1, R"(,"stopped_when":{"cond":"errors > 5 %"}})");
    EXPECT_EQ(averages_of(ledger)[1].figure("mean_ttft_ms"), 20);
    EXPECT_EQ(averages_of(ledger)[1].others, 1U);
}

TEST(SweepCsv, HasALineOfEveryCell) {
    const std::string csv = sweep_csv(made_ledger());
    EXPECT_TRUE(csv.starts_with("speed,tp,repeat,run,status,warm,verdict,num_requests,"));
    EXPECT_TRUE(says(csv, "\n2,\"a,\"\"b\",2,03-speed=2-tp=a--b,completed,true,certified,4,2,50,"));
    EXPECT_TRUE(says(csv, "\n1,\"a,\"\"b\",2,04-speed=1-tp=a--b,pending,,,"));
    EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 5);
}

}  // namespace
}  // namespace driftless
