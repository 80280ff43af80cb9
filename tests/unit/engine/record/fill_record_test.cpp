// The state of a row, and its record.

#include "engine/record/fill_record.hpp"

#include "tests/unit/engine/record/script.hpp"

namespace driftless {

namespace {

TEST(AnswerState, KeepsNoMemoryOfALongOne) {
    AnswerState answer;
    answer.reset(true);
    answer.text.content.assign(1 << 20, 'x');
    answer.text.reasoning.assign(100, 'x');
    answer.chunk_stamps.resize(100'000);
    answer.chunk_tokens.resize(100'000);
    answer.reset(true);
    EXPECT_LE(answer.text.content.capacity(), 64U * 1024);
    EXPECT_GE(answer.text.reasoning.capacity(), 100U) << "a short one's serves the next";
    EXPECT_LE(answer.chunk_stamps.capacity(), 8U * 1024);
    EXPECT_LE(answer.chunk_tokens.capacity(), 8U * 1024);
    EXPECT_EQ(answer.first_token_ns, no_stamp);
}

// The forecast by the order of the run: in the order of the file it is the plan's, in any other
// order that of an infinite cache which is asked in that order, and passes share nothing.

constexpr std::uint32_t block = 16;
constexpr std::uint32_t server_block = 4;

/// Ids that are chained, or that name contents alone.
void add_row(Trace& trace, Random& random, bool chained, std::uint32_t shortest) {
    std::vector<std::uint64_t> ids;
    std::uint64_t chain = 0;
    const std::uint64_t blocks = random.below(8);
    for (std::uint64_t k = 0; k < blocks; ++k) {
        const std::uint64_t pick = random.below(3);
        chain = chain * 3 + pick + 1;
        ids.push_back(chained ? chain : pick);
    }
    TraceRow row{.name_space = static_cast<std::uint32_t>(random.below(2))};
    // Lengths that come again, on the borders of blocks and between them, beyond the ids and not.
    row.input_length = shortest + static_cast<std::uint32_t>(random.below(blocks * 4 + 5)) * 4;
    row.output_length = 1;
    append_row(trace, row, ids);
}

Trace make_trace(std::uint64_t seed, bool chained, std::uint32_t shortest) {
    Random random(seed);
    Trace trace{.block_size = block};
    for (int i = 0; i < 150; ++i) {
        add_row(trace, random, chained, shortest);
    }
    trace.name_spaces = 2;
    return trace;
}

Plan plan_of(const Trace& trace) {
    return make_plan(trace, {}).value();
}

Due due_of_row(std::uint32_t row, std::uint32_t pass = 0, std::uint32_t user = 0) {
    return {.request = row, .row = row, .pass = pass, .user = user};
}

ForecastRules rules_for(AroundPrompt around) {
    return ForecastRules{
        .in_run_order = true, .users = 1, .around = around, .server_block = server_block};
}

/// The same rows, numbered in that order.
Trace reordered(const Trace& trace, const std::vector<std::uint32_t>& order) {
    Trace other = trace;
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        other.rows[i] = trace.rows[order[i]];
        other.rows[i].index = i;
    }
    return other;
}

TEST(RunForecast, IsThatOfTheFileInAnyOrder) {
    // Of templates longer than a block the plan does not see that what is behind the words is
    // equal.
    constexpr AroundPrompt arounds[] = {{0, 0}, {3, 0}, {0, 5}, {7, 15}, {2, 9}};
    for (const AroundPrompt around : arounds) {
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            const Trace trace = make_trace(seed, seed % 2 == 0, around.pre + around.post + 1);
            std::vector<std::uint32_t> order(trace.rows.size());
            std::iota(order.begin(), order.end(), 0U);
            Random random(seed);
            for (std::size_t left = order.size(); seed > 2 && left > 1; --left) {
                std::swap(order[left - 1], order[random.below(left)]);
            }
            const Trace played = reordered(trace, order);
            CacheForecast in_file(played, around.post);
            const std::vector<std::uint32_t> at_server =
                expect_server_cached(played, around, server_block, plan_of(played)).value();
            RunForecast forecast(trace, plan_of(trace), rules_for(around), nullptr);
            std::uint64_t sum = 0;
            for (std::uint32_t i = 0; i < order.size(); ++i) {
                const ExpectedHits hits = forecast.fired(due_of_row(order[i]));
                ASSERT_EQ(hits.tokens, in_file.next(played.rows[i])) << i << ", seed " << seed;
                ASSERT_EQ(hits.server, at_server[i]) << i << ", seed " << seed;
                sum += hits.tokens;
            }
            EXPECT_GT(sum, 0U);
        }
    }
}

// Each pass begins with an empty cache, however the passes of several users overlap.
TEST(RunForecast, KeepsPassesApart) {
    const Trace trace = make_trace(3, true, 1);
    const Plan plan = plan_of(trace);
    ForecastRules rules = rules_for({});
    rules.users = 2;
    RunForecast both(trace, plan, rules, nullptr);
    RunForecast alone(trace, plan, rules_for({}), nullptr);
    std::vector<std::uint32_t> first;
    for (std::uint32_t row = 0; row < trace.rows.size(); ++row) {
        first.push_back(alone.fired(due_of_row(row)).tokens);
    }
    for (std::uint32_t pass = 0; pass < 50; ++pass) {
        for (std::uint32_t row = 0; row < trace.rows.size(); ++row) {
            ASSERT_EQ(both.fired(due_of_row(row, pass, 0)).tokens, first[row]) << pass;
            if (pass >= 2) {  // two passes behind
                ASSERT_GE(both.fired(due_of_row(row, pass - 2, 1)).tokens, first[row]) << pass;
            }
        }
    }
    // A user that begins where all others had been long ago.
    EXPECT_EQ(both.fired(due_of_row(0, 0, 2)).tokens, 0U);
}

// What all passes share one pass leaves to the next, and no more; where rows end inside of it, too.
TEST(RunForecast, LeavesSharedBlocksToOtherPasses) {
    Trace trace{.block_size = block, .name_spaces = 1};
    const std::vector<std::vector<std::uint64_t>> prompts = {
        {1, 2, 3, 4}, {1, 2}, {1, 2, 3, 5}, {7}};
    for (const std::vector<std::uint64_t>& ids : prompts) {
        TraceRow row{.input_length = static_cast<std::uint32_t>(ids.size() * block + 2),
                     .output_length = 1};
        append_row(trace, row, ids);
    }
    const std::vector<std::uint32_t> shared = {3, 2, 3, 0};
    ForecastRules rules = rules_for({});
    rules.shared_blocks = shared;
    RunForecast forecast(trace, plan_of(trace), rules, nullptr);
    const auto blocks = [&](std::uint32_t row, std::uint32_t pass) {
        return forecast.fired(due_of_row(row, pass)).tokens / block;
    };
    EXPECT_EQ(blocks(1, 0), 0U);
    EXPECT_EQ(blocks(0, 0), 2U);
    EXPECT_EQ(blocks(3, 0), 0U);
    EXPECT_EQ(blocks(2, 1), 3U) << "the whole of what is shared";
    EXPECT_EQ(blocks(0, 1), 3U);
    EXPECT_EQ(blocks(0, 1), 4U) << "its own pass has more";
    EXPECT_EQ(blocks(1, 2), 2U);
    EXPECT_EQ(blocks(3, 2), 0U);
}

// A row that is sent again finds all of its own blocks but the last token's.
TEST(RunForecast, FindsItsFirstTryAndEarlierSegments) {
    Trace trace{.block_size = block, .name_spaces = 1};
    append_row(trace, {.input_length = 3 * block, .output_length = 1}, {1, 2, 3});
    RunForecast forecast(trace, plan_of(trace), rules_for({}), nullptr);
    EXPECT_EQ(forecast.fired(due_of_row(0)).tokens, 0U);
    EXPECT_EQ(forecast.fired(due_of_row(0)).tokens, 2 * block);
    // Of a run that is resumed: what left in earlier segments is in the cache.
    const Trace other_trace = make_trace(4, true, 1);
    Plan plan = plan_of(other_trace);
    RunForecast whole(other_trace, plan, rules_for({}), nullptr);
    RowEnds ends;
    for (std::uint32_t row = 0; row < 50; ++row) {
        (void)whole.fired(due_of_row(row));
        ends[row] = true;
    }
    ends[60] = false;  // it was not sent
    std::erase_if(plan.rows, [](const Planned& planned) { return planned.row < 50; });
    RunForecast resumed(other_trace, plan, rules_for({}), &ends);
    for (std::uint32_t row = 50; row < other_trace.rows.size(); ++row) {
        EXPECT_EQ(resumed.fired(due_of_row(row)).tokens, whole.fired(due_of_row(row)).tokens);
    }
}

// Which rows are turns before another, and whether that one was sent before they had ended: in
// whatever order ends come, over segments, and with every end that is not known.

constexpr auto answer = Trigger::completion;
constexpr auto sending = Trigger::dispatch;

// Rows 0, 1, 2, .. of the sessions that are named; -1: of none.
ScriptTrace trace_of(const std::vector<int>& sessions, std::vector<Dependency> dependencies = {}) {
    ScriptTrace input(static_cast<std::uint32_t>(sessions.size()));
    for (std::size_t i = 0; i < sessions.size(); ++i) {
        if (sessions[i] >= 0) {
            input.trace.rows[i].session = static_cast<std::uint32_t>(sessions[i]);
            input.trace.sessions.resize(std::max<std::size_t>(
                input.trace.sessions.size(), static_cast<std::size_t>(sessions[i]) + 1));
        }
    }
    input.trace.dependencies = std::move(dependencies);
    return input;
}

struct Bench {
    ScriptTrace input;
    TurnEnds turns;
    explicit Bench(ScriptTrace made, const RowEnds* earlier = nullptr)
        : input(std::move(made)), turns(input.trace, input.plan, earlier) {}

    void end(std::uint32_t row, OptionalNs ended_ns) { turns.end(input.trace.rows[row], ended_ns); }
    std::optional<bool> overtaken(std::uint32_t row, std::int64_t fired_ns) const {
        return turns.overtaken(input.trace.rows[row], fired_ns);
    }
};

// Without sessions and dependencies nothing comes after anything.
TEST(TurnEnds, TheRowBeforeInTheSession) {
    Bench alone(trace_of({-1, -1}));
    alone.end(0, 5);
    EXPECT_EQ(alone.overtaken(1, 3), std::nullopt);
    // The turn before is the row before it in its session; rows of no session have none.
    Bench bench(trace_of({0, 1, -1, 0, -1}));
    bench.end(0, 50);
    bench.end(1, 1'000);
    bench.end(2, 1'000);
    EXPECT_EQ(bench.overtaken(0, 0), std::nullopt);
    EXPECT_EQ(std::tuple(bench.overtaken(3, 49), bench.overtaken(3, 50)), std::tuple(true, false));
    EXPECT_EQ(bench.overtaken(3, 51), false);
    EXPECT_EQ(bench.overtaken(4, 0), std::nullopt);
    // A turn that is open when the next one ends has been overtaken.
    Bench open(trace_of({0, 0, 0}));
    EXPECT_EQ(open.overtaken(1, 10), true);
    open.end(1, 20);
    EXPECT_EQ(open.overtaken(2, 30), false);  // of the row before it alone
    // A row without recorded waits goes by its session, also where others have some.
    Bench beside(trace_of({0, 0, 0}, {{1, 0, answer, 0}}));
    beside.end(1, 50);
    EXPECT_EQ(beside.overtaken(2, 49), true);
    EXPECT_EQ(beside.overtaken(2, 50), false);
}

// In the order of the trace, which is that of time, not of the file.
TEST(TurnEnds, InTheOrderOfTheTraceWhereTheyAreKnown) {
    ScriptTrace input = trace_of({0, 0});
    std::swap(input.trace.rows[0].index, input.trace.rows[1].index);
    Bench bench(input);
    bench.end(0, 50);
    EXPECT_EQ(bench.overtaken(1, 49), true);
    EXPECT_EQ(bench.overtaken(0, 0), std::nullopt);
    // A sampled trace keeps the indices of its file: they have gaps.
    ScriptTrace sampled = trace_of({0, 0});
    sampled.trace.rows[0].index = 70;
    sampled.trace.rows[1].index = 9;
    Bench gaps(sampled);
    gaps.end(0, 50);
    EXPECT_EQ(std::tuple(gaps.overtaken(1, 49), gaps.overtaken(1, 50)), std::tuple(true, false));
    // Where the trace says what a row waited for, its session says nothing, and what it did not
    // wait for has not been overtaken.
    Bench other_bench(trace_of({0, 0, 0, 0, -1}, {{2, 0, answer, 7},
                                                  {3, 1, sending, 0},
                                                  {4, 0, answer, 0},
                                                  {4, 1, answer, 0},
                                                  {4, 2, sending, 0}}));
    other_bench.end(0, 50);
    EXPECT_EQ(other_bench.overtaken(2, 49), true);
    EXPECT_EQ(other_bench.overtaken(2, 50), false);  // whatever row 1 does
    EXPECT_EQ(other_bench.overtaken(3, 0), std::nullopt);
    EXPECT_EQ(other_bench.overtaken(4, 100), true);  // row 1 is open
    other_bench.end(1, 90);
    EXPECT_EQ(other_bench.overtaken(4, 100), false);
    EXPECT_EQ(other_bench.overtaken(4, 60), true);
    // A turn that was not sent, or is not selected, has no end; one that is known to be late
    // counts.
    input = trace_of({0, 0, 0, 1}, {{2, 0, answer, 0}, {2, 1, answer, 0}});
    input.plan.rows.erase(input.plan.rows.begin());
    Bench third_bench(input);
    third_bench.end(1, 50);
    EXPECT_EQ(third_bench.overtaken(1, 0), std::nullopt);
    EXPECT_EQ(third_bench.overtaken(2, 50), std::nullopt);
    EXPECT_EQ(third_bench.overtaken(2, 49), true);
    third_bench.end(1, std::nullopt);
    EXPECT_EQ(third_bench.overtaken(2, 0), std::nullopt);
}

// What ended in an earlier segment was over before this one began, though the instants of segments
// overlap; a row that was lost there has no end. Records may name any row.
TEST(TurnEnds, OverSegmentsAndOfOneSide) {
    const RowEnds earlier = {{0, true}, {1, false}, {4'000'000'000u, true}};
    ScriptTrace input = trace_of({0, 1, 0, 1});
    input.plan.rows.erase(input.plan.rows.begin(), input.plan.rows.begin() + 2);
    Bench bench(input, &earlier);
    EXPECT_EQ(bench.overtaken(2, -50), false);
    EXPECT_EQ(bench.overtaken(2, 50), false);
    EXPECT_EQ(bench.overtaken(3, 50), std::nullopt);
    // Dual fire: a conversation with one server waits for none of the other's answers.
    input = trace_of({0, 0});
    for (Planned& planned : input.plan.rows) {
        planned.side = Side::a;
    }
    const std::vector<Planned> of_a = input.plan.rows;
    for (Planned planned : of_a) {
        planned.side = Side::b;
        input.plan.rows.push_back(planned);
    }
    const RowEnds other_earlier = {{sending_number(0, 0, Side::b), true}};
    TurnEnds a(input.trace, input.plan, &other_earlier, Side::a);
    TurnEnds b(input.trace, input.plan, &other_earlier, Side::b);
    EXPECT_EQ(a.overtaken(input.trace.rows[1], 50), true);  // still open there
    EXPECT_EQ(b.overtaken(input.trace.rows[1], 50), false);
    a.end(input.trace.rows[0], 40);
    EXPECT_EQ(a.overtaken(input.trace.rows[1], 50), false);
}

// What the assembler makes of it: rows that end before the turn before them, behind it, not at all.
TEST(TurnEnds, InRecords) {
    Assembling bench(trace_of({0, 0, 0, 0, 0}));
    Script first(bench.assembler, 0);
    Script second(bench.assembler, 1);
    Script third(bench.assembler, 2);
    first.fire(0);
    second.fire(1'000'000);
    EXPECT_EQ(second.head(2'000'000).text(3'000'000, "a").done(4'000'000).end(4'000'000).overtaken,
              true);
    EXPECT_EQ(first.head(5'000'000).text(5'000'000, "a").done(5'000'000).end(5'000'000).overtaken,
              std::nullopt);
    third.fire(6'000'000);
    EXPECT_EQ(third.end(7'000'000, Outcome::timeout_first_byte).overtaken, false);
    Script fourth(bench.assembler, 3);
    fourth.fire(6'999'999);  // a turn that has failed is over, too
    EXPECT_EQ(fourth.end(9'000'000, Outcome::truncated).overtaken, true);
    const Record& unsent = Script(bench.assembler, 4).end(9'500'000, Outcome::not_sent);
    EXPECT_EQ(values_of(unsent, "fired_ns, overtaken"), "null, null");
}

// One row's answer, told to a fresh assembler; returns its record.
template <typename Tell>
Record record_of(const Tell& tell, Outcome engine = Outcome::ok, bool close_delimited = false,
                 const ChangeConfig& change = {}) {
    OneRow row("openai-chat", change);
    row.fire(0);
    tell(row);
    return row.end(1000, engine, close_delimited);
}

// What the engine saw goes first, whatever had come before; tokens that came keep their stamps.
TEST(FillRecord, TheEnginesOutcomeThenTheStatusDecide) {
    const auto tell = [](Script& row) { row.head(1).text(2, "a"); };
    const Record record = record_of(tell, Outcome::timeout_idle);
    EXPECT_EQ(values_of(record, "outcome, ttft_ns, done_ns, ended_ns"),
              "timeout_idle, 2, null, 1000");
    EXPECT_EQ(record_of([](Script& row) { row.head(1, 500); }, Outcome::truncated).outcome,
              Outcome::truncated);
    // Each class of status has its outcome, and the message is the server's.
    const auto with = [](std::uint16_t status) {
        return record_of([status](Script& row) {
            row.head(1, status, "Content-Type: application/json\r\n");
            row.part(2, R"({"error":{"message":"no such )").part(3, R"(model","code":404}})");
        });
    };
    EXPECT_EQ(with(302).outcome, Outcome::http_3xx);
    EXPECT_EQ(with(404).outcome, Outcome::http_4xx);
    EXPECT_EQ(with(429).outcome, Outcome::http_429);
    EXPECT_EQ(with(503).outcome, Outcome::http_5xx);
    EXPECT_EQ(with(204).outcome, Outcome::bad_content);
    EXPECT_EQ(with(700).outcome, Outcome::bad_http);
    const Record other_record = with(404);
    EXPECT_EQ(values_of(other_record,
                        "error, status, first_byte_ns, done_ns, first_token_ns, output_tokens"),
              "no such model, 404, 2, 1000, null, null");
    EXPECT_FALSE(other_record.output_digest.has_value());
}

// A 200 that is encoded, or of another content type, is no stream of the API.
TEST(FillRecord, ForeignContentIsBadContentLaxTypesAreNot) {
    const Record encoded = record_of([](Script& row) {
        row.head(1, 200, "Content-Type: text/event-stream\r\nContent-Encoding: gzip\r\n");
        row.chunk(2, "\x1F\x8B\n\n");
    });
    EXPECT_EQ(values_of(encoded, "outcome, error"), "bad_content, content-encoding: gzip");
    for (const char* const coded : {"Transfer-Encoding: GZIP ,chunked\r\n",
                                    "Transfer-Encoding:\r\nTransfer-Encoding: chunked, GZIP\r\n"}) {
        const Record sent =
            record_of([coded](Script& row) { row.head(1, 200, coded).chunk(2, "\x1F\x8B\n\n"); });
        EXPECT_EQ(values_of(sent, "outcome, error"), "bad_content, transfer-encoding: GZIP")
            << coded;
    }
    const Record html = record_of([](Script& row) {
        row.head(1, 200, "Content-Type: text/html\r\n").part(2, "<h1>hello</h1>");
    });
    EXPECT_EQ(values_of(html, "outcome, error"), "bad_content, hello");
    const Record empty =
        record_of([](Script& row) { row.head(1, 200, "Content-Type: text/html\r\n"); });
    EXPECT_EQ(empty.error, "content-type: text/html");
    // No content type, or one in other letters and with parameters, is read as a stream.
    EXPECT_EQ(record_of([](Script& row) { row.head(1, 200, "").text(2, "a"); }).outcome,
              Outcome::ok);
    EXPECT_EQ(record_of([](Script& row) {
                  row.head(1, 200,
                           "CONTENT-TYPE: Text/Event-Stream;charset=utf-8\r\n"
                           "Content-Encoding: identity\r\n");
                  row.text(2, "a");
              }).outcome,
              Outcome::ok);
}

// An error inside a 200 is a failure even when tokens came and `[DONE]` follows (vLLM does that).
TEST(FillRecord, ErrorsInTheStreamAndMissingEndsAreFailures) {
    const Record record = record_of([](Script& row) {
        row.head(1).text(2, "a");
        row.data(3, R"({"error":{"message":"Internal server error","type":"InternalServerError",)"
                    R"("param":null,"code":500}})");
        row.done(4);
    });
    EXPECT_EQ(values_of(record, "outcome, error, status"),
              "stream_error, Internal server error, 200");
    // An event that is no JSON is a failure, shown as it came; after `[DONE]` nothing has a
    // meaning.
    const Record bad = record_of([](Script& row) { row.head(1).data(2, "{oops").text(3, "a"); });
    EXPECT_EQ(values_of(bad, "outcome, error"), "bad_event, {oops");
    EXPECT_EQ(record_of([](Script& row) { row.head(1).text(2, "a").done(3).data(4, "{"); }).outcome,
              Outcome::ok);
    // A finish by which the server gives the request up is a failure, and what it counted stays.
    const Record given_up = record_of([](Script& row) {
        row.head(1).text(2, "a");
        row.data(3, R"({"choices":[{"index":0,"delta":{},"finish_reason":"abort"}]})");
        row.usage(4, 1).done(5);
    });
    EXPECT_EQ(values_of(given_up, "outcome, error, finish_reason, output_tokens"),
              "stream_error, abort, abort, 1");
    // A close-delimited answer is complete only with a finish or `[DONE]`.
    const auto tokens = [](Script& row) { row.head(1).text(2, "a"); };
    EXPECT_EQ(record_of(tokens, Outcome::ok, true).outcome, Outcome::truncated);
    EXPECT_EQ(record_of(tokens, Outcome::ok, false).outcome, Outcome::ok);
    const auto done = [](Script& row) { row.head(1).text(2, "a").done(3); };
    EXPECT_EQ(record_of(done, Outcome::ok, true).outcome, Outcome::ok);
    const auto finish = [](Script& row) {
        row.head(1).text(2, "a");
        row.data(3, R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})");
    };
    EXPECT_EQ(record_of(finish, Outcome::ok, true).outcome, Outcome::ok);
}

// Where the server's streams say that they have ended, one that does not was cut off, in every API;
// each of the marks will do. Whole answers are complete when their framing is.
TEST(FillRecord, StreamsNeedTheirEndMark) {
    struct Case {
        const char* api;
        const char* token;
        std::vector<const char*> ends;
    };
    const Case cases[] = {
        {"openai-chat",
         R"({"choices":[{"index":0,"delta":{"content":"a"}}]})",
         {"[DONE]", R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})",
          R"({"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}})"}},
        {"dynamo", R"({"choices":[{"index":0,"delta":{"content":"a"}}]})", {"[DONE]"}},
        {"openai-completions",
         R"({"choices":[{"text":"a"}],"usage":{"prompt_tokens":9,"completion_tokens":1}})",
         {"[DONE]", R"({"choices":[{"index":0,"text":"","finish_reason":"length"}]})"}},
        {"openai-responses",
         R"({"type":"response.output_text.delta","delta":"a"})",
         {R"({"type":"response.completed"})", R"({"type":"response.incomplete","response":{}})"}},
        {"anthropic",
         R"({"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}})",
         {R"({"type":"message_stop"})",
          R"({"type":"message_delta","delta":{"stop_reason":"end_turn"}})"}},
        {"llamacpp",
         R"({"content":"a","stop":false,"tokens_predicted":1})",
         {R"({"content":"","stop":true})"}},
        {"sglang",
         R"({"text":"a","output_ids":[1],"meta_info":{"completion_tokens":1,"prompt_tokens":9}})",
         {"[DONE]"}},
        {"tgi",
         R"({"token":{"id":1,"text":"a"},"details":null})",
         {R"({"token":{"id":2,"text":"","special":true},"details":{"generated_tokens":2}})"}},
        {"triton", R"({"text_output":"a"})", {"[DONE]"}},
    };
    for (const Case& one : cases) {
        for (std::size_t i = 0; i <= one.ends.size(); ++i) {
            OneRow row(one.api, [&](AssemblerConfig& config) {
                config.output = OutputRule::cap;
                config.has_end_mark = true;
            });
            row.fire(0).head(1).data(2, one.token);
            if (i < one.ends.size()) {
                row.data(3, one.ends[i]);
            }
            const Record record = row.end(1000);
            EXPECT_EQ(record.outcome, i < one.ends.size() ? Outcome::ok : Outcome::truncated)
                << one.api << " " << i << " " << record.error.value_or("");
            EXPECT_EQ(record.error.has_value(), i == one.ends.size());
        }
    }
}

// Usage counts wherever it stands, also behind the end marker; text there does not.
TEST(FillRecord, CountsUsageBehindTheEndMarkerAndHiddenTokens) {
    const Record record =
        record_of([](Script& row) { row.head(1).text(2, "a").done(3).usage(4, 4).text(5, "b"); });
    EXPECT_EQ(values_of(record, "outcome, output_tokens, tokens_source, usage_event_ns"),
              "ok, 4, usage, 4");
    EXPECT_EQ(record.chunk_ns.size(), 1u);
    // The last event may lack its empty line when the framing is complete.
    const Record lacking = record_of(
        [](Script& row) { row.head(1).text(2, "a").part(3, "data: [DONE]\n"); }, Outcome::ok, true);
    EXPECT_EQ(lacking.outcome, Outcome::ok);
    // Complete, no error, and not one token: role, usage and pings are none.
    const Record none = record_of([](Script& row) {
        row.head(1).chunk(2, ": ping\n\n");
        row.data(3, R"({"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]})");
        row.usage(4, 0).done(4);
    });
    EXPECT_EQ(values_of(none, "outcome, output_tokens, tokens_source"), "no_tokens, 0, usage");
    // llama.cpp holds back half a character: of one token, only the count is seen.
    static int tokens;
    const auto tell = [](Script& row) {
        row.head(1).data(2, R"({"choices":[{"index":0,"text":"","finish_reason":"length"}]})");
        row.usage(3, tokens).done(4);
    };
    for (tokens = 0; tokens <= 4; ++tokens) {
        const Record other_record = record_of(tell);
        EXPECT_EQ(other_record.outcome, tokens == 0   ? Outcome::no_tokens
                                        : tokens == 4 ? Outcome::ok
                                                      : Outcome::short_output);
        EXPECT_EQ(other_record.output_tokens, tokens);
        EXPECT_EQ(values_of(other_record, "ttft_ns, e2e_ns"), "null, null");
    }
}

// Short at asked - 1, ok at asked, long at asked + 1; only under exact, and only by a real count.
TEST(FillRecord, LengthsAreExactAndOneInstantHasNoTpot) {
    static int tokens;
    const auto tell = [](Script& row) { row.head(1).text(2, "a").usage(3, tokens).done(3); };
    for (tokens = 3; tokens <= 5; ++tokens) {
        const Record record = record_of(tell);
        EXPECT_EQ(record.outcome, tokens == 3   ? Outcome::short_output
                                  : tokens == 4 ? Outcome::ok
                                                : Outcome::long_output);
        EXPECT_EQ(record.error, std::nullopt);
        EXPECT_EQ(record_of(tell, Outcome::ok, false,
                            [](AssemblerConfig& config) { config.output = OutputRule::cap; })
                      .outcome,
                  Outcome::ok);
    }
    EXPECT_EQ(record_of([](Script& row) { row.head(1).text(2, "a").done(3); }).outcome,
              Outcome::ok);
    // Several tokens in one chunk, and chunks that one read brought: the time between is not known.
    // One nanosecond apart is.
    const auto tpot = [](std::int64_t second_ns) {
        return record_of([second_ns](Script& row) {
                   row.head(1).text(2, "a");
                   if (second_ns > 0) {
                       row.text(second_ns, "b");
                   }
                   row.usage(5, 4).done(5);
               })
            .tpot_ns;
    };
    expect_each(tpot, gives(0, std::nullopt), gives(2, std::nullopt), gives(3, 1.0 / 3));
}

// A head that lost bytes in the ring says nothing: its type may be cut anywhere.
TEST(FillRecord, LostBytesTaintAndNeverBlame) {
    const Record record = record_of([](Script& row) {
        row.part(0, "HTTP/1.1 200 OK\r\nContent-Type: text/ev");
        row.part(0, "", event_payload_dropped);
        row.head(1, 200, "").text(2, "a").done(3);
    });
    EXPECT_EQ(values_of(record, "outcome, tainted"), R"(ok, ["payload_dropped"])");
    // A row that lost bytes in the ring keeps its stamps, is tainted, has no count of tokens, and
    // is never short, bad, truncated or without tokens on the ground of what was lost.
    const Record other_record = record_of(
        [](Script& row) {
            row.head(1).text(2, "a").chunk(3, "", event_payload_dropped);
            row.part(4, "data: {\"choi").part(5, "", event_payload_dropped).chunk(6, "}]}\n\n");
            row.data(7, R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})");
            row.usage(7, 3);
        },
        Outcome::ok, true);
    EXPECT_EQ(values_of(other_record, "outcome, tainted, chunk_ns"),
              R"(ok, ["payload_dropped"], [2,3,6])");
    EXPECT_FALSE(other_record.chunk_tokens_known);
    EXPECT_FALSE(other_record.tokens_source || other_record.output_tokens || other_record.tpot_ns);
    EXPECT_FALSE(other_record.prompt_tokens || other_record.prompt_tokens_off ||
                 other_record.cached_tokens);
    EXPECT_FALSE(other_record.output_digest || other_record.finish_reason);
}

// The status comes with the end, too: a row whose head found the ring full is still refused where
// the server refused it, and not blamed for content that nobody saw.
TEST(FillRecord, LostHeadsAndEventsAtTheirLimit) {
    Assembling bench(ScriptTrace(2));
    Event end = Script::ended(0, 1000);
    end.end.entries_dropped = 1;
    end.end.status = 503;
    const Record refused = Script(bench.assembler, 0).fire(0).end_with(end);
    EXPECT_EQ(values_of(refused, "outcome, status, headers_ns"), "http_5xx, 503, null");
    end.request = 1;
    end.end.status = 200;
    const Record unseen = Script(bench.assembler, 1).fire(0).end_with(end);
    EXPECT_EQ(values_of(unseen, "outcome, tainted"), R"(ok, ["entries_dropped"])");
    // Dropped entries taint too, with their own word.
    OneRow row;
    row.fire(0).head(1).text(2, "a").usage(3, 1);
    Event tainted = Script::ended(0, 4, Outcome::ok);
    tainted.end.entries_dropped = 2;
    const Record& record = row.end_with(tainted);
    EXPECT_EQ(values_of(record, "outcome, tainted"), R"(ok, ["entries_dropped"])");
    EXPECT_FALSE(record.prompt_tokens || record.cached_tokens || record.output_tokens);
    // An event at its limit is read, one byte more is over it; the answer after it is read on.
    for (const std::size_t over : {std::size_t{0}, std::size_t{1}}) {
        OneRow other_row;
        other_row.fire(0).head(1);
        const std::string token =
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
        const std::size_t event_bytes_max =
            answer_limits(100, 4, OutputRule::exact, false).event_bytes_max;
        std::string event(event_bytes_max - token.size() + over, ' ');
        event.front() = ':';
        event.back() = '\n';
        event += token;
        for (std::size_t at = 0; at < event.size(); at += 60000) {
            const std::string_view piece = std::string_view(event).substr(at, 60000);
            at + 60000 < event.size() ? other_row.part(2, piece) : other_row.chunk(3, piece);
        }
        const Record& other_record = other_row.text(4, "b").end(5);
        EXPECT_EQ(other_record.outcome, over == 0 ? Outcome::ok : Outcome::limit_exceeded);
        EXPECT_EQ(other_record.chunk_ns.size(), 2 - over);
        EXPECT_EQ(
            other_record.error.value_or(""),
            over == 0 ? "" : "an event of the answer had more bytes than its limit of 1055232");
    }
}

// Four times the asked tokens, and 64, are believed; what no answer can count is unknown.
TEST(FillRecord, CountsBeyondTheAskedAreOverTheLimit) {
    const auto counted = [](const std::string& tokens) {
        return record_of([&tokens](Script& row) {
            row.head(1).text(2, "a").text(3, "b");
            row.data(4, R"({"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":)" +
                            tokens + "}}");
            row.done(5);
        });
    };
    EXPECT_EQ(std::tuple(counted("80").outcome, counted("80").output_tokens, counted("81").outcome),
              std::tuple(Outcome::long_output, 80, Outcome::limit_exceeded));
    EXPECT_EQ(counted("81").error, "81 tokens were counted, over the limit of 80");
    EXPECT_EQ(counted("134217728").output_tokens, std::int64_t{1} << 27);
    for (const char* const whole : {"20", "20.0", "20.000"}) {
        EXPECT_EQ(counted(whole).output_tokens, 20) << whole;
    }
    for (const char* const none :
         {"134217729", "134217728.5", "9223372036854775807", "2.5", "1e3", "-1"}) {
        const Record record = counted(none);
        EXPECT_EQ(values_of(record, "outcome, output_tokens, tokens_source"), "ok, 2, chunks")
            << none;
    }
}

// Whatever the limit was, the error names it, and what the server said before does not hide it.
TEST(FillRecord, TheErrorNamesTheCauseAndNoSecret) {
    const auto over = [](AnswerLimit limit) {
        OneRow row;
        row.fire(0).head(1).data(2, R"({"error":{"message":"slow down"}})");
        Event end = Script::ended(0, 4, Outcome::limit_exceeded);
        end.end.sys_errno = static_cast<std::int32_t>(limit);
        return row.end_with(end).error.value_or("");
    };
    EXPECT_EQ(over(AnswerLimit::events), "the answer had more events than its limit of 80");
    EXPECT_EQ(over(AnswerLimit::bytes), "the answer had more bytes than its limit of 18160128");
    EXPECT_EQ(over(AnswerLimit::head),
              "the answer's head or trailers had more than 65536 bytes or 256 fields");
    // Secrets never stand in a record, and neither does half a one: each text is masked before it
    // is cut.
    static const std::string secret = "sk-0123456789abcdef0123456789abcdef";
    static const std::string head(id_bytes_max - 10, 'i');
    const Record crossing = record_of(
        [](Script& row) {
            const std::string text = head + secret;
            row.head(1).data(2, R"({"id":")" + text + R"(","choices":[{"index":0,"delta":)" +
                                    R"({"content":"a"},"finish_reason":")" + text + R"("}]})");
        },
        Outcome::ok, false, [](AssemblerConfig& config) { config.secrets = {secret}; });
    EXPECT_EQ(crossing.response_id, head + "***");
    EXPECT_EQ(crossing.finish_reason, head + "***");
    const Record record = record_of(
        [](Script& row) {
            row.head(1, 401).part(2, R"({"error":"Incorrect API key: sk-abc123"})");
        },
        Outcome::ok, false, [](AssemblerConfig& config) { config.secrets = {"sk-abc123"}; });
    EXPECT_EQ(record.error, "Incorrect API key: ***");
    // Where nobody answered, the error is what the kernel said.
    Assembling bench(ScriptTrace(1));
    Event end = Script::ended(0, 4, Outcome::connect_failed);
    end.end.sys_errno = ECONNREFUSED;
    const Record& other_record = Script(bench.assembler).end_with(end);
    EXPECT_EQ(values_of(other_record, "outcome, error"),
              "connect_failed, ECONNREFUSED: Connection refused");
}

}  // namespace
}  // namespace driftless
