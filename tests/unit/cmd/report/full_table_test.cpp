// The long table has the layout of serving benchmarks: 50 columns, labels of 40, known words.
#include <gtest/gtest.h>

#include <sstream>

#include "cmd/report/summary_table.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

SummaryFigures small_figures() {
    SummaryFigures f{.rows = 3, .completed = 2, .failed = 1, .fired = 3};
    f.outcomes[static_cast<std::size_t>(Outcome::ok)] = 2;
    f.outcomes[static_cast<std::size_t>(Outcome::http_5xx)] = 1;
    f.duration_ns = 2'500'000'000;
    f.input_tokens = 300;
    f.request_throughput = 0.8;
    f.ttft.count = 2;
    f.ttft.mean = 12'345'678;
    f.sending.drift.count = 3;
    f.sending.drift.max = 1234;
    f.late_causes[static_cast<std::size_t>(LateCause::wake)] = 1;
    f.late_causes[static_cast<std::size_t>(LateCause::guard)] = 2;
    f.expected_cached_tokens = 1024;
    f.expected_cached_tokens_reported = 1024;
    f.cached_tokens = 512;
    f.cache_rows_reported = 3;
    f.cache_rows_equal = 2;
    f.goodput_rules = {{{}, "", {200'000'000, std::nullopt, 1'500'000}}};
    f.goodput_counts = {{3, 1}};
    f.good = 1;
    f.outputs_exact = 1;
    f.outputs_long = 1;
    f.errors = {{Outcome::http_5xx, 500, "out of memory", 1, 2}};
    f.tpot_unknown = 2;
    f.itl_rows_left_out = 1;
    f.request_goodput = 0.4;
    return f;
}

bool has_line(const std::string& table, const std::string& line) {
    return ("\n" + table).find("\n" + line + "\n") != std::string::npos;
}

// What caps held back and what was sent again: lines where there is any, else none.
TEST(FullTable, TellsWhatWasHeldAndSentAgain) {
    SummaryFigures f = small_figures();
    EXPECT_FALSE(says(full_table(f, {}), "Held by"));
    EXPECT_FALSE(says(full_table(f, {}), "sent again"));
    f.sending.held_by_user.drift.count = f.drift_left_out = 3;
    f.sending.held_by_budget.held.count = 2;
    f.sending.held_by_budget.held.max = 9'000'000;
    f.sending.held_by_user.drift.max = 5'250'000;
    f.sending.held_by_host.held.count = 4;
    f.sending.held_by_host.held.max = 2'000'000;
    f.retransmits = 7;
    f.retransmitted_rows = 5;
    f.tainted_retransmitted = 2;
    const std::string table = full_table(f, {});
    for (const char* line : {
             "Held by --max-inflight, left out:        3",
             "- late (median / P99 / worst, ms):       0.00 / 0.00 / 5.25",
             "Held by token budgets, left out:         2",
             "- held (median / P99 / worst, ms):       0.00 / 0.00 / 9.00",
             "Held by a limit of this host:            4",
             "- held (median / P99 / worst, ms):       0.00 / 0.00 / 2.00",
             "Segments sent again (rows, late rows):   7 (5, 2)",
         }) {
        EXPECT_TRUE(has_line(table, line)) << line << " is not in:\n" << table;
    }
}

// Lines as vllm's serving benchmark prints them, and ours below.
TEST(FullTable, HasTheKnownLayout) {
    SummaryInfo info;
    info.clamped_rows = 7;
    info.backend = "openai-chat";
    info.verdict_reasons = {"calibrate has not run on this host"};
    const std::string table = full_table(small_figures(), info);
    for (const char* line : {
             "============ Serving Benchmark Result ============",
             "Successful requests:                     2",
             "Failed requests:                         1",
             "Outputs exact / short / long / unknown:  1 / 0 / 1 / 0",
             "http_5xx 500: 1                          out of memory",
             "No TPOT:                                 2 rows: all tokens came at one instant",
             "No ITL:                                  1 row: several tokens per chunk: "
             "--continuous-usage may count them",
             "Benchmark duration (s):                  2.50",
             "Total input tokens:                      300",
             "Request throughput (req/s):              0.80",
             "Request goodput (req/s):                 0.40",
             "---------------Time to First Token----------------",
             "Mean TTFT (ms):                          12.35",
             "-----Time per Output Token (excl. 1st token)------",
             "Mean TPOT (ms):                          -",
             "---------------Inter-token Latency----------------",
             "----------------End-to-end Latency----------------",
             "Worst drift (us):                        1.23",
             "Late rows by cause:                      wake 1, guard 2",
             "Cached tokens observed:                  512 (50.00 % of those expected)",
             "Rows with exactly the expected hits:     2 of 3",
             "Rows within the overhead (1 word sent):  7",
             "Bounds (ms):                             ttft:200 e2e:1.5",
             "Good requests:                           1 (33.33 %)",
             "ok:                                      2",
             "http_5xx:                                1",
             "==================================================",
             "Verdict:                                 uncalibrated",
         }) {
        EXPECT_TRUE(has_line(table, line)) << line << "\n" << table;
    }
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);) {
        if (line[0] == '-' || line[0] == '=') {
            EXPECT_EQ(line.size(), 50u) << line;
        }
    }
}

// Nothing measured: dashes, no zero that could be taken for a measurement, no goodput.
TEST(FullTable, NothingMeasuredIsADash) {
    const std::string table = full_table(SummaryFigures(), SummaryInfo());
    EXPECT_TRUE(has_line(table, "P99 E2EL (ms):                           -"));
    EXPECT_TRUE(
        has_line(table,
                 "Cached tokens:                           0 tokens expected, hits not reported by "
                 "the server"));
    EXPECT_FALSE(says(table, "oodput"));
    EXPECT_FALSE(says(table, "overhead"));
}

// A remedy that was tried is not given again.
TEST(FullTable, SaysWhyTokensHaveNoTimes) {
    SummaryInfo info{.backend = "openai-chat", .continuous_usage = true};
    const auto said = [&](const SummaryFigures& small_figures, const std::string& words) {
        return full_table(small_figures, info).find(words) != std::string::npos;
    };
    EXPECT_TRUE(said(small_figures(),
                     "several tokens per chunk, which the server counts only at the end, despite "
                     "--continuous-usage"));
    SummaryFigures uncounted = small_figures();
    uncounted.uncounted.outputs = 1;
    EXPECT_TRUE(said(uncounted, "1 row: the server counts no tokens: its usage is missing or 0"));
}

// What failed without a word of the server is told by what happened.
TEST(FullTable, NamesFailuresWithoutAText) {
    SummaryFigures failed = small_figures();
    failed.errors = {{Outcome::truncated, 200, "", 16, 3}};
    EXPECT_TRUE(says(full_table(failed, {}), "the server closed the connection inside the answer"));
    failed.errors = {{Outcome::timeout_first_byte, 0, "", 4, 3}};
    EXPECT_TRUE(says(full_table(failed, {}), "no answer in time (--timeout-first-byte)"));
}

}  // namespace
}  // namespace driftless
