// Records out of events.

#include "engine/record/assembler.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/record/ring.hpp"
#include "proto/api/api_template.hpp"
#include "tests/unit/engine/record/script.hpp"

namespace driftless {

// From the events of an answer to its record: stamps, token counts and texts, against streams as
// the servers of the field send them (wire captures, not our own writer).

namespace {

// The rows, the plan and the assembler of one test.
struct Bench {
    ScriptTrace input;
    Assembler assembler;
    explicit Bench(void (*change)(AssemblerConfig&) = nullptr, const char* api = "openai-chat")
        : input(4), assembler(make_config(change, api)) {
        assembler.begin({script_zero_ns});
    }
    AssemblerConfig make_config(void (*change)(AssemblerConfig&), const char* api) {
        AssemblerConfig config = input.config(api);
        if (change != nullptr) {
            change(config);
        }
        return config;
    }
};

constexpr const char* role_chunk =
    R"({"id":"chatcmpl-8f2c","object":"chat.completion.chunk","created":1795224229,"model":"m",)"
    R"("choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,)"
    R"("finish_reason":null}],"prompt_token_ids":null})";

// vLLM's chat stream, byte for byte, with all stamps of a row: the role chunk is no token, the last
// three frames come in one receive.
TEST(Assembler, StampsEveryStepOfAChatStream) {
    Bench bench;
    Script row(bench.assembler, 1, -150);
    row.fire(1'000'700);
    Event wire = Script::event(EventKind::wire, 1, 1'000'999);
    wire.wire_ns = script_zero_ns + 1'000'900;
    bench.assembler.consume(wire, {});
    bench.assembler.consume(Script::event(EventKind::sent, 1, 1'001'000), {});
    row.head(2'000'000).data(3'000'000, role_chunk).text(4'000'000, "Hel").text(5'000'000, "lo");
    row.text(6'000'000, " wor");
    row.data(8'000'000,
             R"({"id":"chatcmpl-8f2c","choices":[{"index":0,"delta":{"content":"ld"},)"
             R"("logprobs":null,"finish_reason":"length","stop_reason":null}]})",
             event_coalesced);
    row.usage(8'000'000, 4).done(8'000'000);
    const Record& record = row.end(8'000'500);
    EXPECT_EQ(record.row, 1u);
    EXPECT_EQ(record.url, "http://two/");
    EXPECT_EQ(record.api, "openai-chat");
    EXPECT_EQ(record.connection, 3u);
    EXPECT_TRUE(record.reused);
    EXPECT_EQ(record.due_ns, 1'000'000);
    EXPECT_EQ(record.armed_ns, -150);
    EXPECT_EQ(record.fired_ns, 1'000'700);
    EXPECT_EQ(record.drift_ns, 700);
    EXPECT_EQ(record.connect_ns, -1000);
    EXPECT_EQ(record.wire_ns, 1'000'900);
    EXPECT_EQ(record.sent_ns, 1'001'000);
    EXPECT_EQ(record.headers_ns, 2'000'000);
    EXPECT_EQ(record.first_byte_ns, 3'000'000);
    EXPECT_EQ(record.first_token_ns, 4'000'000);
    EXPECT_EQ(record.first_content_ns, 4'000'000);
    EXPECT_EQ(record.last_token_ns, 8'000'000);
    EXPECT_EQ(record.first_event_ns, 3'000'000);   // the role
    EXPECT_EQ(record.finish_event_ns, 8'000'000);  // on the last token
    EXPECT_EQ(record.usage_event_ns, 8'000'000);
    EXPECT_EQ(record.end_marker_ns, 8'000'000);
    EXPECT_FALSE(record.error_event_ns.has_value());
    EXPECT_EQ(record.chunk_kinds, "c4");
    EXPECT_EQ(record.done_ns, 8'000'500);
    EXPECT_EQ(record.ttft_ns, 2'999'300);
    EXPECT_EQ(record.ttft_due_ns, 3'000'000);
    EXPECT_EQ(record.e2e_ns, 6'999'300);
    EXPECT_DOUBLE_EQ(record.tpot_ns.value(), 4'000'000.0 / 3);
    EXPECT_EQ(record.chunk_ns,
              (std::vector<std::int64_t>{2'999'300, 3'999'300, 4'999'300, 6'999'300}));
    ASSERT_TRUE(record.chunk_tokens_known);
    EXPECT_EQ(record.chunk_tokens, (std::vector<std::int32_t>{1, 1, 1, 1}));
    EXPECT_EQ(record.prompt_tokens, 25);
    EXPECT_EQ(record.cached_tokens, 16);
    EXPECT_EQ(record.output_tokens, 4);
    EXPECT_EQ(record.tokens_source, TokensSource::usage);
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.status, 200);
    EXPECT_FALSE(record.error.has_value());
    EXPECT_EQ(record.finish_reason, "length");
    EXPECT_EQ(record.response_id, "chatcmpl-8f2c");
    EXPECT_EQ(record.inflight, 2u);
    EXPECT_EQ(record.coalesced_chunks, 1u);
    EXPECT_TRUE(record.tainted.empty());
    Digest digest;
    digest.add("Hello world");
    EXPECT_EQ(record.output_digest, digest.value());
    EXPECT_EQ(record.receive_delay_ns, Script::waited_ns);
    EXPECT_EQ(bench.assembler.counts().tokens, 4u);
    EXPECT_EQ(bench.assembler.rows_open(), 0u);
}

// Every way to cut the same stream into parts gives the same record.
TEST(Assembler, CutsDoNotMatter) {
    const std::string event = std::string("data: ") + role_chunk + "\n\n";
    const std::string token =
        "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\xC3\xA4\"}}]}\n\n";
    for (std::size_t cut = 1; cut < token.size(); ++cut) {
        Bench bench;
        Script row(bench.assembler);
        row.fire(0).head(10).chunk(20, event);
        row.part(25, std::string_view(token).substr(0, cut));
        row.chunk(30, std::string_view(token).substr(cut)).done(40);
        const Record& record = row.end(50);
        ASSERT_EQ(record.first_token_ns, 30) << cut;
        ASSERT_EQ(record.outcome, Outcome::ok) << cut;
        ASSERT_EQ(record.first_byte_ns, 20);
        Digest digest;
        digest.add("\xC3\xA4");
        ASSERT_EQ(record.output_digest, digest.value());
    }
}

// Reasoning starts the first token, content the first content; both are in the digest in order.
TEST(Assembler, ReasoningIsATokenAndNotContent) {
    Bench bench;
    Script row(bench.assembler);
    row.fire(0).head(10);
    row.data(20, R"({"id":"x","choices":[{"index":0,"delta":{"reasoning_content":"Let"}}]})");
    row.data(30, R"({"id":"x","choices":[{"index":0,"delta":{"reasoning":"me"}}]})");
    row.text(40, "yes").done(50);
    const Record& record = row.end(60);
    EXPECT_EQ(record.first_token_ns, 20);
    EXPECT_EQ(record.first_content_ns, 40);
    EXPECT_EQ(record.chunk_kinds, "r2c1");
    Digest digest;
    digest.add("Letmeyes");
    EXPECT_EQ(record.output_digest, digest.value());
    EXPECT_EQ(record.output_tokens, 3);
    EXPECT_EQ(record.tokens_source, TokensSource::chunks);
    EXPECT_FALSE(record.chunk_tokens_known);
}

// Continuous usage: differences are the tokens of each chunk; a token that shows no text is counted
// to the chunk after it.
TEST(Assembler, ContinuousUsageCountsEachChunk) {
    const auto with_usage = [](const char* delta, int tokens) {
        return std::string(R"({"id":"x","choices":[{"index":0,"delta":{)") + delta +
               R"(},"finish_reason":null}],"usage":{"prompt_tokens":25,"completion_tokens":)" +
               std::to_string(tokens) + "}}";
    };
    Bench bench;
    Script row(bench.assembler);
    row.fire(0).head(10).data(20, with_usage(R"("role":"assistant","content":"")", 0));
    row.data(30, with_usage(R"("content":"lo wor")", 3));
    row.data(35, with_usage("", 4));
    row.data(40, with_usage(R"("content":"ld")", 6)).done(50);
    const Record& record = row.end(60);
    ASSERT_TRUE(record.chunk_tokens_known);
    EXPECT_EQ(record.chunk_tokens, (std::vector<std::int32_t>{3, 3}));
    EXPECT_EQ(record.output_tokens, 6);
    EXPECT_EQ(record.tokens_source, TokensSource::continuous);
    EXPECT_DOUBLE_EQ(record.tpot_ns.value(), 10.0 / 5);
    EXPECT_EQ(bench.assembler.counts().tokens, 6u);
}

// Token ids count each chunk where the server sends them with all of them, and not when one lacks
// them.
TEST(Assembler, TokenIdsCountEachChunk) {
    for (const bool all : {true, false}) {
        Bench bench(nullptr, "openai-completions");
        Script row(bench.assembler);
        row.fire(0).head(10);
        row.data(20,
                 R"({"id":"cmpl-1","choices":[{"index":0,"text":"Hel","token_ids":[9906,1]}]})");
        row.data(30, all ? R"({"id":"cmpl-1","choices":[{"index":0,"text":"lo","token_ids":[7]}]})"
                         : R"({"id":"cmpl-1","choices":[{"index":0,"text":"lo"}]})");
        row.done(40);
        const Record& record = row.end(50);
        EXPECT_EQ(record.chunk_tokens_known, all);
        EXPECT_EQ(record.output_tokens, all ? 3 : 2);
        EXPECT_EQ(record.tokens_source, all ? TokensSource::ids : TokensSource::chunks);
    }
}

// More tokens than chunks and nothing that says where: no count for a chunk.
TEST(Assembler, ChunksThatAreNotTokensStayUncounted) {
    Bench bench;
    Script row(bench.assembler);
    row.fire(0).head(10).text(20, "a b").text(30, "c d").usage(40, 4).done(40);
    const Record& record = row.end(50);
    EXPECT_FALSE(record.chunk_tokens_known);
    EXPECT_EQ(record.output_tokens, 4);
    EXPECT_EQ(record.tokens_source, TokensSource::usage);
}

// The id of the first event goes before the header; the header serves where no event has one.
TEST(Assembler, ResponseIdIsTheEventsElseTheHeaders) {
    Bench bench;
    const char* fields = "content-type: text/event-stream; charset=utf-8\r\nx-request-id: abc\r\n";
    EXPECT_EQ(
        Script(bench.assembler, 0).fire(0).head(1, 200, fields).text(2, "a").end(3).response_id,
        "chatcmpl-8f2c");
    EXPECT_EQ(Script(bench.assembler, 1)
                  .fire(0)
                  .head(1, 200, fields)
                  .data(2, R"({"choices":[{"index":0,"delta":{"content":"a"}}]})")
                  .end(3)
                  .response_id,
              "abc");
}

// How long bytes may have waited, as the engine says it with the end; of a row that got none,
// nothing.
TEST(Assembler, KeepsTheReceiveDelayOfTheEnd) {
    Bench bench;
    EXPECT_EQ(Script(bench.assembler, 0).fire(0).head(10).text(300, "a").end(400).receive_delay_ns,
              Script::waited_ns);
    Event end = Script::event(EventKind::end, 1, 400);
    end.end = {};
    end.end.outcome = Outcome::truncated;
    end.waited_ns = Event::no_wait;
    Script silent(bench.assembler, 1);
    silent.fire(0);
    EXPECT_EQ(silent.end_with(end).receive_delay_ns, std::nullopt);
}

// `--save-responses 1`: the texts of the first answer that ends, and of no other.
TEST(Assembler, SavesTheFirstAnswers) {
    Bench bench([](AssemblerConfig& config) { config.save_responses = 1; });
    Script first(bench.assembler, 0);
    Script second(bench.assembler, 1);
    first.fire(0).head(1);
    second.fire(0).head(1);
    second.data(2, R"({"choices":[{"index":0,"delta":{"reasoning":"hm","content":null}}]})");
    second.data(3, R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":)"
                   R"({"name":"get_weather","arguments":""}}]}}]})");
    second.data(4, R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":)"
                   R"({"arguments":"{\"city\": \"P"}}]}}]})");
    second.text(5, "Hi");
    second.end(6);
    ASSERT_NE(bench.assembler.saved(), nullptr);
    EXPECT_EQ(bench.assembler.saved()->content, "Hi");
    EXPECT_EQ(bench.assembler.saved()->reasoning, "hm");
    EXPECT_EQ(bench.assembler.saved()->tool_text,
              R"({"name":"get_weather","arguments":""}{"arguments":"{\"city\": \"P"})");
    first.text(7, "no").end(8);
    EXPECT_EQ(bench.assembler.saved(), nullptr);
}

// Rows are strangers to each other: interleaved answers give what they would give alone.
TEST(Assembler, InterleavedRowsDoNotTouch) {
    Bench bench;
    Script good(bench.assembler, 0);
    Script bad(bench.assembler, 1);
    good.fire(0);
    bad.fire(1);
    good.head(2);
    bad.head(3).part(4, "data: {\"choices\":[{\"delta\":{\"content\":\"gar");
    good.text(5, "a");
    bad.chunk(6, "\xFF\x00 bage\n\n");
    good.text(7, "b");
    EXPECT_EQ(bad.end(8).outcome, Outcome::bad_event);
    const Record& record = good.usage(9, 4).done(9).end(10);
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.chunk_ns, (std::vector<std::int64_t>{5, 7}));
}

// Events of rows that ended, of rows that are not in the plan, and second heads are ignored.
TEST(Assembler, StrayEventsAreCountedAndIgnored) {
    Bench bench;
    Script row(bench.assembler);
    row.fire(0).head(1).text(2, "a");
    bench.assembler.consume(Script::event(EventKind::head, 0, 3), {});
    bench.assembler.consume(Script::event(EventKind::fired, 0, 3), {});  // the first one holds
    bench.assembler.consume(Script::event(EventKind::sample, 0, 3), {});
    row.end(4);
    EXPECT_EQ(bench.assembler.consume(Script::event(EventKind::end, 0, 5), {}), nullptr);
    EXPECT_EQ(bench.assembler.consume(Script::event(EventKind::end, 4, 5), {}), nullptr);
    EXPECT_EQ(bench.assembler.consume(Script::event(EventKind::chunk, 0xFFFFFFFF, 5), "x"),
              nullptr);
    EXPECT_EQ(bench.assembler.counts().stray_events, 5u);
    EXPECT_EQ(bench.assembler.counts().fired, 1u);
    EXPECT_EQ(bench.assembler.counts().ended, 1u);
}

// Rows without an end get their record at the end all the same: in flight is cancelled, the rest
// was not sent.
TEST(Assembler, EveryRowHasARecordAtTheEnd) {
    Bench bench;
    Script(bench.assembler, 2).fire(0).head(1).text(2, "a");
    Script(bench.assembler, 1).fire(0).end(3, Outcome::truncated);
    std::vector<std::pair<std::uint32_t, Outcome>> records;
    while (const Record* record = bench.assembler.next_unended()) {
        records.emplace_back(record->row, record->outcome);
        EXPECT_FALSE(record->done_ns.has_value());
        EXPECT_FALSE(record->ended_ns.has_value());  // nobody knows when
    }
    EXPECT_EQ(records,
              (std::vector<std::pair<std::uint32_t, Outcome>>{
                  {0, Outcome::not_sent}, {2, Outcome::cancelled}, {3, Outcome::not_sent}}));
    EXPECT_EQ(bench.assembler.counts().unended, 3u);
    EXPECT_EQ(bench.assembler.counts().ended, 4u);
    EXPECT_EQ(bench.assembler.rows_open(), 0u);
}

// What the trace says of a row is in its record: session, turn, kept columns, expected hits.
TEST(Assembler, CarriesWhatTheTraceSays) {
    ScriptTrace input(2);
    input.trace.sessions = {"s-9"};
    input.trace.kept = {"", R"({"type":"text"})"};
    input.trace.rows[1].session = 0;
    input.trace.rows[1].turn = 2;
    input.plan.rows[1].expected_cached_tokens = 512;
    Assembler assembler(input.config());
    assembler.begin({script_zero_ns});
    Event end = Script::event(EventKind::end, 1, 0);
    end.end = {};
    end.end.outcome = Outcome::not_sent;
    const Record& record = Script(assembler, 1).end_with(end);
    EXPECT_EQ(record.session, "s-9");
    EXPECT_EQ(record.turn, 2u);
    EXPECT_EQ(record.kept, R"({"type":"text"})");
    EXPECT_EQ(record.expected_cached_tokens, 512);
    EXPECT_EQ(record.input_length, 100u);
    EXPECT_EQ(record.url, "");
    EXPECT_FALSE(record.drift_ns.has_value());
    EXPECT_FALSE(record.output_tokens.has_value());
}

// What the dialects do to a record beyond their own files: text that repeats itself, answers that
// are not streamed, counts that stand in the head.

std::string sglang(const std::string& text, const std::string& ids, int completion,
                   const std::string& finish = "null") {
    return R"({"text":")" + text + R"(","output_ids":[)" + ids +
           R"(],"meta_info":{"id":"r","finish_reason":)" + finish +
           R"(,"prompt_tokens":100,"completion_tokens":)" + std::to_string(completion) +
           R"(,"cached_tokens":7}})";
}

constexpr const char* by_length = R"({"type":"length","length":4})";

// SGLang's text repeats itself or goes on; records cannot tell, and an event that brings neither
// text nor a token is no chunk.
TEST(Dialects, RepeatedTextIsReadOnce) {
    std::optional<std::uint64_t> digests[2];
    for (const bool repeats : {true, false}) {
        const ScriptTrace input(1);
        Assembler assembler(input.config("sglang"));
        assembler.begin({script_zero_ns});
        Script row(assembler);
        row.fire(100).head(1'000).data(2'000, sglang(" a", "1", 1));
        row.data(3'000, repeats ? sglang(" a bc", "1,2,3", 3) : sglang(" bc", "2,3", 3));
        row.data(4'000, repeats ? sglang(" a bc d", "1,2,3,4", 4) : sglang(" d", "4", 4));
        row.data(5'000, repeats ? sglang(" a bc d", "1,2,3,4", 4, by_length)
                                : sglang("", "", 4, by_length));
        const Record& record = row.done(5'000).end(6'000);
        EXPECT_EQ(record.outcome, Outcome::ok);
        EXPECT_EQ(record.chunk_ns, (std::vector<std::int64_t>{1'900, 2'900, 3'900}));
        EXPECT_EQ(record.chunk_tokens, (std::vector<std::int32_t>{1, 2, 1}));
        EXPECT_EQ(record.tokens_source, TokensSource::usage);
        EXPECT_EQ(record.output_tokens, 4);
        EXPECT_EQ(record.cached_tokens, 7);
        EXPECT_EQ(record.finish_reason, "length");
        digests[repeats ? 1 : 0] = record.output_digest;
    }
    EXPECT_EQ(digests[0], digests[1]);
}

// A described server that thinks first and repeats both texts: each is read once, and a stamp is
// that of the event in which it grew.
TEST(Dialects, RepeatedReasoningIsReadOnce) {
    std::string why;
    const Result<ApiTemplate> form = read_api_template(
        R"({"path":"/p","body":{"p":"{prompt}","n":"{output_length}"},"repeats_text":true,)"
        R"("event":{"content":"/t","reasoning":"/r","finish_reason":"/f"}})",
        why);
    ASSERT_TRUE(form) << why;
    const Dialect dialect = dialect_of(form.value());
    const ScriptTrace input(2);
    AssemblerConfig config = input.config();
    config.dialect = &dialect;
    config.save_responses = 2;
    Assembler assembler(config);
    assembler.begin({script_zero_ns});
    Script row(assembler);
    row.fire(100).head(1'000).data(2'000, R"({"r":"a"})").data(3'000, R"({"r":"a b"})");
    row.data(4'000, R"({"r":"a b","t":"c"})").data(5'000, R"({"r":"a b","t":"c d"})");
    row.data(6'000, R"({"r":"a b","t":"c d","f":"stop"})");
    const Record& record = row.end(7'000);
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.chunk_ns, (std::vector<std::int64_t>{1'900, 2'900, 3'900, 4'900}));
    EXPECT_EQ(record.first_token_ns, 2'000);
    EXPECT_EQ(record.first_content_ns, 4'000);
    EXPECT_EQ(record.output_tokens, 4);
    ASSERT_NE(assembler.saved(), nullptr);
    EXPECT_EQ(assembler.saved()->reasoning, "a b");
    EXPECT_EQ(assembler.saved()->content, "c d");

    Script thinks(assembler, 1);
    thinks.fire(100).head(1'000).data(2'000, R"({"r":"a"})").data(3'000, R"({"r":"a","f":"x"})");
    const Record& thought = thinks.end(4'000);
    EXPECT_EQ(thought.outcome, Outcome::ok);
    EXPECT_EQ(thought.output_tokens, 1);
}

// `--no-stream`: no first token and no chunk; the end, the counts and the text are there.
TEST(Dialects, WholeAnswersHaveNoFirstToken) {
    const ScriptTrace input(2);
    AssemblerConfig config = input.config("tgi");
    config.stream = false;
    Assembler assembler(config);
    assembler.begin({script_zero_ns});
    Script row(assembler);
    row.fire(100).head(1'000, 200, "Content-Type: application/json\r\nx-prompt-tokens: 100\r\n");
    row.part(2'000, R"({"generated_text":"a b c d","details":{"finish_reason":)");
    row.part(3'000, R"("length","generated_tokens":4}})");
    const Record& record = row.end(3'500);
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.prompt_tokens, 100);
    EXPECT_EQ(record.output_tokens, 4);
    EXPECT_EQ(record.tokens_source, TokensSource::usage);
    EXPECT_EQ(record.first_token_ns, std::nullopt);
    EXPECT_EQ(record.ttft_ns, std::nullopt);
    EXPECT_EQ(record.tpot_ns, std::nullopt);
    EXPECT_EQ(record.e2e_ns, 2'900);
    EXPECT_TRUE(record.chunk_ns.empty());

    Script empty(assembler, 1);
    empty.fire(100).head(1'000, 200, "Content-Type: application/json\r\n");
    empty.part(2'000, R"({"generated_text":""})");
    EXPECT_EQ(empty.end(3'000).outcome, Outcome::no_tokens);
}

// Dynamo says who answers in its first event and how long it took in its last one: both are in the
// record as they were said; what is too long is left out whole.
TEST(Dialects, WorkersAreRecorded) {
    const std::string first = R"({"choices":[{"index":0,"delta":{"content":"a"}}],"nvext":)";
    const std::string last =
        R"({"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":4},"nvext":)";
    const auto worker = [&](const std::string& id, const std::string& timing) {
        const ScriptTrace input(1);
        Assembler assembler(input.config("dynamo"));
        assembler.begin({script_zero_ns});
        Script row(assembler);
        row.fire(0).head(10).data(20, first + id + "}").data(30, last + timing + "}").done(30);
        const Record& record = row.end(40);
        EXPECT_EQ(record.outcome, Outcome::ok);
        return record.worker;
    };
    EXPECT_EQ(worker(R"({"worker_id":{"decode_worker_id":7}})", R"({"timing":{"ttft_ms":3.5}})"),
              R"({"worker_id":{"decode_worker_id":7},"timing":{"ttft_ms":3.5}})");
    EXPECT_EQ(worker("{}", R"({"timing":{"ttft_ms":3.5},"worker_id":null})"),
              R"({"timing":{"ttft_ms":3.5}})");
    EXPECT_EQ(worker("null", "7"), "");
    const auto text = [](std::size_t bytes) { return "\"" + std::string(bytes - 2, 'x') + "\""; };
    EXPECT_EQ(worker(R"({"worker_id":)" + text(worker_bytes_max) + "}", "{}"),
              R"({"worker_id":)" + text(worker_bytes_max) + "}");
    EXPECT_EQ(worker(R"({"worker_id":)" + text(worker_bytes_max + 1) + "}", "{}"), "");
}

// Ollama's lines: one event each; nothing is asked of the content type.
TEST(Dialects, LinesAreEvents) {
    const ScriptTrace input(1);
    Assembler assembler(input.config("ollama"));
    assembler.begin({script_zero_ns});
    Script row(assembler);
    row.fire(0).head(10, 200, "Content-Type: application/x-ndjson\r\n");
    row.chunk(20, "{\"response\":\"a\",\"done\":false}\n");
    row.chunk(30,
              "{\"response\":\"\",\"done\":true,\"done_reason\":\"length\","
              "\"prompt_eval_count\":100,\"eval_count\":4}\n");
    const Record& record = row.end(40);
    EXPECT_EQ(record.outcome, Outcome::ok);
    EXPECT_EQ(record.prompt_tokens_off, 0);
    EXPECT_EQ(record.output_tokens, 4);
}

// Fields of an answer's head in its record (`--record-header`): whatever they hold, and whatever
// happens to the answer, the record has every name that was asked for.

using Names = std::vector<std::string>;

// Some rows whose records keep these fields.
struct Recording {
    explicit Recording(const Names& names, std::uint32_t rows = 1, const Names& secrets = {})
        : input(rows), assembler(config(names, secrets)) {
        assembler.begin({script_zero_ns});
    }
    AssemblerConfig config(const Names& names, const Names& secrets) {
        AssemblerConfig config = input.config();
        config.record_headers = names;
        config.secrets = secrets;
        return config;
    }

    ScriptTrace input;
    Assembler assembler;
};

// What a record of row 0 says of an answer with these fields.
std::vector<RecordedHeader> recorded(const Names& names, std::string_view fields,
                                     const Names& secrets = {}) {
    Recording one_row(names, 1, secrets);
    return Script(one_row.assembler).fire(0).head(1, 429, fields).end(2).headers;
}

std::optional<std::string> one(std::string_view fields, const Names& secrets = {}) {
    const std::vector<RecordedHeader> headers = recorded({"Target-Pod"}, fields, secrets);
    EXPECT_EQ(headers.size(), 1u);
    EXPECT_EQ(headers.at(0).name, "Target-Pod");
    return headers.at(0).value;
}

// Names match in any case and are spelled as the user did; of several fields the first holds; one
// that is not there is null, an empty one is not.
TEST(RecordedHeaders, AreFoundByName) {
    EXPECT_EQ(one("target-pod: llama-7\r\n"), "llama-7");
    EXPECT_EQ(one("A: b\r\nTARGET-POD:\t llama-7 \r\ntarget-pod: other\r\n"), "llama-7");
    EXPECT_EQ(one("target-pod:\r\n"), "");
    EXPECT_EQ(one("target-pod-ip: 10.0.0.1\r\n"), std::nullopt);
    EXPECT_TRUE(recorded({}, "target-pod: llama-7\r\n").empty());
    const std::vector<RecordedHeader> two = recorded({"b", "a"}, "A: 1\r\nB: 2\r\n");
    ASSERT_EQ(two.size(), 2u);
    EXPECT_EQ(two[0].name + *two[0].value + two[1].name + *two[1].value, "b2a1");
}

// 255, 256 and 257 bytes; a code point is not cut in two.
TEST(RecordedHeaders, AreCutAtTheirLimit) {
    for (const std::size_t bytes : {recorded_header_bytes_max - 1, recorded_header_bytes_max,
                                    recorded_header_bytes_max + 1}) {
        const std::string value(bytes, 'x');
        EXPECT_EQ(one("target-pod: " + value + "\r\n"), value.substr(0, recorded_header_bytes_max));
    }
    const std::string almost(recorded_header_bytes_max - 1, 'x');
    EXPECT_EQ(one("target-pod: " + almost + "\xC3\xA4\r\n"), almost);
}

// A key that comes back is masked, before the value is cut.
TEST(RecordedHeaders, HoldNoKeys) {
    const std::string key(100, 'k');
    EXPECT_EQ(one("target-pod: pod " + key + "!\r\n", {key}), "pod ***!");
    const std::string far(recorded_header_bytes_max - 50, 'x');
    EXPECT_EQ(one("target-pod: " + far + key + "\r\n", {key}), far + "***");
}

// Nor does what an answer names itself by, wherever the key stands in it.
TEST(ResponseIds, HoldNoKeys) {
    const std::string key(100, 'k');
    for (std::size_t before = 0; before < id_bytes_max; before += 7) {
        const std::string id = "X-Request-Id: " + std::string(before, 'x') + key + "\r\n";
        Recording one_row({}, 1, {key});
        const Record& record = Script(one_row.assembler).fire(0).head(1, 200, id).done(2).end(3);
        EXPECT_EQ(record.response_id.value_or("").find('k'), std::string::npos) << before;
    }
}

// A row that never had a head names what is unknown all the same; so does one that lost it.
TEST(RecordedHeaders, AreNullWithoutAHead) {
    Recording rows({"a", "b"}, 3);
    Assembler& assembler = rows.assembler;
    Script(assembler, 0).fire(0).head(1, 200, "a: 1\r\n").end(2);
    const auto check = [](const Record& record) {
        ASSERT_EQ(record.headers.size(), 2u);
        EXPECT_EQ(record.headers[0].name, "a");
        EXPECT_FALSE(record.headers[0].value || record.headers[1].value);
    };
    check(Script(assembler, 1).fire(0).part(1, "HTTP/1.1 200 OK\r\na: 1\r\n").end(2));
    check(*assembler.next_unended());
}

// A head with a hole where our own buffer was full says nothing: what stands on both sides of the
// hole would be read as one. Its stream is a stream none the less.
TEST(RecordedHeaders, AreNullWhereTheHeadIsDamaged) {
    Recording rows({"Target-Pod"}, 2);
    const auto answer = [&](std::uint32_t row, std::uint8_t flags) {
        Script script(rows.assembler, row);
        script.fire(0).part(1, "HTTP/1.1 200 OK\r\ntarget-pod: llama-");
        script.part(1, flags != 0 ? "" : "7\r\nX-Request-Id: 1\r\nContent-Type: text/event-stream",
                    flags);
        return script.part(1, "\r\n\r\n").head(1, 200, "");
    };
    EXPECT_EQ(answer(0, 0).text(2, "a").done(3).end(4).headers.at(0).value, "llama-7");
    const Record& damaged = answer(1, event_payload_dropped).text(2, "a").done(3).end(4);
    EXPECT_EQ(damaged.headers.at(0).value, std::nullopt);
    EXPECT_EQ(damaged.outcome, Outcome::ok);
    EXPECT_EQ(damaged.tainted, (Names{std::string(taint_payload_dropped)}));
}

// Nor does one of which an entry may be missing altogether.
TEST(RecordedHeaders, AreNullWhereEntriesWereDropped) {
    Recording one_row({"Target-Pod"});
    Script row(one_row.assembler);
    row.fire(0).head(1, 200, "target-pod: lla\r\nX-Request-Id: 1\r\n").done(2);
    Event end = Script::event(EventKind::end, 0, 3);
    end.end = {};
    end.end.entries_dropped = 1;
    const Record& record = row.end_with(end);
    EXPECT_EQ(record.headers.at(0).value, std::nullopt);
    EXPECT_EQ(record.response_id, std::nullopt);
}

// Bytes that are no UTF-8, quotes and control bytes leave as JSON that can be read.
TEST(RecordedHeaders, AreJsonWhateverTheyHold) {
    Recording one_row({"Target-Pod"});
    Script row(one_row.assembler);
    std::string fields = "target-pod: ";
    for (int byte = 1; byte < 256; ++byte) {
        fields += byte == '\r' || byte == '\n' ? 'x' : static_cast<char>(byte);
    }
    std::string line;
    append_jsonl(line, row.fire(0).head(1, 200, fields + "\r\n").end(2));
    JsonDocument document;
    ASSERT_TRUE(document.parse(line));
    const Result<Record> back = read_record(document, line);
    ASSERT_TRUE(back);
    EXPECT_TRUE(back.value().headers.at(0).value->starts_with("\x01\x02\x03"));
}

// What users add to a request comes through the ring and into its record: phase, attempt, one
// token, and whether it was cut off because the time was over.

Due due_of_user(Phase phase, unsigned attempt, bool one_token) {
    Due due;
    due.due_ns = 700;
    due.request = 5;
    due.row = 1;
    due.rank = 2;
    due.parent_end_ns = 600;
    due.pass = 3;
    due.user = 9;
    due.phase = phase;
    due.attempt = static_cast<std::uint8_t>(attempt);
    due.one_token = one_token;
    due.side = attempt % 2 == 0 ? Side::b : Side::none;  // no run has both users and sides
    return due;
}

void expect_same(const Due& got, const Due& wanted) {
    EXPECT_EQ(got.due_ns, wanted.due_ns);
    EXPECT_EQ(got.request, wanted.request);
    EXPECT_EQ(got.row, wanted.row);
    EXPECT_EQ(got.rank, wanted.rank);
    EXPECT_EQ(got.failed_row, wanted.failed_row);
    EXPECT_EQ(got.parent_end_ns, wanted.parent_end_ns);
    EXPECT_EQ(got.pass, wanted.pass);
    EXPECT_EQ(got.user, wanted.user);
    EXPECT_EQ(got.phase, wanted.phase);
    EXPECT_EQ(got.attempt, wanted.attempt);
    EXPECT_EQ(got.one_token, wanted.one_token);
    EXPECT_EQ(got.side, wanted.side);
}

// Every phase, with every attempt that there may be, with and without one token alone.
template <class Use>
void for_each_due(Use use) {
    for (unsigned phase = 0; phase < phase_count; ++phase) {
        for (unsigned attempt = 0; attempt <= Due::attempts_max; ++attempt) {
            use(due_of_user(static_cast<Phase>(phase), attempt, false));
            use(due_of_user(static_cast<Phase>(phase), attempt, true));
        }
    }
}

TEST(UsersEvents, ComeThroughTheRing) {
    EventRing ring(1, 4);
    for_each_due([&ring](const Due& due) {
        ASSERT_EQ(ring.push(Event::of_armed(due, 650)), EventRing::Push::whole);
        ASSERT_NE(ring.front(), nullptr);
        EXPECT_EQ(ring.front()->kind, EventKind::armed);
        EXPECT_EQ(ring.front()->stamp_ns, 650);
        expect_same(ring.front()->armed_due(), due);
        ring.pop();
    });
}

Event cut_off(std::uint32_t request) {
    Event end;
    end.kind = EventKind::end;
    end.request = request;
    end.end = {};
    end.end.outcome = Outcome::cancelled;
    end.flags = event_censored;
    return end;
}

// A ring that drops payloads and entries marks others with flags: these keep theirs, and no more.
TEST(UsersEvents, ComeThroughAFullRing) {
    constexpr std::uint32_t rows = 16;
    EventRing ring(1, rows);
    Event chunk;
    chunk.kind = EventKind::chunk;
    while (ring.push(chunk, "abc") != EventRing::Push::entry_dropped) {
    }
    const auto due_of_row = [](std::uint32_t row) {
        Due due = due_of_user(static_cast<Phase>(row % phase_count), row % 32, row % 2 == 0);
        due.request = row;
        return due;
    };
    for (std::uint32_t row = 0; row < rows; ++row) {
        ASSERT_EQ(ring.push(Event::of_armed(due_of_row(row), 1)), EventRing::Push::whole);
        Event fired;
        fired.kind = EventKind::fired;
        fired.request = row;
        ASSERT_EQ(ring.push(fired), EventRing::Push::whole);
    }
    for (std::uint32_t row = 0; row < rows; ++row) {
        ASSERT_EQ(ring.push(cut_off(row)), EventRing::Push::whole);
    }
    std::uint32_t armed = 0;
    std::uint32_t ends = 0;
    for (; ring.front() != nullptr; ring.pop()) {
        const Event& event = *ring.front();
        if (event.kind == EventKind::armed) {
            expect_same(event.armed_due(), due_of_row(armed++));
        } else if (event.kind == EventKind::end) {
            EXPECT_EQ(event.flags, event_censored);
            ++ends;
        }
    }
    EXPECT_EQ(armed, rows);
    EXPECT_EQ(ends, rows);
}

// Users play the two rows of the trace, in so many copies.
AssemblerConfig config_of_users(const ScriptTrace& input) {
    AssemblerConfig config = input.config();
    config.requests_end = 8;
    return config;
}

// One request through the assembler; its copy of the record.
Record record_of(const Due& due, const Event& end) {
    ScriptTrace input(2);
    Assembler assembler(config_of_users(input));
    assembler.begin({script_zero_ns});
    EXPECT_EQ(assembler.consume(Event::of_armed(due, script_zero_ns + 650), {}), nullptr);
    if (end.end.outcome != Outcome::not_sent) {
        Event fired;
        fired.kind = EventKind::fired;
        fired.request = due.request;
        fired.stamp_ns = script_zero_ns + 700;
        EXPECT_EQ(assembler.consume(fired, {}), nullptr);
    }
    const Record* const record = assembler.consume(end, {});
    EXPECT_NE(record, nullptr);
    return record == nullptr ? Record{} : *record;
}

Event end_of(std::uint32_t request, Outcome outcome, std::uint8_t flags) {
    Event end = cut_off(request);
    end.stamp_ns = script_zero_ns + 900;
    end.end.outcome = outcome;
    end.flags = flags;
    return end;
}

TEST(UsersEvents, AreInTheRecord) {
    for_each_due([](const Due& due) {
        const Record record = record_of(due, end_of(due.request, Outcome::timeout_first_byte, 0));
        EXPECT_EQ(record.row, 1u);
        EXPECT_EQ(record.phase, due.phase);
        EXPECT_EQ(record.attempt, due.attempt);
        EXPECT_EQ(record.pass, 3u);
        EXPECT_EQ(record.user, 9u);
        EXPECT_EQ(record.parent_end_ns, 600);
        EXPECT_EQ(record.output_length, due.one_token ? 1u : 4u);
        EXPECT_FALSE(record.censored);
    });
}

// It had left, and the time was over; what was not sent had nothing to be cut off.
TEST(UsersEvents, TellWhatWasCutOff) {
    const Due due = due_of_user(Phase::profile, 0, false);
    const Record cut = record_of(due, end_of(due.request, Outcome::cancelled, event_censored));
    EXPECT_TRUE(cut.censored);
    EXPECT_EQ(cut.outcome, Outcome::cancelled);
    EXPECT_EQ(cut.ended_ns, 900);
    EXPECT_FALSE(record_of(due, end_of(due.request, Outcome::cancelled, 0)).censored);
    EXPECT_FALSE(
        record_of(due, end_of(due.request, Outcome::cancelled,
                              event_payload_dropped | event_coalesced | event_entries_dropped |
                                  event_keep_alive | event_unfinished))
            .censored);
    const Record unsent = record_of(due, end_of(due.request, Outcome::not_sent, event_censored));
    EXPECT_FALSE(unsent.censored);
    EXPECT_EQ(unsent.ended_ns, std::nullopt);
}

// The next attempt of a request is a request of its own, by the same number.
TEST(UsersEvents, OfOneRequestSentTwice) {
    ScriptTrace input(2);
    Assembler assembler(config_of_users(input));
    assembler.begin({script_zero_ns});
    for (unsigned attempt = 0; attempt < 3; ++attempt) {
        const Due due = due_of_user(Phase::profile, attempt, false);
        EXPECT_EQ(assembler.consume(Event::of_armed(due, script_zero_ns + 650), {}), nullptr);
        Event fired;
        fired.kind = EventKind::fired;
        fired.request = due.request;
        fired.stamp_ns = script_zero_ns + 700;
        EXPECT_EQ(assembler.consume(fired, {}), nullptr);
        const Record* const record =
            assembler.consume(end_of(due.request, Outcome::truncated, 0), {});
        ASSERT_NE(record, nullptr);
        EXPECT_EQ(record->attempt, attempt);
        EXPECT_EQ(record->request, attempt);
        EXPECT_EQ(record->fired_ns, 700);
    }
}

}  // namespace

}  // namespace driftless
