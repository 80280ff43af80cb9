// The summary of records, its memory, and goodput.

#include "proto/figures/summary.hpp"

#include <malloc.h>

#include "proto/figures/criteria.hpp"
#include "proto/figures/verdict.hpp"
#include "tests/unit/made.hpp"
#include "tests/unit/schema_check.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

// Reasons of failed rows are counted; numbers in them do not tell them apart, and there are no more
// of them than the bound.

namespace {

Record failed(std::uint32_t row, Outcome outcome, int status, const char* error) {
    Record record{.row = row, .outcome = outcome};
    if (status > 0) {
        record.status = status;
    }
    if (error != nullptr) {
        record.error = error;
    }
    return record;
}

TEST(ErrorTexts, CountReasonsOfTheFileAndAreBounded) {
    ErrorTexts texts;
    texts.add(failed(0, Outcome::ok, 200, nullptr));
    texts.add(failed(1, Outcome::short_output, 200, nullptr));
    texts.add(failed(2, Outcome::long_output, 200, nullptr));
    texts.add(failed(3, Outcome::not_sent, 0, nullptr));
    texts.add(failed(4, Outcome::timeout_idle, 0, nullptr));
    texts.add(failed(5, Outcome::http_4xx, 400, "asked 40000 tokens of 32768"));
    texts.add(failed(6, Outcome::http_4xx, 400, "asked 9 tokens of 32768"));
    texts.add(failed(7, Outcome::http_4xx, 400, "asked many tokens of 32768"));
    texts.add(failed(8, Outcome::http_4xx, 404, "asked 9 tokens of 32768"));
    const std::vector<ErrorText> found = texts.by_rows();
    ASSERT_EQ(found.size(), 4u);
    EXPECT_EQ(found[0].text, "asked 40000 tokens of 32768");
    EXPECT_EQ(std::tuple(found[0].rows, found[0].first_row), std::tuple(2u, 5u));
    EXPECT_EQ(std::tuple(found[1].outcome, found[1].text), std::tuple(Outcome::timeout_idle, ""));
    EXPECT_EQ(std::tuple(found[2].first_row, found[3].status), std::tuple(7u, 404));
    EXPECT_EQ(texts.others(), 0u);
    // Bytes that are no UTF-8 are one character in the file: so texts that differ in them are one.
    ErrorTexts other_texts;
    other_texts.add(failed(0, Outcome::bad_event, 200, "half \xC3."));
    other_texts.add(failed(1, Outcome::bad_event, 200, "half \xE4."));
    other_texts.add(failed(2, Outcome::bad_event, 200, "half \xEF\xBF\xBD."));
    const std::vector<ErrorText> other_found = other_texts.by_rows();
    ASSERT_EQ(other_found.size(), 1u);
    EXPECT_EQ(other_found[0].text, "half \xEF\xBF\xBD.");
    EXPECT_EQ(other_found[0].rows, 3u);
    ErrorTexts third_texts;
    for (std::uint32_t row = 0; row < ErrorTexts::texts_max + 1; ++row) {
        third_texts.add(failed(row, Outcome::http_5xx, 500, std::string(row + 1, 'x').c_str()));
    }
    EXPECT_EQ(third_texts.by_rows().size(), ErrorTexts::texts_max);
    EXPECT_EQ(third_texts.others(), 1u);
    third_texts.add(failed(99, Outcome::http_5xx, 500, "x"));
    EXPECT_EQ(third_texts.others(), 1u);
    EXPECT_EQ(third_texts.by_rows().front().rows, 2u);
}

// The summary counts every record once, leaves out what it says it leaves out, and its JSON holds
// against the shipped schema. Expectations are worked out by hand.

constexpr std::int64_t ms = 1'000'000;

// Due at `due`, fired 1 us late, first token after 10 ms, then `gaps` between chunks.
Record ok_record(std::uint32_t row, std::int64_t due, std::vector<std::int64_t> gaps,
                 std::vector<std::int32_t> tokens) {
    Record record{.row = row,
                  .due_ns = due,
                  .fired_ns = due + 1000,
                  .drift_ns = 1000,
                  .chunk_ns = {10 * ms},
                  .outcome = Outcome::ok,
                  .inflight = row};
    for (const std::int64_t gap : gaps) {
        record.chunk_ns.push_back(record.chunk_ns.back() + gap);
    }
    std::int64_t sum = 0;
    for (const std::int32_t count : tokens) {
        sum += count;
    }
    record.chunk_tokens = std::move(tokens);
    record.chunk_tokens_known = true;
    record.first_token_ns = *record.fired_ns + 10 * ms;
    record.last_token_ns = *record.fired_ns + record.chunk_ns.back();
    record.done_ns = *record.last_token_ns + ms;
    record.ttft_ns = 10 * ms;
    record.ttft_due_ns = 10 * ms + 1000;
    record.e2e_ns = record.chunk_ns.back();
    record.output_tokens = sum;
    record.tokens_source = TokensSource::usage;
    if (sum > 1) {
        record.tpot_ns =
            static_cast<double>(*record.e2e_ns - *record.ttft_ns) / static_cast<double>(sum - 1);
    }
    record.input_length = 100;
    record.prompt_tokens = 100;
    return record;
}

// Two ok rows, a short one, a failed one, one that was never sent.
TEST(Summary, CountsEveryRecordOnce) {
    Summary summary;
    summary.add(ok_record(0, 0, {20 * ms, 20 * ms}, {1, 1, 1}));
    summary.add(ok_record(1, 950 * ms, {30 * ms}, {2, 3}));
    Record shorter = ok_record(2, 100 * ms, {ms}, {1, 1});
    shorter.outcome = Outcome::short_output;
    summary.add(shorter);
    Record failed = ok_record(3, 1900 * ms, {ms}, {1, 1});
    failed.outcome = Outcome::truncated;
    failed.done_ns.reset();
    summary.add(failed);
    summary.add(Record{});
    const SummaryFigures f = summary.figures();
    EXPECT_EQ(std::tuple(f.rows, f.completed, f.short_output), std::tuple(5u, 2u, 1u));
    EXPECT_EQ(std::tuple(f.failed, f.fired), std::tuple(2u, 4u));
    EXPECT_EQ(f.outcomes[static_cast<std::size_t>(Outcome::not_sent)], 1u);
    EXPECT_EQ(std::tuple(f.input_tokens, f.output_tokens), std::tuple(200u, 8u));
    EXPECT_EQ(f.output_tokens_all, 12u);
    // The failed row's last token: 1900 ms + 1 us + 11 ms.
    EXPECT_EQ(f.duration_ns, 1911 * ms + 1000);
    EXPECT_DOUBLE_EQ(f.request_throughput, 2 / 1.911001);
    EXPECT_DOUBLE_EQ(f.output_throughput.value(), 8 / 1.911001);
    EXPECT_DOUBLE_EQ(f.total_token_throughput.value(), 208 / 1.911001);
    EXPECT_EQ(f.timeline.max_concurrent_requests, 1u);  // each was over before the next one fired
    EXPECT_EQ(f.ttft.count, 2u);
    EXPECT_EQ(std::tuple(f.sending.drift.count, f.sending.drift.max), std::tuple(4u, 1000));
    // Second 0: rows 0 and 2, and row 1's first chunk (960 ms): 3 + 2 + 2, and its second chunk at
    // 990 ms: 3 more.
    EXPECT_EQ(f.timeline.max_output_tokens_per_s, 10u);
    EXPECT_FALSE(f.request_goodput.has_value());
}

// Chunks that nobody kept (--chunks none, read back) make what needs all of them unknown; a live
// summary has seen them, and an answer without tokens has none.
TEST(Summary, LostChunksLeaveNoPartialFigure) {
    Record bare = ok_record(0, 0, {20 * ms}, {1, 1});
    bare.has_chunks = false;
    Record seen = bare;
    bare.chunk_ns.clear();
    bare.chunk_tokens.clear();
    bare.chunk_tokens_known = false;
    Record failed = bare;
    failed.outcome = Outcome::http_5xx;
    failed.first_token_ns.reset();
    Summary live;
    live.add(seen);
    live.add(failed);
    Record whole = failed;  // --no-stream: nothing of it is left out
    whole.outcome = Outcome::ok;
    live.add(whole);
    EXPECT_EQ(live.figures().itl.count, 1u);
    EXPECT_EQ(live.figures().itl_rows_left_out, 0u);
    EXPECT_EQ(live.figures().timeline.max_output_tokens_per_s, 2u);
    live.add(bare);
    const SummaryFigures f = live.figures();
    EXPECT_EQ(std::tuple(f.itl.count, f.chunk_gap.count), std::tuple(0u, 0u));
    EXPECT_EQ(f.itl_rows_left_out, 3u);
    EXPECT_FALSE(f.timeline.max_output_tokens_per_s.has_value());
    EXPECT_EQ(f.output_tokens, 6u);
    const JsonText json(summary_json(f, {}));
    EXPECT_TRUE(json.root.find("max_output_tokens_per_s").is(JsonType::null));
    EXPECT_TRUE(json.root.find("p99_itl_ms").is(JsonType::null));
}

// Whole answers are counted by their length, whatever `--output` made of it.
TEST(Summary, CountsOutputsByLengthSecondAndToken) {
    Summary summary;
    for (const std::int64_t got : {9, 10, 11}) {
        Record record = ok_record(static_cast<std::uint32_t>(got), 0, {ms}, {1, 1});
        record.output_length = 10;
        record.output_tokens = got;
        record.outcome = got < 10   ? Outcome::short_output
                         : got > 10 ? Outcome::long_output
                                    : Outcome::ok;
        summary.add(record);
        record.tokens_source = TokensSource::chunks;
        summary.add(record);
        record.outcome = Outcome::truncated;
        summary.add(record);
    }
    const SummaryFigures f = summary.figures();
    EXPECT_EQ(std::tuple(f.outputs_exact, f.outputs_short, f.outputs_long), std::tuple(1u, 1u, 1u));
    EXPECT_EQ(std::tuple(f.outputs_unknown, f.long_output, f.failed), std::tuple(3u, 2u, 3u));
    EXPECT_EQ(f.completed + f.short_output + f.long_output + f.failed, f.rows);
    // A run that was killed while it was late goes on at an earlier second of its timeline: what
    // came there before came at another time.
    Summary third_summary;
    Record record = ok_record(0, 0, {20 * ms, 20 * ms}, {1, 1, 5});
    third_summary.add(record);
    record.row = 1;
    record.segment = 1;
    third_summary.add(record);
    EXPECT_EQ(third_summary.figures().timeline.max_output_tokens_per_s, 7u);
    // A gap of 30 ms that brought three tokens is 10 ms three times; a chunk of no token lends its
    // time to the next; chunk gaps count every chunk once.
    Summary other_summary;
    other_summary.add(ok_record(0, 0, {30 * ms, 4 * ms, 6 * ms}, {1, 3, 0, 1}));
    Record uncounted = ok_record(1, 0, {500 * ms}, {1, 1});
    uncounted.chunk_tokens_known = false;
    uncounted.chunk_tokens.clear();
    other_summary.add(uncounted);
    const SummaryFigures other_f = other_summary.figures();
    EXPECT_EQ(other_f.itl.count, 4u);
    EXPECT_DOUBLE_EQ(other_f.itl.mean, 10.0 * ms);
    EXPECT_NEAR(other_f.itl.std, 0, 1e-3);
    EXPECT_EQ(std::tuple(other_f.itl_rows_left_out, other_f.chunk_gap.count), std::tuple(1u, 4u));
    EXPECT_EQ(other_f.chunk_gap.min, 4.0 * ms);
    EXPECT_EQ(other_f.chunk_gap.max, 500.0 * ms);
}

// A row that --max-inflight held back is counted and stays out of the drift.
TEST(Summary, HeldRowsStayOutOfDriftAndGoodputMeetsAllBounds) {
    Summary summary;
    Record held = ok_record(0, 0, {}, {1});
    held.late_cause = LateCause::inflight;
    held.drift_ns = 5'000'000'000;
    summary.add(held);
    summary.add(ok_record(1, 0, {}, {1}));
    const SummaryFigures f = summary.figures();
    EXPECT_EQ(std::tuple(f.sending.drift.count, f.sending.drift.max), std::tuple(1u, 1000));
    EXPECT_EQ(f.drift_left_out, 1u);
    EXPECT_EQ(f.late_causes[static_cast<std::size_t>(LateCause::inflight)], 1u);
    // Goodput: at the bound is good, 1 ns above is not, a null tpot passes, a failed row never
    // does.
    GoodputLimits limits{.ttft_ns = 10 * ms, .tpot_ns = 20 * ms, .e2e_ns = 30 * ms};
    Summary other_summary(GoodputRules{{{}, "", limits}});
    other_summary.add(ok_record(0, 0, {20 * ms}, {1, 1}));      // all at their bounds
    other_summary.add(ok_record(1, 0, {20 * ms + 1}, {1, 1}));  // tpot and e2e above
    other_summary.add(ok_record(2, 0, {}, {1}));                // no tpot
    Record late = ok_record(3, 0, {}, {1});
    late.ttft_ns = 10 * ms + 1;
    other_summary.add(late);
    Record failed = ok_record(4, 0, {}, {1});
    failed.outcome = Outcome::stream_error;
    other_summary.add(failed);
    const SummaryFigures other_f = other_summary.figures();
    EXPECT_EQ(other_f.good, 2u);
    EXPECT_DOUBLE_EQ(other_f.request_goodput.value(),
                     2e9 / static_cast<double>(other_f.duration_ns));
}

// Prompts exact, off and unknown; cache hits expected and observed, compared where reported.
TEST(Summary, PromptsAndCacheAreCompared) {
    Summary summary;
    Record exact = ok_record(0, 0, {}, {1});
    exact.expected_cached_tokens = 512;
    exact.cached_tokens = 512;
    summary.add(exact);
    Record off = ok_record(1, 0, {}, {1});
    off.prompt_tokens = 93;
    off.expected_cached_tokens = 1024;
    off.cached_tokens = 512;
    summary.add(off);
    Record more = ok_record(2, 0, {}, {1});
    more.prompt_tokens = 105;
    summary.add(more);
    Record silent = ok_record(3, 0, {}, {1});
    silent.prompt_tokens.reset();
    silent.expected_cached_tokens = 512;
    summary.add(silent);
    Record unsent = silent;  // no server was asked
    unsent.expected_cached_tokens.reset();
    unsent.fired_ns.reset();
    unsent.outcome = Outcome::not_sent;
    summary.add(unsent);
    const SummaryFigures f = summary.figures();
    EXPECT_EQ(std::tuple(f.prompts.exact, f.prompts.off), std::tuple(1u, 2u));
    EXPECT_EQ(std::tuple(f.prompts.unknown, f.prompts.largest_off), std::tuple(1u, -7));
    EXPECT_EQ(f.expected_cached_tokens, 2048u);
    EXPECT_EQ(f.expected_cached_tokens_reported, 1536u);
    EXPECT_EQ(std::tuple(f.cached_tokens, f.cache_rows_reported), std::tuple(1024u, 2u));
    EXPECT_EQ(f.cache_rows_equal, 1u);
    EXPECT_EQ(f.input_tokens, 100u + 93 + 105 + 100);
}

// Rows of recorded text have no forecast: their hits are no excess, are compared with nothing, and
// what is off in their lengths is corrected by no flag.
TEST(Summary, NothingIsExpectedOfRecordedText) {
    Summary summary({}, {14, 5});
    for (std::uint32_t row = 0; row < 10; ++row) {
        Record text = ok_record(row, row * ms, {}, {1});
        text.prompt_tokens = 119;
        text.cached_tokens = 4096;
        summary.add(text);
    }
    SummaryFigures f = summary.figures();
    EXPECT_FALSE(f.foretells_hits());
    EXPECT_TRUE(f.is_recorded_text());
    EXPECT_EQ(std::tuple(f.cache_excess, f.cache_rows_above), std::tuple(0u, 0u));
    EXPECT_EQ(f.prompts.cause, PromptCause::recorded_text);
    EXPECT_FALSE(says(f.prompts.explanation, "--overhead"));
    const std::string json = summary_json(f, SummaryInfo());
    EXPECT_TRUE(says(json, {R"("expected_cached_tokens":null,"rows_reported":10)",
                            R"("cached_tokens":40960,"rows_compared":0)", R"("rows_equal":null)",
                            R"("warm":null)"}));
    EXPECT_TRUE(warnings_of(f, SummaryInfo()).empty());
    Record blocks = ok_record(10, 0, {}, {1});  // of a mix only this one is compared
    blocks.expected_cached_tokens = blocks.cached_tokens = 64;
    summary.add(blocks);
    f = summary.figures();
    EXPECT_EQ(std::tuple(f.cache_rows_compared(), f.cached_tokens_compared()), std::tuple(1u, 64u));
    EXPECT_EQ(f.cache_rows_equal, 1u);
    EXPECT_FALSE(f.is_recorded_text());
}

// Where chunks stand for tokens, or this client lost a part of the answer, sums are not known.
TEST(Summary, ChunksAreNoTokens) {
    Summary summary(GoodputRules{{{}, "", {.tpot_ns = 1}}});
    summary.add(ok_record(0, 0, {}, {1}));
    Record chunks = ok_record(1, 0, {20 * ms}, {1, 1});
    chunks.tokens_source = TokensSource::chunks;
    chunks.tpot_ns.reset();
    chunks.chunk_tokens_known = false;
    chunks.chunk_tokens.clear();
    summary.add(chunks);
    Record lost = chunks;
    lost.row = 2;
    lost.output_tokens.reset();
    lost.tokens_source.reset();
    lost.prompt_tokens.reset();
    lost.tainted = {std::string(taint_payload_dropped)};
    summary.add(lost);
    const SummaryFigures f = summary.figures();
    EXPECT_EQ(std::tuple(f.uncounted.outputs, f.uncounted.lost), std::tuple(2u, 1u));
    EXPECT_EQ(std::tuple(f.uncounted.goodput, f.prompts.lost), std::tuple(2u, 1u));
    EXPECT_EQ(f.goodput().decided, 1u);
    EXPECT_FALSE(f.output_throughput || f.total_token_throughput || f.request_goodput ||
                 f.timeline.max_output_tokens_per_s);
    const std::string json = summary_json(f, SummaryInfo());
    EXPECT_TRUE(says(json, {R"("total_output_tokens":null)", R"("output_throughput":null)",
                            R"("total_token_throughput":null)", R"("request_goodput":null)",
                            R"("tpot_unknown":2)"}));
}

// Nor is the second with most tokens known where a row lost all its chunks, whatever became of it.
TEST(Summary, ALostAnswerHasNoBusiestSecond) {
    for (const Outcome outcome : {Outcome::ok, Outcome::truncated}) {
        Summary summary;
        summary.add(ok_record(0, 0, {ms, ms}, {1, 1, 1}));
        EXPECT_EQ(summary.figures().timeline.max_output_tokens_per_s, 3u);
        Record lost = ok_record(1, 0, {}, {1});
        lost.outcome = outcome;
        lost.output_tokens.reset();
        lost.tokens_source.reset();
        lost.chunk_ns.clear();
        lost.chunk_tokens.clear();
        lost.tainted = {std::string(taint_entries_dropped)};
        summary.add(lost);
        EXPECT_EQ(summary.figures().timeline.max_output_tokens_per_s, std::nullopt);
    }
}

/// The rows of the schema that say what one figure of the registry is, and their keys.
void add_schema_rows(const FigureName& figure, std::string& rows, std::string& keys) {
    const auto add = [&](const std::string& key, const std::string& row) {
        rows += "    \"" + key + "\": {" + row + "},\n";
        keys += '"' + key + "\", ";
    };
    const bool is_time = figure.unit == FigureUnit::time;
    const std::string name(figure.key);
    const std::string meaning(figure.meaning);
    const std::string unit = figure.number == NumberOf::request_rate ? R"("unit": "1/s", )"
                             : figure.number == NumberOf::token_rate ? R"("unit": "tokens/s", )"
                                                                     : "";
    const auto number = [&](const std::string& text) {
        return unit + R"("description": ")" + text + R"(", "type": ["number", "null"])";
    };
    if (!figure.has_statistics()) {
        add(name, number(meaning + "."));
        return;
    }
    const std::string ending = name + (is_time ? "_ms" : "");
    add("count_" + name,
        R"("description": "Values behind the )" + ending + " keys" +
            (figure.of_request != nullptr ? ", one per completed row that has it." : ".") +
            R"(", "type": "integer", "minimum": 0)");
    std::vector<std::string> statistics{"min", "max", "mean", "median", "std"};
    for (const Percentile& one : percentiles) {
        statistics.push_back("p" + std::string(one.name));
    }
    for (const std::string& one : statistics) {
        const bool is_ranked = one == "median" || one.front() == 'p';
        add(one + "_" + ending,
            number(one + " of " + meaning + ", over completed rows" + (is_time ? ", in ms." : ".") +
                   (is_ranked      ? " Nearest rank."
                    : one == "std" ? " Of the population."
                                   : "")));
    }
}

// Figures that summary.json lists by the registry are in its schema with their meaning there.
// DRIFTLESS_WRITE_PAGES=1 writes their rows into the schema.
TEST(Summary, SchemaSaysOfListedFiguresWhatTheRegistrySays) {
    std::string rows;
    std::string keys;
    for (const FigureName& figure : figure_names()) {
        if (!figure.meaning.empty()) {
            add_schema_rows(figure, rows, keys);
        }
    }
    const std::string path = "proto/figures/summary.schema.json";
    const std::string text = source_file(path);
    std::string made = text;
    const auto put_between = [&made](const std::string& from, const std::string& to,
                                     const std::string& what) {
        const std::size_t begin = made.find(from) + from.size();
        made.replace(begin, made.find(to, begin) - begin, what);
    };
    put_between("\"p99.9_e2el_ms\", ", "\"client_error\"", keys);
    const std::size_t last = made.find("    \"p99.9_e2el_ms\":");
    put_between(made.substr(last, made.find('\n', last) + 1 - last), "    \"client_error\":", rows);
    if (std::getenv("DRIFTLESS_WRITE_PAGES") != nullptr) {
        std::ofstream(source_path(path)) << made;
        return;
    }
    EXPECT_EQ(lines_of(text), lines_of(made));
}

// Full, empty, and with everything set: the JSON holds against the schema, key by key in its order.
TEST(Summary, JsonHoldsAgainstItsSchema) {
    GoodputLimits limits{.ttft_ns = 200 * ms};
    Summary full({{parse_group_key("turn").value(), "1", limits}, {{}, "", limits}});
    full.add(ok_record(0, 0, {20 * ms, 20 * ms}, {1, 1, 1}));
    SummaryInfo info{.date = "20261121-034512",
                     .backend = "openai-chat",
                     .model_id = "m",
                     .trace = "conversation",
                     .max_concurrency = 64,
                     .labels = {{"gpu", "none"}, {"name", "night \"run\""}}};
    info.run.urls = {"http://a:1/v1/chat/completions"};
    info.run.trace_paths = {"conversation.jsonl"};
    info.run.arguments = {"conversation.jsonl", "--url=http://a:1", "--limit=3"};
    info.run.limit = 3;
    info.run.trace_digest = "00000000000000ff";
    info.run.schedule_digest = "0123456789abcdef";
    info.run.users = 12;
    info.run.for_ns = 60'000 * ms;
    info.run.start_ns = 5;
    info.run.cache_salt = "s";
    info.run.prompt = "text";
    info.run.output = "exact";
    info.verdict_reasons = {"calibrate has not run on this host"};
    ClientTotals client;
    client.add(ClientSample{});
    info.client = &client;
    info.unfinished = Unfinished{3, 1};
    ServerTotals& server = info.server.emplace();
    server.urls = {{"http://a:1/metrics", "vllm", 7, 1, "answered 503", 0}, {"http://b", {}, 2}};
    server.counters.fill(8);
    server.counters[static_cast<std::size_t>(ServerFigure::prefix_hit_tokens)] = 6;
    server.gauges.fill(GaugeTotals{2.5, 4});
    server.joules = 300;
    info.finished_trees = 2;
    for (const std::string& json :
         {summary_json(full.figures(), info), summary_json(Summary().figures(), SummaryInfo())}) {
        ASSERT_EQ(json.back(), '\n');
        EXPECT_EQ(schema_errors("proto/figures/summary.schema.json", json, true),
                  std::vector<std::string>());
    }
    const JsonText json(summary_json(full.figures(), info));
    const JsonValue root = json.root;
    EXPECT_EQ(values_of(root, "mean_ttft_ms, p99.9_itl_ms, count_itl, min_ttft_ms, max_e2el_ms"),
              "10, 20, 2, 10, 50");
    EXPECT_EQ(values_of(root, "goodput/ttft_ms, run/limit, run/end_ns, run/trace_digest"),
              "200, 3, null, 00000000000000ff");
    EXPECT_EQ(values_of(root, "run/users, run/for_ns, completed"), "12, 60000000000, 1");
    EXPECT_EQ(values_of(root.find("server"), "prefix_hit_rate, mean_queue_ms, running/max"),
              "0.75, 1000, 4");
    EXPECT_EQ(values_of(root, "server/energy/joules_per_request, server/energy/joules_per_tree"),
              "300, 150");
    EXPECT_TRUE(says(summary_json(Summary().figures(), {}), R"("mean_ttft_ms":null)"));
}

// A name has one unit: whoever reads a key need not ask which of two is meant.
TEST(Summary, EachNameHasOneUnit) {
    const JsonText json(summary_json(Summary().figures(), {}));
    std::map<std::string, std::string> unit_of;
    for (const std::string& key : keys_of(json.root)) {
        for (const std::string unit : {"_ms", "_ns"}) {
            if (key.ends_with(unit)) {
                const std::string name = key.substr(0, key.size() - unit.size());
                const std::string metric =
                    name.substr(name.starts_with("p") ? name.find('_') + 1 : 0);
                const auto [at, is_new] = unit_of.emplace(metric, unit);
                EXPECT_EQ(at->second, unit) << key;
            }
        }
    }
    EXPECT_EQ(std::tuple(unit_of.at("ttft"), unit_of.at("drift")), std::tuple("_ms", "_ns"));
}

// Each server has its rows; the order of the records does not show.
TEST(Summary, CountsByUrlAndSurvivesTheRoundTrip) {
    Summary summary;
    const auto record_of = [](std::uint32_t row, const char* url, Outcome outcome) {
        Record record = ok_record(row, 0, {}, {1});
        record.url = url;
        record.outcome = outcome;
        record.cached_tokens = 16;
        return record;
    };
    summary.add(record_of(0, "http://b", Outcome::ok));
    summary.add(record_of(1, "http://a", Outcome::connect_failed));
    summary.add(record_of(2, "http://b", Outcome::short_output));
    summary.add(record_of(3, "http://a", Outcome::ok));
    summary.add(record_of(4, "", Outcome::not_sent));
    const SummaryFigures f = summary.figures();
    ASSERT_EQ(f.urls.size(), 2u);
    EXPECT_EQ(std::tuple(f.urls[0].url, f.urls[0].rows), std::tuple("http://a", 2u));
    EXPECT_EQ(std::tuple(f.urls[0].completed, f.urls[0].failed), std::tuple(1u, 1u));
    EXPECT_EQ(f.urls[0].cached_tokens, 32u);
    EXPECT_EQ(std::tuple(f.urls[1].rows, f.urls[1].failed), std::tuple(2u, 0u));
    EXPECT_EQ(f.urls[1].ttft.count, 1u);
    // Rebuilt from its records' lines, the summary is the same to the byte: what report will rely
    // on.
    Summary direct;
    Summary again;
    for (std::uint32_t row = 0; row < 20; ++row) {
        Record record = ok_record(row, row * 7 * ms, {3 * ms + row, 5 * ms}, {1, 2, 1});
        record.outcome = row % 5 == 4 ? Outcome::http_5xx : Outcome::ok;
        direct.add(record);
        again.add(read_alone(read_record, jsonl_of(record)).value());
    }
    EXPECT_EQ(summary_json(direct.figures(), {}), summary_json(again.figures(), {}));
}

// What a summary keeps of each request, whatever the number of passes: exact percentiles need their
// values, and nothing else grows. (summary.hpp says how many bytes, and of what.)

constexpr std::uint32_t requests_made = 200'000;
constexpr double bytes_of_a_request = 168;
constexpr double pieces = 1.07;  // of what the allocator adds

std::uint64_t heap_bytes() {
    const struct mallinfo2 heap = ::mallinfo2();
    return heap.uordblks + heap.hblkhd;
}

/// Users play 50 trees of four turns again and again; each is ok.
Record record_of(std::uint32_t request) {
    constexpr std::uint32_t users = 16;
    constexpr std::uint32_t turns = 4;
    Record record;
    const std::uint32_t played = request / turns;  // the tree that it is of, of all that are played
    record.row = played % 50 * turns + request % turns;
    record.pass = played / 50;
    record.request = request;
    record.user = played % users;
    record.tree = "tree " + std::to_string(played % 50);
    record.outcome = Outcome::ok;
    record.url = "http://h:1";
    record.due_ns = std::int64_t{request} * 1'000'000;
    record.fired_ns = record.due_ns + request % 97;
    record.drift_ns = request % 97;
    record.wire_ns = *record.fired_ns + 20'000;
    record.receive_delay_ns = 1'000 + request % 89;
    record.submit_ns = 900;
    record.first_token_ns = *record.fired_ns + 20'000'000;
    record.last_token_ns = *record.first_token_ns + 30'000'000;
    record.ended_ns = record.done_ns = record.last_token_ns;
    record.ttft_ns = 20'000'000;
    record.ttft_due_ns = 20'000'000 + request % 97;
    record.tpot_ns = 3e6;
    record.e2e_ns = 50'000'000;
    record.input_length = record.prompt_tokens = 100;
    record.output_length = record.output_tokens = 11;
    record.tokens_source = TokensSource::usage;
    record.cached_tokens = record.expected_cached_tokens = 64;
    record.chunk_ns = {20'000'000, 50'000'000};
    record.chunk_tokens = {1, 10};
    record.chunk_tokens_known = record.has_chunks = true;
    return record;
}

/// "below above" of a key of `client_error`, in us; "null" where it is that.
std::string bar_of(const Summary& summary, const char* figure, const char* key) {
    const JsonText json(summary_json(summary.figures(), {}));
    const JsonValue bar = json.root.find("client_error").find(figure).find(key);
    if (!bar.is(JsonType::object)) {
        return "null";
    }
    const auto us_of = [](JsonValue value) {
        return std::to_string(std::lround(1e3 * *value.as_double()));
    };
    return us_of(bar.find("below")) + " " + us_of(bar.find("above"));
}

// The server had the request up to 30 us after the fire, and 2 us more by its stamp; the first
// token waited for up to 100 us, the last for 500; ten gaps lie between.
TEST(ClientError, IsWhatTheClientMayHaveAddedWhereThatIsKnown) {
    Summary summary;
    Record record = record_of(0);
    record.wire_delay_bound_ns = 20'000;
    record.request_delay_ns = 10'000;
    record.first_late_ns = 100'000;
    record.last_late_ns = 500'000;
    record.chunk_late_ns = {100'000, 500'000};
    record.chunks_late_known = true;
    summary.add(record);
    EXPECT_EQ(bar_of(summary, "ttft_ms", "mean"), "132 0");
    EXPECT_EQ(bar_of(summary, "e2el_ms", "p99"), "532 0");
    EXPECT_EQ(bar_of(summary, "tpot_ms", "p50"), "50 10");
    EXPECT_EQ(bar_of(summary, "itl_ms", "mean"), "50 10");
    EXPECT_EQ(bar_of(summary, "chunk_gap_ms", "mean"), "500 100");
    // A request that was lost on the way reached the server later than the kernel first sent it.
    Summary other_summary;
    record = record_of(0);
    record.wire_delay_bound_ns = record.request_delay_ns = 0;
    record.first_late_ns = record.last_late_ns = 1000;
    record.tainted = {std::string(taint_retransmitted)};
    other_summary.add(record);
    EXPECT_EQ(bar_of(other_summary, "ttft_ms", "p50"), "null");
    EXPECT_EQ(bar_of(other_summary, "e2el_ms", "mean"), "null");
    EXPECT_EQ(bar_of(other_summary, "tpot_ms", "mean"), "0 0");
    // Files before schema 17 have no bounds.
    Summary third_summary;
    record = record_of(0);
    record.wire_delay_bound_ns = record.request_delay_ns = 0;
    third_summary.add(record);
    EXPECT_EQ(bar_of(third_summary, "ttft_ms", "p50"), "null");
    EXPECT_FALSE(third_summary.figures().has_bounds);
    record.last_late_ns = 700'000;  // of a first token that is not known
    third_summary.add(record);
    EXPECT_EQ(bar_of(third_summary, "e2el_ms", "p25"), "50000 0") << "one of two is not known";
    EXPECT_EQ(bar_of(third_summary, "e2el_ms", "p99"), "null");
    EXPECT_EQ(bar_of(third_summary, "chunk_gap_ms", "mean"), "null");
    EXPECT_EQ(bar_of(third_summary, "itl_ms", "mean"), "null") << "ten tokens share one";
}

// A row of which nobody knows it may be anything; one that failed here counts as well.
TEST(ClientError, MovesPercentilesByTheRowsThatAreNotKnown) {
    Summary summary;
    Record record = record_of(0);
    record.wire_delay_bound_ns = record.request_delay_ns = 0;
    record.first_late_ns = record.last_late_ns = 0;
    for (std::int64_t i = 1; i <= 9; ++i) {
        record.ttft_ns = i * ms;
        summary.add(record);
    }
    EXPECT_EQ(bar_of(summary, "ttft_ms", "p50"), "2 0");
    Record lost = record;
    lost.tainted = {std::string(taint_payload_dropped)};
    lost.ttft_ns = 10 * ms;  // it may have been 0
    summary.add(lost);
    EXPECT_EQ(bar_of(summary, "ttft_ms", "p99"), "null") << "or endless";
    EXPECT_EQ(bar_of(summary, "tpot_ms", "p99"), "null");
    record.outcome = Outcome::client_failed;
    summary.add(record);
    EXPECT_EQ(bar_of(summary, "ttft_ms", "p99"), "null");
    EXPECT_EQ(bar_of(summary, "ttft_ms", "mean"), "null");
}

/// An answer of an open load, of which all is known, and which is good.
Record known_record() {
    Record record = record_of(0);
    record.user.reset();
    record.wire_delay_bound_ns = record.request_delay_ns = 0;
    record.first_late_ns = record.last_late_ns = record.receive_delay_ns = 0;
    return record;
}

// A client that ran would have cut it off, perhaps: then the figures are those of all others.
TEST(ClientError, HoldsTheFiguresWithoutARowThatALimitMayHaveEnded) {
    Summary summary({{{}, "", {20 * ms, {}, {}}}});
    Summary without({{{}, "", {20 * ms, {}, {}}}});
    for (std::int64_t i = 1; i <= 10; ++i) {
        Record record = known_record();
        record.ttft_ns = i * ms;
        if (i == 5) {
            record.tainted = {std::string(taint_end_unsure)};
        } else {
            without.add(record);
        }
        summary.add(record);
    }
    EXPECT_EQ(std::tuple(summary.figures().good, without.figures().good), std::tuple(10u, 9u));
    const SummaryFigures f = summary.figures();
    const SummaryFigures g = without.figures();
    for (std::size_t i = 0; i < percentiles.size(); ++i) {
        EXPECT_LE(f.ttft_bounds.lower.at[i], g.ttft_bounds.lower.at[i]) << percentiles[i].name;
        EXPECT_GE(f.ttft_bounds.upper.at[i], g.ttft_bounds.upper.at[i]) << percentiles[i].name;
    }
    EXPECT_EQ(f.goodput().worst.good, 9u);
    EXPECT_EQ(f.throughput_error(f.request_throughput), std::nullopt);
    EXPECT_TRUE(g.throughput_error(g.request_throughput));
}

// What waited in this client and was cut off might have been answered.
TEST(ClientError, HoldsAnswersThatMightHaveComeAndDurations) {
    for (const std::int64_t waited_ns : {10 * ms, 10 * ms + 1}) {  // 1 % of what it lasted
        Summary summary({{{}, "", {20 * ms, {}, {}}}});
        summary.add(known_record());
        Record cut = known_record();
        cut.outcome = Outcome::timeout_total;
        cut.ttft_ns = cut.tpot_ns = cut.e2e_ns = std::nullopt;
        cut.ended_ns = *cut.fired_ns + 1000 * ms;
        cut.request_delay_ns = waited_ns;
        summary.add(cut);
        const SummaryFigures f = summary.figures();
        const bool is_gone = waited_ns > 10 * ms;
        EXPECT_EQ(f.lost_whole, is_gone ? 1u : 0u);
        EXPECT_EQ(f.goodput().best.good, f.goodput().good + f.lost_whole);
        EXPECT_EQ(bar_of(summary, "ttft_ms", "p99") == "null", is_gone);
        EXPECT_EQ(f.throughput_error(f.request_throughput).has_value(), !is_gone);
    }
    // The last bytes may have waited: the run was shorter than measured by no more than that.
    Summary summary;
    Record record = known_record();
    record.receive_delay_ns = record.last_late_ns = 10 * ms;  // of the end at 50 ms
    summary.add(record);
    const SummaryFigures f = summary.figures();
    const double seconds = static_cast<double>(f.duration_ns) / 1e9;
    const std::optional<ErrorBar> bar = f.throughput_error(f.request_throughput);
    ASSERT_TRUE(bar);
    EXPECT_NEAR(bar->below, 0, 1e-9);
    EXPECT_NEAR(bar->above, 1 / (seconds - 0.01) - 1 / seconds, 1e-9);
    EXPECT_NEAR(f.throughput_error(f.output_throughput)->above, 11 * bar->above, 1e-6);
    record.outcome = Outcome::client_failed;  // it may have been ok, and for longer
    summary.add(record);
    EXPECT_FALSE(summary.figures().throughput_error(1) || summary.figures().throughput_error(11));
    record.outcome = Outcome::ok;
    record.user = 1;
    summary.add(record);
    EXPECT_FALSE(summary.figures().throughput_error(1)) << "late reads lower the load";
}

/// "share rate": which bars of goodput are known, of an answer and this record.
std::string goodput_bars(const Record& other) {
    Summary summary({{{}, "", {.ttft_ns = 1000 * ms}}});
    summary.add(known_record());
    summary.add(other);
    const SummaryFigures f = summary.figures();
    return std::string(f.good_error() ? "share" : "") + (f.request_goodput_error() ? " rate" : "");
}

// Late reads lower a load that waits for answers or for a cap: its rate is an estimate.
TEST(ClientError, IsUnknownWhereTheLoadWaitsOrRowsHaveNoRecord) {
    EXPECT_EQ(goodput_bars(known_record()), "share rate");
    Record waits = known_record();
    waits.user = 0;
    EXPECT_EQ(goodput_bars(waits), "share");
    waits = known_record();
    waits.parent_end_ns = 0;
    EXPECT_EQ(goodput_bars(waits), "share");
    for (const LateCause cause :
         {LateCause::inflight, LateCause::budget, LateCause::limit, LateCause::lane}) {
        waits = known_record();
        waits.late_cause = cause;
        EXPECT_EQ(goodput_bars(waits), "share") << name_of(cause);
    }
    waits.late_cause = LateCause::burst;
    EXPECT_EQ(goodput_bars(waits), "share rate");
    // Of rows that left and have no record, or did not leave for a failure of ours, nothing is
    // known.
    Summary summary({{{}, "", {.ttft_ns = 1000 * ms}}});
    summary.add(known_record());
    SummaryFigures f = summary.figures();
    const auto ttft_error = [](const SummaryFigures& of) {
        return error_of(*find_figure("ttft"), *find_statistic("p99"), of);
    };
    EXPECT_TRUE(f.good_error() && ttft_error(f));
    f.unrecorded = 1;
    EXPECT_FALSE(f.good_error() || f.request_goodput_error() || ttft_error(f));
    EXPECT_TRUE(says(summary_json(f, {}), R"("client_error":{"ttft_ms":null)"));
    f.unrecorded = 0;
    f.more_unrecorded = true;
    EXPECT_FALSE(f.good_error() || ttft_error(f));
    summary.add({.error = "waits for row 0, which failed"});
    EXPECT_TRUE(summary.figures().good_error()) << "the server failed";
    summary.add({.outcome = Outcome::client_failed});
    EXPECT_FALSE(summary.figures().good_error() || ttft_error(summary.figures()));
}

// A rule with a row that nobody can judge has no bar; others keep theirs.
TEST(ClientError, OfARuleIsUnknownWithoutACountOfTokens) {
    const auto of_tier = [](const char* tier) {
        return GoodputRule{parse_group_key("kept.tier").value(), tier, {.tpot_ns = 1000 * ms}};
    };
    Summary summary({of_tier("gold"), of_tier("free")});
    Record record = known_record();
    record.kept = R"({"tier":"gold"})";
    summary.add(record);
    record.kept = R"({"tier":"free"})";
    summary.add(record);
    record.tpot_ns.reset();
    record.tokens_source = TokensSource::chunks;
    summary.add(record);
    const SummaryFigures f = summary.figures();
    EXPECT_TRUE(f.goodput_counts[0].error());
    EXPECT_EQ(f.goodput_counts[1].undecided, 1U);
    EXPECT_FALSE(f.goodput_counts[1].error() || f.good_error());
}

TEST(SummaryMemory, IsOfExactPercentilesAlone) {
    if (heap_bytes() == 0) {
        GTEST_SKIP() << "this allocator does not say how much is in use";
    }
    Summary summary;
    constexpr std::uint32_t first = requests_made / 10;  // until all users and seconds are known
    for (std::uint32_t request = 0; request < first; ++request) {
        summary.add(record_of(request));
    }
    const std::uint64_t before = heap_bytes();
    for (std::uint32_t request = first; request < requests_made; ++request) {
        summary.add(record_of(request));
    }
    const double grown = static_cast<double>(heap_bytes() - before);
    const double seconds = (requests_made - first) / 1000.0;
    EXPECT_LE((grown - 2 * 8 * seconds) / (requests_made - first), bytes_of_a_request * pieces);
    const SummaryFigures figures = summary.figures();
    EXPECT_EQ(figures.completed, requests_made);
    EXPECT_EQ(figures.phase.first_turns.trees, requests_made / 4);
}

/// Of the rows with this tier.
GoodputRule of_tier(const char* tier, std::int64_t ttft_ns) {
    return {parse_group_key("kept.tier").value(), tier, {ttft_ns, std::nullopt, std::nullopt}};
}

/// Of each tier, and of none, a row that is ok after 10 ms and one that failed.
SummaryFigures figures_by(GoodputRules rules) {
    Summary summary(std::move(rules));
    Record record{.fired_ns = 0};
    for (const char* kept : {R"({"tier":"gold"})", R"({"tier":"free"})", R"({"tier":null})", ""}) {
        record.kept = kept;
        for (const Outcome outcome : {Outcome::ok, Outcome::stream_error}) {
            record.outcome = outcome;
            record.ttft_ns = 10 * ms;
            summary.add(record);
            ++record.row;
        }
    }
    return summary.figures();
}

TEST(Goodput, CountsRowsOfARuleWhereTheirTokensAreKnown) {
    const SummaryFigures f = figures_by({of_tier("gold", 10 * ms - 1), of_tier("free", 10 * ms)});
    EXPECT_EQ(std::tuple(f.good, f.goodput().decided), std::tuple(1u, 4u));
    EXPECT_EQ(std::tuple(f.goodput_counts[0].good, f.goodput_counts[1].good), std::tuple(0u, 1u));
    EXPECT_EQ(f.goodput_counts[1].decided, 2u);
    // The time that a cap held a row back counts from the due instant only.
    GoodputLimits limits{.ttft_due_ns = 500 * ms};
    Record record{.ttft_ns = 10 * ms, .outcome = Outcome::ok};
    EXPECT_EQ(is_good(limits, record), std::optional(false));
    record.ttft_due_ns = 500 * ms;
    EXPECT_EQ(is_good(limits, record), std::optional(true));
    record.ttft_due_ns = 500 * ms + 1;
    EXPECT_EQ(is_good(limits, record), std::optional(false));
    // An answer whose tokens were not counted has no TPOT: nobody knows whether it is good, unless
    // it broke another limit; one token that was counted passes.
    limits = {.tpot_ns = 1, .e2e_ns = 10 * ms};
    record = {.e2e_ns = 10 * ms,
              .output_tokens = 1,
              .tokens_source = TokensSource::chunks,
              .outcome = Outcome::ok};
    EXPECT_EQ(is_good(limits, record), std::nullopt);
    record.tokens_source = TokensSource::usage;
    EXPECT_EQ(is_good(limits, record), std::optional(true));
    record.output_tokens = 2;  // without a stream neither has more of them, nor is there a TTFT
    EXPECT_EQ(is_good(limits, record), std::nullopt);
    EXPECT_EQ(is_good({.ttft_ns = 1}, record), std::nullopt);
    EXPECT_EQ(is_good({.ttft_ns = 1, .e2e_ns = 1}, record), std::optional(false));
    record.tokens_source = TokensSource::chunks;
    ++*record.e2e_ns;
    EXPECT_EQ(is_good(limits, record), std::optional(false));
}

// Where this client lost a part of the answer, its first or its last token may be among that.
TEST(Goodput, IsOfTheFirstRuleThatFitsElseOfTheCommonLimits) {
    GoodputLimits limits{.ttft_ns = 10 * ms};
    Record record{.tainted = {std::string(taint_entries_dropped)}, .outcome = Outcome::ok};
    EXPECT_EQ(is_good(limits, record), std::nullopt);
    record.ttft_ns = 10 * ms;
    EXPECT_EQ(is_good(limits, record), std::nullopt);
    record.outcome = Outcome::stream_error;
    EXPECT_EQ(is_good(limits, record), std::optional(false));
    const GoodputRule common{{}, "", {10 * ms, std::nullopt, std::nullopt}};
    const SummaryFigures f = figures_by({common, of_tier("gold", 10 * ms - 1)});
    EXPECT_EQ(std::tuple(f.good, f.goodput().decided), std::tuple(3u, 8u));
    EXPECT_EQ(f.goodput_counts[0].decided, 6u);
    EXPECT_EQ(f.goodput_counts[1].good, 0u);
    const SummaryFigures other_f = figures_by({of_tier("gold", 10 * ms), of_tier("gold", 1)});
    EXPECT_EQ(other_f.goodput_counts[0].good, 1u);
    EXPECT_EQ(other_f.goodput_counts[1].decided, 0u);
    const SummaryFigures third_f = figures_by({});
    EXPECT_FALSE(third_f.judges_goodput());
    EXPECT_EQ(third_f.good, 4u);
    EXPECT_FALSE(third_f.request_goodput);
}

std::string value_in(const char* key, const Record& record) {
    JsonDocument document;
    return group_value(parse_group_key(key).value(), record, document);
}

TEST(GroupKey, FindsWhatARowHasAndCutsLengths) {
    Record record{.phase = Phase::warmup,
                  .turn = 7,
                  .kept = R"({"tier":"gold","n":1.50,"gone":null})",
                  .url = "http://a/",
                  .api = "openai-chat",
                  .model = "m",
                  .outcome = Outcome::ok};
    record.headers = {{"target-pod", "pod-1"}, {"x", std::nullopt}};
    record.input_length = 512;
    expect_each([&](auto in) { return value_in(in, record); }, gives("phase", "warmup"),
                gives("turn", "7"), gives("api", "openai-chat"), gives("url", "http://a/"),
                gives("model", "m"), gives("outcome", "ok"), gives("kept.tier", "gold"),
                gives("kept.n", "1.50"), gives("kept.gone", "-"), gives("kept.other", "-"),
                gives("header.target-pod", "pod-1"), gives("header.x", "-"),
                gives("input:4", "512"));
    EXPECT_EQ(value_in("turn", Record()), "-");
    EXPECT_EQ(value_in("kept.tier", Record()), "-");
    for (const char* text : {"", "foo", "kept.", "header.", "input", "input:", "input:1",
                             "input:21", "input:x", "Phase"}) {
        EXPECT_FALSE(parse_group_key(text)) << text;
    }
    EXPECT_TRUE(parse_group_key("input:2") && parse_group_key("input:20"));
    std::vector<std::uint32_t> lengths = {8, 1, 7, 2, 6, 3, 5, 4};
    EXPECT_EQ(length_bounds(lengths, 4), (std::vector<std::uint32_t>{2, 4, 6, 8}));
    EXPECT_EQ(length_bounds(lengths, 3), (std::vector<std::uint32_t>{2, 5, 8}));
    std::vector<std::uint32_t> equal(10, 512);
    EXPECT_EQ(length_bounds(equal, 4), (std::vector<std::uint32_t>{512}));
    std::vector<std::uint32_t> none;
    EXPECT_TRUE(length_bounds(none, 4).empty());
}

}  // namespace
}  // namespace driftless
