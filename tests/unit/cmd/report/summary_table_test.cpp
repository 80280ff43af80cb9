// The screen of a run.

#include "cmd/report/summary_table.hpp"

#include "cmd/report/text_parts.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

TEST(Plots, FillCellsFromBelowAndGroupNumbers) {
    EXPECT_EQ(std::tuple(bar(0, 8, 4), bar(8, 8, 4), bar(4, 8, 4), bar(5, 8, 4)),
              std::tuple("    ", "████", "██  ", "██▌ "));
    EXPECT_EQ(bar(1e-9, 8, 4), "▏   ");  // something is not nothing
    EXPECT_EQ(std::tuple(bar(9, 8, 4), bar(1, 0, 2)), std::tuple("████", "  "));
    EXPECT_EQ(columns(std::vector<std::uint64_t>{0, 16, 8, 1, 9}, 2), (Texts{" █  ▁", " ██▁█"}));
    EXPECT_EQ(columns(std::vector<std::uint64_t>{0, 0}, 1), Texts{"  "});
    EXPECT_EQ(columns({}, 2), (Texts{"", ""}));
    EXPECT_EQ(std::tuple(grouped(0), grouped(999), grouped(1000), grouped(144793823)),
              std::tuple("0", "999", "1,000", "144,793,823"));
}

Distribution of(double scale) {
    return {.count = 100,
            .mean = 1.25 * scale,
            .max = 5 * scale,
            .at = {0.5 * scale, scale, 1.5 * scale, 2 * scale, 3 * scale, 4 * scale, 4.5 * scale}};
}

/// A run in which everything happened.
SummaryFigures figures() {
    SummaryFigures f{
        .rows = 12031, .completed = 11900, .short_output = 11, .failed = 120, .fired = 12000};
    f.outcomes[static_cast<std::size_t>(Outcome::ok)] = 11900;
    f.outcomes[static_cast<std::size_t>(Outcome::short_output)] = 11;
    f.outcomes[static_cast<std::size_t>(Outcome::http_5xx)] = 89;
    f.outcomes[static_cast<std::size_t>(Outcome::not_sent)] = 31;
    f.duration_ns = 3'600'000'000'000;
    f.input_tokens = 144'793'823;
    f.output_tokens = 4'122'048;
    f.request_throughput = 3.31;
    f.output_throughput = 1145.01;
    f.total_token_throughput = 41365.52;
    f.timeline.max_output_tokens_per_s = 1950;
    f.timeline.max_concurrent_requests = 312;
    f.ttft = f.ttft_due = f.tpot = f.itl = f.e2e = of(1e8);
    f.has_bounds = true;
    f.ttft_bounds = {f.ttft, f.ttft};
    f.ttft_bounds.lower.at[p99_index] -= 5e5;
    f.sending.drift = f.sending.wire_drift = of(1e3);
    f.late_causes[static_cast<std::size_t>(LateCause::guard)] = 1920;
    f.prompts.exact = 12000;
    f.expected_cached_tokens = 77'156'352;
    f.expected_cached_tokens_reported = 77'156'352;
    f.cached_tokens = 77'156'352;
    f.cache_rows_reported = 12000;
    f.cache_rows_equal = 11999;
    f.cache_prompt_tokens = 144'793'823;
    f.goodput_rules = {{{}, "", {200'000'000, std::nullopt, std::nullopt}}};
    f.goodput_counts = {{12031, 6000}};
    f.good = 6000;
    f.errors = {{Outcome::http_5xx, 500,
                 "the server ran out of memory while it was computing this prompt", 89, 2}};
    f.tpot_unknown = 2;
    f.outputs_exact = 11911;
    f.request_goodput = 1.67;
    f.tainted_rows = 12;
    f.tainted_late[static_cast<std::size_t>(LateCause::guard)] = 12;
    f.warnings = {
        "the prefix cache was warm from an earlier run, so TTFT is too low: the server "
        "reports 996659 cached tokens, 1946.6 % of what an empty cache can hit; repeat "
        "with --cache-salt random, or restart the server"};
    for (const char* url : {"http://a:8000/v1/chat/completions", "http://b:8000/v1/completions"}) {
        f.urls.emplace_back().url = url;
        f.urls.back().rows = 6015;
        f.urls.back().ttft = of(1e8);
    }
    return f;
}

SummaryInfo info() {
    SummaryInfo i{.verdict = "client-limited"};
    i.verdict_reasons = {"12 rows sent more than 0.300 ms late (cause: guard)",
                         "the engine was busy for 71.0 % of one second; above 60.0 % queues grow",
                         "the CPU was taken away for 12.0 % of one second (120.000 ms of run-queue "
                         "delay and 0.000 ms of steal in all)"};
    i.limits.drift_ns = 300'000;
    i.clamped_rows = 3;
    i.unfinished = Unfinished{31, 2};
    return i;
}

/// The lines of a label, joined.
std::string shown(const char* label, const SummaryFigures& f, const SummaryInfo& i = info()) {
    std::string text;
    bool inside = false;
    for (const std::string& line : lines_of(summary_table(f, i))) {
        inside = line.starts_with(label) || (inside && line.starts_with(" "));
        text += inside ? (text.empty() ? "" : " ") + line.substr(16) : "";
    }
    return text;
}

// A usual run with failures fits 40 lines.
TEST(SummaryTable, FitsATerminalOfEightyColumns) {
    const std::vector<std::string> lines = lines_of(summary_table(figures(), info()));
    EXPECT_LE(lines.size(), 40u) << summary_table(figures(), info());
    // With every line that there can be, no line is longer than 80 columns.
    SummaryFigures f = figures();
    f.long_output = 7;
    f.outcomes[static_cast<std::size_t>(Outcome::long_output)] = 7;
    f.outputs_short = f.outputs_long = f.outputs_unknown = 1'234'567;
    f.itl_rows_left_out = 12'000;
    f.drift_left_out = 12'000;
    f.sending.held_by_user.drift = of(1e9);
    f.sending.held_by_budget.held = of(1e12);
    f.live = {1'234'567, 1'234'567, 123'456'789, 1'234'567, 123'456'789};
    f.sending.held_by_host.held = of(1e9);
    f.retransmitted_rows = f.retransmits = 1'234'567;
    f.follow_up_turns = f.overtaken_turns = 1'234'567;
    f.server_cache_rows = 12'000;
    f.server_cache_expected = 77'156'352;
    f.prompts.off = 31;
    f.prompts.largest_off = -12'345;
    f.prompts.explanation = "the server counts other tokens around a prompt than --overhead says";
    for (std::size_t i = 1; i < f.late_causes.size(); ++i) {
        f.late_causes[i] = 1'234'567;
    }
    for (std::size_t i = 3; i < f.outcomes.size(); ++i) {
        f.outcomes[i] = 1'234'567;
    }
    SummaryInfo i = info();
    i.backend = "openai-chat";
    i.server_block = 512;
    i.split_unknown = true;
    const std::string table = summary_table(f, i);
    EXPECT_TRUE(
        says(table, {"7 longer than asked", "1,234,567 shorter", "\nNo ITL ",
                     ": --continuous-usage may", "held by --max-inflight", "held by token budgets",
                     "held by a limit of this host", "contain answers of this run",
                     "TCP segments of 1,234,567 rows", "in the server's blocks of 512",
                     "how many template tokens come before the", "by up to -12345"}));
    for (const std::string& line : lines_of(table)) {
        EXPECT_LE(line.size(), 80u) << line;
    }
}

// What became of the requests, load, TTFT, TPOT, E2E, cache, prompts; then whether to trust it.
TEST(SummaryTable, AnswersInTheOrderOfTheQuestions) {
    const std::string table = summary_table(figures(), info());
    std::size_t at = 0;
    for (const char* part :
         {"\nRequests        11,900 of 12,031 ok, 11 shorter than asked, 89 failed, 31 not\n"
          "                sent, 31 more without a record in 3600.00 s\n",
          "\nWarning         the prefix cache was warm",
          "\nFailed          http_5xx 89\n",
          "\n                89 rows, http_5xx 500: the server ran out of memory while it ...\n",
          "\nLoad            12,000 sent; answered 3.31/s; at most 312 in flight\n",
          "\nTokens          144,793,823 in, 4,122,048 out",
          "\nGoodput         1.67/s: 6,000 of",
          "\nms                   mean      p50      p90      p95      p99      max    client\n",
          "\nTTFT               125.00   100.00   200.00   300.00   400.00   500.00     0.500\n",
          "\nTTFT from due ",
          " -\n",
          "\nTPOT ",
          "\nE2E ",
          "\nNo TPOT         2 rows: all tokens came at one instant\n",
          "\nServers         http://a:8000/v1/chat/completions: 6,015 rows",
          "\nCache           53.29 % of prompt tokens hit; the trace allows 53.29 %\n"
          "                100.00 % of the expected hits; 11,999 of 12,000 rows as expected\n",
          "\nPrompts         12,000 of exactly the recorded length\n",
          "\nSent late       p50 0.001, p99 0.004, worst 0.005 ms; 12 of 12,000 rows above\n"
          "                the limit (0.300 ms for the first of an instant)\n",
          "\nVerdict         client-limited: 12 rows sent more than 0.300 ms late",
          "\n                and 2 more: driftless report RUN --certificate\n",
          "\nTainted         12 rows"}) {
        const std::size_t found = table.find(part, at);
        EXPECT_NE(found, table.npos) << part << table;
        at = found == table.npos ? at : found;
    }
}

// Recorded requests have no recorded length: nothing to compare with is not "0 not reported".
TEST(SummaryTable, SaysWhatCannotBeComparedAndWhetherTheServerKeptUp) {
    SummaryFigures f = figures();
    f.prompts = {};
    f.outputs_exact = 0;
    f.outputs_unknown = f.outputs_unrecorded = 24;
    EXPECT_TRUE(shown("Prompts", f).starts_with("no recorded length to compare with"));
    EXPECT_EQ(shown("Outputs", f), "no recorded length to compare with");
    f.outputs_exact = 3;
    f.outputs_unknown = 25;
    EXPECT_EQ(shown("Outputs", f),
              "3 of the recorded length, 0 shorter, 0 longer, 1 not counted, 24 without a recorded "
              "length");
    // The rate of sending is divided by the time of sending, as in summary.json: waiting for the
    // last answers does not lower it.
    f = figures();
    f.timeline.sent_rate = 29.296;
    EXPECT_EQ(shown("Load", f), "sent 29.30/s; answered 3.31/s; at most 312 in flight");
    // A certificate needs one line; where requests piled up, that stands in the first sentence.
    f = figures();
    SummaryInfo i = info();
    i.verdict = "certified";
    i.verdict_reasons = {"this client may have moved TTFT p99 by up to 0.057 ms; limit 1.000 ms",
                         "all rows were sent at most 0.100 ms late; limit 0.300 ms"};
    EXPECT_EQ(shown("Verdict", f, i),
              "certified: this client may have moved TTFT p99 by up to 0.057 ms; limit 1.000 ms");
    i.unfinished.reset();
    f.timeline.stability.stability = Stability::stable;
    EXPECT_TRUE(says(shown("Requests", f, i), "sent in 3600.00 s; the server kept up"));
    f.timeline.stability.stability = Stability::unstable;
    EXPECT_TRUE(says(shown("Requests", f, i),
                     "; the server did not keep up: in flight rose to 312, so TTFT measures how "
                     "long the run was"));
    i.run.users = 8;
    EXPECT_TRUE(shown("Requests", f, i).ends_with("sent in 3600.00 s"));
}

// What nobody counted is a lower bound, and its rate and TPOT are not known; what this client lost
// is not the server's fault.
TEST(SummaryTable, CountsNoTokensThatNobodyCounted) {
    SummaryFigures f = figures();
    f.tpot_unknown = 0;
    f.uncounted.outputs = f.itl_rows_left_out = 509;
    f.uncounted.lost = 507;
    f.uncounted.inputs = 1;
    f.prompts.unknown = 510;
    f.prompts.lost = 507;
    f.output_throughput = f.total_token_throughput = std::nullopt;
    EXPECT_EQ(shown("Tokens", f),
              "at least 144,793,823 in, at least 4,122,048 out; token rate not known");
    const std::string said =
        "2 rows: the server counts no tokens: its usage is missing or 0 507 rows: this client lost "
        "a part of the answer (its event ring was full)";
    EXPECT_EQ(std::tuple(shown("No TPOT", f), shown("No ITL", f)), std::tuple(said, said));
    EXPECT_TRUE(says(shown("Prompts", f), "3 not reported, 507 lost by this client"));
    f.uncounted.goodput = 509;
    f.request_goodput.reset();
    EXPECT_TRUE(shown("Goodput", f)
                    .starts_with("not known, for 509 rows have no count of tokens, and no TPOT: "));
}

// Hits of recorded text are reported, and compared with nothing; of a mix only the others are.
TEST(SummaryTable, ExpectsNoHitsOfTextAndNoPeakOfAShortRun) {
    SummaryFigures f = figures();
    f.rows_unforetold = f.rows_in_words = f.rows;
    f.cache_rows_unforetold = f.cache_rows_reported;
    f.cached_tokens_unforetold = f.cached_tokens = 256;
    f.expected_cached_tokens = f.expected_cached_tokens_reported = f.cache_rows_equal = 0;
    EXPECT_EQ(shown("Cache", f), "256 tokens hit, not forecast: the prompts are recorded text");
    f.cache_rows_reported = f.cache_rows_unforetold = 0;
    EXPECT_EQ(shown("Cache", f),
              "hits not reported by the server, and not forecast: the prompts are recorded text");
    f = figures();
    f.rows_unforetold = f.rows_in_words = f.cache_rows_unforetold = 2'000;
    f.cached_tokens += 64;
    f.cached_tokens_unforetold = 64;
    EXPECT_EQ(shown("Cache", f),
              "53.29 % of prompt tokens hit; the trace allows 53.29 % 100.00 % of the expected "
              "hits; 11,999 of 10,000 rows as expected beside them 2,000 rows of recorded text hit "
              "64 tokens, not forecast");
    // The best whole second of a run that is shorter than one says nothing.
    f = figures();
    f.timeline.max_output_tokens_per_s = 384;
    f.output_throughput = 1102;
    f.duration_ns = 999'999'999;
    EXPECT_EQ(shown("Tokens", f), "144,793,823 in, 4,122,048 out; out 1,102/s; both 41,366/s");
    f.duration_ns = 1'000'000'000;
    EXPECT_EQ(
        shown("Tokens", f),
        "144,793,823 in, 4,122,048 out; out 1,102/s, peak 384/s (of whole seconds; the run is "
        "too short for it); both 41,366/s");
    f.timeline.max_output_tokens_per_s = 1102;
    EXPECT_EQ(shown("Tokens", f),
              "144,793,823 in, 4,122,048 out; out 1,102/s, peak 1,102/s; both 41,366/s");
}

// Turns that came too soon, with what can be done about them; none: no line.
TEST(SummaryTable, TellsOfOvertakenTurnsAndTheServersBlocks) {
    SummaryFigures f = figures();
    f.follow_up_turns = 4'500;
    SummaryInfo i = info();
    EXPECT_EQ(shown("Overtaken", f, i), "");
    f.overtaken_turns = 4'499;
    const std::string found = "4,499 of 4,500 turns were sent before the previous turn had ended; ";
    EXPECT_EQ(shown("Overtaken", f, i),
              found +
                  "the trace does not record what they waited for; --users N lets each turn of a "
                  "session wait for the one before");
    i.run.trace_dependencies = 7;
    EXPECT_EQ(shown("Overtaken", f, i), found + "--sessions closed lets turns wait for answers");
    EXPECT_TRUE(says(summary_table(f, i, TableKind::full),
                     "Turns sent before the last ended:        4499 of 4500\n"));
    i.run.sessions = "closed";
    EXPECT_EQ(shown("Overtaken", f, i),
              found + "the trace does not record that they waited for it");
    // Where the server's blocks explain every hit, they come first: what is above the forecast in
    // the trace's larger blocks is no excess, so it has no percentage.
    f = figures();
    f.rows = f.cache_rows_reported = f.server_cache_rows = f.server_cache_rows_equal = 240;
    f.cache_rows_equal = 10;
    f.expected_cached_tokens = f.expected_cached_tokens_reported = 257'536;
    f.cached_tokens = f.server_cache_expected = 375'632;
    i = info();
    i.server_block = 16;
    EXPECT_EQ(shown("Cache", f, i),
              "0.26 % of prompt tokens hit; the trace allows 0.26 % in the server's blocks of 16");
    const std::string full = summary_table(f, i, TableKind::full);
    EXPECT_FALSE(says(full, "145.86"));
    EXPECT_TRUE(
        says(full, "Prefix cache:                            0.26 % of prompt tokens hit;"));
    f.server_cache_rows_equal = 9;  // the trace's blocks explain more
    EXPECT_EQ(shown("Cache", f, i),
              "0.26 % of prompt tokens hit; the trace allows 0.18 % 145.86 % of the expected "
              "hits; 10 of 240 rows as expected 375,632 expected in the server's blocks of 16: 9 "
              "of 240 rows as expected");
    f.server_cache_rows_equal = 239;
    f.server_cache_rows = 239;  // some rows are not forecast: the sums cannot be compared
    EXPECT_TRUE(says(shown("Cache", f, i), "145.86 % of the expected hits"));
    f.cache_prompt_tokens.reset();  // nobody knows the length of some prompt
    EXPECT_TRUE(
        shown("Cache", f, i).starts_with("375,632 tokens hit; the trace allows 257,536 145.86 %"));
}

// Blocks of the same size need one line.
TEST(SummaryTable, TellsZerosFromMisses) {
    SummaryFigures f = figures();
    f.server_cache_rows = f.cache_rows_reported;
    f.server_cache_rows_equal = f.cache_rows_equal;
    f.server_cache_expected = f.expected_cached_tokens_reported;
    SummaryInfo i = info();
    i.server_block = 512;
    EXPECT_EQ(shown("Cache", f, i),
              "53.29 % of prompt tokens hit; the trace allows 53.29 % 100.00 % of the expected "
              "hits; 11,999 of 12,000 rows as expected");
    // A server that says 0 for each row does not count, or has no cache: that is no share of
    // misses.
    f = figures();
    f.cached_tokens = 0;
    f.cache_rows_equal = 100;
    f.rows = f.cache_rows_reported;
    EXPECT_EQ(shown("Cache", f),
              "77,156,352 tokens expected; the server says 0 for every row: it may not count hits, "
              "or its cache is off or too small");
    const std::string full = summary_table(f, info(), TableKind::full);
    EXPECT_TRUE(says(full, "the server says 0 for every row: it may not"));
    ++f.rows;
    EXPECT_TRUE(says(shown("Cache", f), "0 for all rows that it reports: it"));
    f.cached_tokens = 16;  // it counts
    EXPECT_TRUE(says(shown("Cache", f), "0.00 % of prompt tokens hit; the trace allows 53"));
    f.cached_tokens = f.expected_cached_tokens_reported = f.expected_cached_tokens = 0;
    EXPECT_TRUE(says(shown("Cache", f), "the trace allows 0.00 % 100 of 12,000 rows"));
    f.expected_cached_tokens_reported = 512;  // a row shares less than one block of the server's
    f.server_cache_rows = f.cache_rows_reported;
    f.server_cache_rows_equal = f.rows;
    i = info();
    i.server_block = 1024;
    EXPECT_TRUE(says(shown("Cache", f, i), "allows 0.00 % in the server's blocks of 1024"));
}

// One server needs no line of its own; nothing measured is a dash, never a zero.
TEST(SummaryTable, HasWhatIsThereAndEverythingInFull) {
    SummaryFigures f = figures();
    f.urls.resize(1);
    f.warnings.clear();
    const std::string one = summary_table(f, info());
    EXPECT_FALSE(says(one, "Servers"));
    EXPECT_FALSE(says(one, "Warning"));
    const std::string table = summary_table(SummaryFigures(), SummaryInfo());
    EXPECT_TRUE(says(table, {"\nE2E                     -", "hits not reported by the server"}));
    EXPECT_FALSE(says(table, "Sent late"));
    EXPECT_FALSE(says(table, "Goodput"));
    EXPECT_FALSE(says(table, "Failed"));
    // --table full has every figure, and the same warnings.
    EXPECT_TRUE(says(summary_table(figures(), info(), TableKind::full),
                     {"Std TTFT (ms):", "Warning:                                 the prefix cache",
                      "Servers (rows / ok / failed)"}));
}

// The long table has the layout of serving benchmarks: 50 columns, labels of 40, known words.

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

testing::AssertionResult has_line(const std::string& table, const std::string& line) {
    return says("\n" + table, "\n" + line + "\n");
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
        EXPECT_TRUE(has_line(table, line));
    }
}

// Lines as vllm's serving benchmark prints them, and ours below.
TEST(FullTable, HasTheKnownLayout) {
    SummaryInfo info{.backend = "openai-chat",
                     .clamped_rows = 7,
                     .verdict_reasons = {"calibrate has not run on this host"}};
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
             "Prefix cache:                            512 tokens hit; the trace allows 1,024",
             "                                         50.00 % of the expected hits; 2 of 3 rows "
             "as "
             "expected",
             "Rows within the overhead (1 word sent):  7",
             "Goodput:                                 0.40/s: 1 of 3 rows (33.33 %) within "
             "ttft:200 "
             "e2e:1.5 ms",
             "Client moved P99 by (ms):                -",
             "ok:                                      2",
             "http_5xx:                                1",
             "==================================================",
             "Verdict:                                 uncalibrated",
         }) {
        EXPECT_TRUE(has_line(table, line));
    }
    for (const std::string& line : lines_of(table)) {
        if (line[0] == '-' || line[0] == '=') {
            EXPECT_EQ(line.size(), 50u) << line;
        }
    }
}

// Nothing measured: dashes, no zero that could be taken for a measurement, no goodput.
TEST(FullTable, SaysWhyThingsAreMissing) {
    const std::string table = full_table(SummaryFigures(), SummaryInfo());
    EXPECT_TRUE(has_line(table, "P99 E2EL (ms):                           -"));
    EXPECT_TRUE(
        has_line(table,
                 "Prefix cache:                            0 tokens expected, hits not reported by "
                 "the server"));
    EXPECT_FALSE(says(table, "oodput"));
    EXPECT_FALSE(says(table, "overhead"));
    // A remedy that was tried is not given again.
    SummaryInfo other_info{.backend = "openai-chat", .continuous_usage = true};
    const auto said = [&](const SummaryFigures& small_figures, const std::string& words) {
        return full_table(small_figures, other_info).find(words) != std::string::npos;
    };
    EXPECT_TRUE(said(small_figures(),
                     "several tokens per chunk, which the server counts only at the end, despite "
                     "--continuous-usage"));
    SummaryFigures uncounted = small_figures();
    uncounted.uncounted.outputs = 1;
    EXPECT_TRUE(said(uncounted, "1 row: the server counts no tokens: its usage is missing or 0"));
    // What failed without a word of the server is told by what happened.
    SummaryFigures failed = small_figures();
    failed.errors = {{Outcome::truncated, 200, "", 16, 3}};
    EXPECT_TRUE(says(full_table(failed, {}), "the server closed the connection inside the answer"));
    failed.errors = {{Outcome::timeout_first_byte, 0, "", 4, 3}};
    EXPECT_TRUE(says(full_table(failed, {}), "no answer in time (--timeout-first-byte)"));
    // A flag that would help is not cut off.
    failed.rows = failed.failed = failed.outcomes[static_cast<std::size_t>(Outcome::timeout_idle)] =
        1200;
    failed.errors = {{Outcome::timeout_idle, 200, "", 1200, 3}};
    EXPECT_TRUE(says(summary_table(failed, info()),
                     "1,200 rows, timeout_idle 200: no more bytes came in time\n"
                     "                (--timeout-idle)\n"));
}

TEST(GoodputLines, SayWhatWasAskedForOfEachGroup) {
    SummaryFigures f;
    EXPECT_EQ(goodput_lines(f), Texts());
    f.request_goodput = 2.5;
    f.good = 30;
    f.goodput_rules = {{{}, "", {200'000'000, 50'500'000, std::nullopt}}};
    f.goodput_counts = {{40, 30}};
    EXPECT_EQ(goodput_lines(f),
              Texts{"2.50/s: 30 of 40 rows (75.00 %) within ttft:200 tpot:50.5 ms"});
    f.goodput_counts[0].worst = {40, 29};
    f.goodput_counts[0].best = {40, 32};
    f.has_bounds = true;
    EXPECT_EQ(goodput_lines(f),
              Texts{"2.50/s: 30 of 40 rows (75.00 %; 29 to 32 without the client) "
                    "within ttft:200 tpot:50.5 ms"});
    f = {.good = 30, .request_goodput = 2.5};
    f.goodput_rules = {{{}, "", {std::nullopt, std::nullopt, 3'000'000'000}},
                       {parse_group_key("kept.tier").value(), "gold", {1'000'000, {}, {}}}};
    f.goodput_counts = {{38, 30}, {2, 0}};
    EXPECT_EQ(goodput_lines(f), (Texts{"2.50/s: 30 of 40 rows (75.00 %)",
                                       "others: 30 of 38 rows (78.95 %) within e2e:3000 ms",
                                       "kept.tier=gold: 0 of 2 rows (0.00 %) within ttft:1 ms"}));
}

// A line a set, a line a violated rule; and what the publisher's own tests would have let pass.

RuleFinding finding(const char* set, const char* rule, RuleState state, bool published) {
    return {.set = set,
            .version = "1",
            .rule = rule,
            .published = published,
            .state = state,
            .evidence = "5 of 5 requests failed",
            .bound = "at most 1 %"};
}

// A run full of 500s, which AgentX's own test calls valid.
TEST(RuleLines, SaysWhichRuleLetARunPassBySet) {
    const auto lines = rule_lines({finding("a", "--gap", RuleState::met, true),
                                   finding("a", "context-overflows", RuleState::met, true),
                                   finding("a", "barrier", RuleState::unknown, true),
                                   finding("a", "errors", RuleState::violated, false)});
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0].set, "a (1): 2 met, 1 violated, 1 unknown");
    EXPECT_EQ(lines[0].violated,
              (std::vector<std::string>{"errors: 5 of 5 requests failed; at most 1 %"}));
    EXPECT_EQ(lines[0].passed,
              "the publisher's own tests call this run valid: context-overflows passed; of "
              "our own, errors did not");
    const auto other_lines = rule_lines({finding("a", "x", RuleState::met, true),
                                         finding("b", "x", RuleState::violated, true),
                                         finding("b", "y", RuleState::violated, false)});
    ASSERT_EQ(other_lines.size(), 2U);
    EXPECT_TRUE(other_lines[0].violated.empty());
    EXPECT_EQ(other_lines[1].violated.size(), 2U);
    EXPECT_EQ(other_lines[1].passed, "") << "the publisher's own did not let it pass";
    EXPECT_TRUE(rule_lines({}).empty());
}

// The table of the two sides: no line is wider than 80 columns, both drifts are told, and the
// differences have signs and units.

Distribution of(std::uint64_t count, double value) {
    Distribution d{.count = count, .mean = value, .min = value, .max = value};
    d.at.fill(value);
    return d;
}

SideFigures side_figures() {
    SideFigures sides{.a = {.url = "http://first:8000/v1/chat/completions"},
                      .b = {.url = "http://second:8000/v1/chat/completions"}};
    for (OneSideFigures* side : {&sides.a, &sides.b}) {
        side->completed = 12'031;
        side->ttft = of(12'031, 20.25e6);
        side->tpot = of(12'031, 10e6);
        side->e2e = of(12'031, 660.5e6);
        side->drift = of(12'031, 1'250);
    }
    sides.b.failed = 7;
    sides.b.drift = of(12'031, 11'500);
    sides.pairs.ttft = of(12'024, 12'340);
    sides.pairs.a_first = of(6'000, -2.5e6);
    sides.pairs.b_first = of(6'024, 9'000);
    sides.pairs.unpaired = 7;
    return sides;
}

TEST(SidesTable, TellsOfBothSidesWhatWasMeasured) {
    const std::string table = sides_table(side_figures());
    for (const std::string& line : lines_of(table)) {
        EXPECT_LE(line.size(), 80u) << line;
    }
    EXPECT_TRUE(says(table, {"http://first:8000", "http://second:8000"}));
    EXPECT_TRUE(
        says(table, "12,031       7    20.25    20.25    10.00   660.50    11.50    11.50"));
    EXPECT_TRUE(
        says(table, "12,031       0    20.25    20.25    10.00   660.50     1.25     1.25"));
    EXPECT_TRUE(says(table, {"p50 +12.3 us over 12,024 rows", "-2.50 ms", "+9.0 us",
                             "7 rows without a first token on both sides left out"}));
    EXPECT_EQ(sides_table(std::nullopt), "");
    const std::string other_table = sides_table(SideFigures{.pairs = {.unpaired = 2}});
    EXPECT_TRUE(says(other_table, "2 rows without a first token"));
    EXPECT_FALSE(says(other_table, "p50 +"));
}

void set(ServerTotals& totals, ServerFigure figure, double value) {
    totals.counters[static_cast<std::size_t>(figure)] = value;
}

TEST(ServerLines, SayWhatIsKnown) {
    EXPECT_TRUE(server_lines(SummaryFigures(), SummaryInfo()).empty());
    SummaryInfo info;
    ServerTotals& totals = info.server.emplace();
    totals.urls = {{"http://a/metrics", "vllm", 9}, {"http://b/metrics", "vllm", 9, 2, "", 1}};
    totals.scrapes = 18;
    totals.failures = 2;
    set(totals, ServerFigure::requests, 100);
    set(totals, ServerFigure::prompt_tokens, 104931);
    set(totals, ServerFigure::prefix_query_tokens, 1000);
    set(totals, ServerFigure::prefix_hit_tokens, 250);
    set(totals, ServerFigure::queue_seconds, 0.5);
    totals.gauges[static_cast<std::size_t>(ServerFigure::kv_usage)] = GaugeTotals{0.25, 0.5};
    totals.gauges[static_cast<std::size_t>(ServerFigure::running)] = GaugeTotals{3.25, 8};
    totals.gauges[static_cast<std::size_t>(ServerFigure::watts)] = GaugeTotals{300, 310};
    totals.joules = 3000;
    info.finished_trees = 12;
    EXPECT_EQ(
        server_lines({.completed = 100, .output_tokens = 2000}, info),
        (Texts{"18 pages of 2 URLs read, 2 failed (vllm); counters restarted 1 time",
               "100 requests, 104,931 prompt tokens",
               "prefix hits 25.00 %, KV cache 25.0 % full (at most 50.0 %)",
               "running 3.2 (at most 8), queue 5.00 ms",
               "300 W on average, 3000 J, 30.00 J per request, 1.500 J per output token, 250.00 J "
               "per finished tree"}));
    info = {};
    info.server.emplace().urls = {{"http://a/metrics", "", 1}};
    info.server->scrapes = 1;
    EXPECT_EQ(server_lines(SummaryFigures(), info),
              Texts{"1 page of 1 URL read; no known table fits their metrics: server.jsonl has all "
                    "series"});
}

}  // namespace
}  // namespace driftless
