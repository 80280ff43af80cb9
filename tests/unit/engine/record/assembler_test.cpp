// Records out of events.

#include "engine/record/assembler.hpp"

#include "proto/api/api_template.hpp"
#include "tests/unit/engine/record/script.hpp"

namespace driftless {

// From the events of an answer to its record: stamps, token counts and texts, against streams as
// the servers of the field send them (wire captures, not our own writer).

namespace {

constexpr const char* role_chunk =
    R"({"id":"chatcmpl-8f2c","object":"chat.completion.chunk","created":1795224229,"model":"m",)"
    R"("choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,)"
    R"("finish_reason":null}],"prompt_token_ids":null})";

// vLLM's chat stream, byte for byte, with all stamps of a row: the role chunk is no token, the last
// three frames come in one receive.
TEST(Assembler, StampsEveryStepOfAChatStream) {
    Assembling bench(ScriptTrace(4));
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
    EXPECT_EQ(values_of(record, "row, url, api, connection, reused, due_ns, armed_ns"),
              "1, http://two/, openai-chat, 3, true, 1000000, -150");
    EXPECT_EQ(
        values_of(record,
                  "fired_ns, drift_ns, connect_ns, wire_ns, sent_ns, headers_ns, first_byte_ns"),
        "1000700, 700, -1000, 1000900, 1001000, 2000000, 3000000");
    EXPECT_EQ(values_of(record, "first_token_ns, first_content_ns, last_token_ns"),
              "4000000, 4000000, 8000000");
    EXPECT_EQ(record.first_event_ns, 3'000'000);   // the role
    EXPECT_EQ(record.finish_event_ns, 8'000'000);  // on the last token
    EXPECT_EQ(values_of(record,
                        "usage_event_ns, end_marker_ns, error_event_ns, chunk_kinds, done_ns, "
                        "ttft_ns, ttft_due_ns"),
              "8000000, 8000000, null, c4, 8000500, 2999300, 3000000");
    EXPECT_EQ(record.e2e_ns, 6'999'300);
    EXPECT_DOUBLE_EQ(record.tpot_ns.value(), 4'000'000.0 / 3);
    EXPECT_EQ(record.chunk_ns,
              (std::vector<std::int64_t>{2'999'300, 3'999'300, 4'999'300, 6'999'300}));
    ASSERT_TRUE(record.chunk_tokens_known);
    EXPECT_EQ(values_of(record,
                        "chunk_tokens, prompt_tokens, cached_tokens, output_tokens, tokens_source, "
                        "outcome, status"),
              "[1,1,1,1], 25, 16, 4, usage, ok, 200");
    EXPECT_EQ(
        values_of(record, "error, finish_reason, response_id, inflight, coalesced_chunks, tainted"),
        "null, length, chatcmpl-8f2c, 2, 1, null");
    Digest digest;
    digest.add("Hello world");
    EXPECT_EQ(record.output_digest, digest.value());
    EXPECT_EQ(record.receive_delay_ns, Script::waited_ns);
    EXPECT_EQ(bench.assembler.counts().tokens, 4u);
    EXPECT_EQ(bench.assembler.rows_open(), 0u);
}

// Every way to cut the same stream into parts gives the same record.
TEST(Assembler, CutsDoNotMatterAndEachTokenIsCounted) {
    const std::string event = std::string("data: ") + role_chunk + "\n\n";
    const std::string token =
        "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\xC3\xA4\"}}]}\n\n";
    for (std::size_t cut = 1; cut < token.size(); ++cut) {
        OneRow row;
        row.fire(0).head(10).chunk(20, event);
        row.part(25, std::string_view(token).substr(0, cut));
        row.chunk(30, std::string_view(token).substr(cut)).done(40);
        const Record& record = row.end(50);
        EXPECT_EQ(values_of(record, "first_token_ns, outcome, first_byte_ns"), "30, ok, 20") << cut;
        Digest digest;
        digest.add("\xC3\xA4");
        ASSERT_EQ(record.output_digest, digest.value());
    }
    // Reasoning starts the first token, content the first content; both are in the digest in order.
    OneRow row;
    row.fire(0).head(10);
    row.data(20, R"({"id":"x","choices":[{"index":0,"delta":{"reasoning_content":"Let"}}]})");
    row.data(30, R"({"id":"x","choices":[{"index":0,"delta":{"reasoning":"me"}}]})");
    row.text(40, "yes").done(50);
    const Record& record = row.end(60);
    EXPECT_EQ(values_of(record, "first_token_ns, first_content_ns, chunk_kinds"), "20, 40, r2c1");
    Digest digest;
    digest.add("Letmeyes");
    EXPECT_EQ(record.output_digest, digest.value());
    EXPECT_EQ(values_of(record, "output_tokens, tokens_source"), "3, chunks");
    EXPECT_FALSE(record.chunk_tokens_known);
    // Continuous usage: differences are the tokens of each chunk; a token that shows no text is
    // counted to the chunk after it.
    const auto with_usage = [](const char* delta, int tokens) {
        return std::string(R"({"id":"x","choices":[{"index":0,"delta":{)") + delta +
               R"(},"finish_reason":null}],"usage":{"prompt_tokens":25,"completion_tokens":)" +
               std::to_string(tokens) + "}}";
    };
    OneRow other_row;
    other_row.fire(0).head(10).data(20, with_usage(R"("role":"assistant","content":"")", 0));
    other_row.data(30, with_usage(R"("content":"lo wor")", 3));
    other_row.data(35, with_usage("", 4));
    other_row.data(40, with_usage(R"("content":"ld")", 6)).done(50);
    const Record& other_record = other_row.end(60);
    ASSERT_TRUE(other_record.chunk_tokens_known);
    EXPECT_EQ(values_of(other_record, "chunk_tokens, output_tokens, tokens_source"),
              "[3,3], 6, continuous");
    EXPECT_DOUBLE_EQ(other_record.tpot_ns.value(), 10.0 / 5);
    EXPECT_EQ(other_row.assembler.counts().tokens, 6u);
}

// Token ids count each chunk where the server sends them with all of them, and not when one lacks
// them.
TEST(Assembler, TokenIdsCountEachChunk) {
    for (const bool all : {true, false}) {
        OneRow row("openai-completions");
        row.fire(0).head(10);
        row.data(20,
                 R"({"id":"cmpl-1","choices":[{"index":0,"text":"Hel","token_ids":[9906,1]}]})");
        row.data(30, all ? R"({"id":"cmpl-1","choices":[{"index":0,"text":"lo","token_ids":[7]}]})"
                         : R"({"id":"cmpl-1","choices":[{"index":0,"text":"lo"}]})");
        row.done(40);
        const Record& record = row.end(50);
        EXPECT_EQ(std::tuple(record.chunk_tokens_known, record.output_tokens, record.tokens_source),
                  std::tuple(all, all ? 3 : 2, all ? TokensSource::ids : TokensSource::chunks));
    }
    // More tokens than chunks and nothing that says where: no count for a chunk.
    OneRow row;
    row.fire(0).head(10).text(20, "a b").text(30, "c d").usage(40, 4).done(40);
    const Record& record = row.end(50);
    EXPECT_FALSE(record.chunk_tokens_known);
    EXPECT_EQ(values_of(record, "output_tokens, tokens_source"), "4, usage");
}

// The id of the first event goes before the header; the header serves where no event has one.
TEST(Assembler, TakesTheResponseIdAndTheReceiveDelay) {
    Assembling bench(ScriptTrace(4));
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
    // How long bytes may have waited, as the engine says it with the end; of a row that got none,
    // nothing.
    Assembling other_bench(ScriptTrace(4));
    EXPECT_EQ(
        Script(other_bench.assembler, 0).fire(0).head(10).text(300, "a").end(400).receive_delay_ns,
        Script::waited_ns);
    Event end = Script::ended(1, 400, Outcome::truncated);
    end.waited_ns = Event::no_wait;
    Script silent(other_bench.assembler, 1);
    silent.fire(0);
    EXPECT_EQ(silent.end_with(end).receive_delay_ns, std::nullopt);
}

// `--save-responses 1`: the texts of the first answer that ends, and of no other.
TEST(Assembler, SavesTheFirstAnswers) {
    Assembling bench(ScriptTrace(4), "openai-chat",
                     [](AssemblerConfig& config) { config.save_responses = 1; });
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
TEST(Assembler, InterleavedRowsAndStrayEventsDoNotTouch) {
    Assembling bench(ScriptTrace(4));
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
    EXPECT_EQ(values_of(good.usage(9, 4).done(9).end(10), "outcome, chunk_ns"), "ok, [5,7]");
    // Events of rows that ended, of rows that are not in the plan, and second heads are ignored.
    OneRow row;
    row.fire(0).head(1).text(2, "a");
    row.assembler.consume(Script::event(EventKind::head, 0, 3), {});
    row.assembler.consume(Script::event(EventKind::fired, 0, 3), {});  // the first one holds
    row.assembler.consume(Script::event(EventKind::sample, 0, 3), {});
    row.end(4);
    EXPECT_EQ(row.assembler.consume(Script::event(EventKind::end, 0, 5), {}), nullptr);
    EXPECT_EQ(row.assembler.consume(Script::event(EventKind::end, 4, 5), {}), nullptr);
    EXPECT_EQ(row.assembler.consume(Script::event(EventKind::chunk, 0xFFFFFFFF, 5), "x"), nullptr);
    EXPECT_EQ(row.assembler.counts().stray_events, 5u);
    EXPECT_EQ(row.assembler.counts().fired, 1u);
    EXPECT_EQ(row.assembler.counts().ended, 1u);
}

// Rows without an end get their record at the end all the same: in flight is cancelled, the rest
// was not sent.
TEST(Assembler, EveryRowHasARecordOfWhatTheTraceSays) {
    Assembling bench(ScriptTrace(4));
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
    // What the trace says of a row is in its record: session, turn, kept columns, expected hits.
    ScriptTrace input(2);
    input.trace.sessions = {"s-9"};
    input.trace.kept = {"", R"({"type":"text"})"};
    input.trace.rows[1].session = 0;
    input.trace.rows[1].turn = 2;
    input.plan.rows[1].expected_cached_tokens = 512;
    Assembling other_bench(input);
    const Record& record =
        Script(other_bench.assembler, 1).end_with(Script::ended(1, 0, Outcome::not_sent));
    EXPECT_EQ(values_of(record, "session, turn"), "s-9, 2");
    EXPECT_EQ(record.kept, R"({"type":"text"})");
    EXPECT_EQ(
        values_of(record, "expected_cached_tokens, input_length, url, drift_ns, output_tokens"),
        "512, 100, null, null, null");
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
        OneRow row("sglang");
        row.fire(100).head(1'000).data(2'000, sglang(" a", "1", 1));
        row.data(3'000, repeats ? sglang(" a bc", "1,2,3", 3) : sglang(" bc", "2,3", 3));
        row.data(4'000, repeats ? sglang(" a bc d", "1,2,3,4", 4) : sglang(" d", "4", 4));
        row.data(5'000, repeats ? sglang(" a bc d", "1,2,3,4", 4, by_length)
                                : sglang("", "", 4, by_length));
        const Record& record = row.done(5'000).end(6'000);
        EXPECT_EQ(values_of(record,
                            "outcome, chunk_ns, chunk_tokens, tokens_source, output_tokens, "
                            "cached_tokens, finish_reason"),
                  "ok, [1900,2900,3900], [1,2,1], usage, 4, 7, length");
        digests[repeats ? 1 : 0] = record.output_digest;
    }
    EXPECT_EQ(digests[0], digests[1]);
    // A described server that thinks first and repeats both texts: each is read once, and a stamp
    // is that of the event in which it grew.
    std::string why;
    const Result<ApiTemplate> form = read_api_template(
        R"({"path":"/p","body":{"p":"{prompt}","n":"{output_length}"},"repeats_text":true,)"
        R"("event":{"content":"/t","reasoning":"/r","finish_reason":"/f"}})",
        why);
    ASSERT_TRUE(form) << why;
    const Dialect dialect = dialect_of(form.value());
    OneRow row("openai-chat", [&](AssemblerConfig& config) {
        config.dialect = &dialect;
        config.save_responses = 2;
    });
    row.fire(100).head(1'000).data(2'000, R"({"r":"a"})").data(3'000, R"({"r":"a b"})");
    row.data(4'000, R"({"r":"a b","t":"c"})").data(5'000, R"({"r":"a b","t":"c d"})");
    row.data(6'000, R"({"r":"a b","t":"c d","f":"stop"})");
    EXPECT_EQ(values_of(row.end(7'000),
                        "outcome, chunk_ns, first_token_ns, first_content_ns, output_tokens"),
              "ok, [1900,2900,3900,4900], 2000, 4000, 4");
    ASSERT_NE(row.assembler.saved(), nullptr);
    EXPECT_EQ(row.assembler.saved()->reasoning, "a b");
    EXPECT_EQ(row.assembler.saved()->content, "c d");

    Script thinks(row.assembler, 1);
    thinks.fire(100).head(1'000).data(2'000, R"({"r":"a"})").data(3'000, R"({"r":"a","f":"x"})");
    EXPECT_EQ(values_of(thinks.end(4'000), "outcome, output_tokens"), "ok, 1");
}

// `--no-stream`: no first token and no chunk; the end, the counts and the text are there.
TEST(Dialects, WholeAnswersHaveNoFirstToken) {
    OneRow row("tgi", [&](AssemblerConfig& config) { config.stream = false; });
    row.fire(100).head(1'000, 200, "Content-Type: application/json\r\nx-prompt-tokens: 100\r\n");
    row.part(2'000, R"({"generated_text":"a b c d","details":{"finish_reason":)");
    row.part(3'000, R"("length","generated_tokens":4}})");
    const Record& record = row.end(3'500);
    EXPECT_EQ(
        values_of(record,
                  "outcome, prompt_tokens, output_tokens, tokens_source, first_token_ns, ttft_ns"),
        "ok, 100, 4, usage, null, null");
    EXPECT_EQ(std::tuple(record.tpot_ns, record.e2e_ns), std::tuple(std::nullopt, 2'900));
    EXPECT_TRUE(record.chunk_ns.empty());

    Script empty(row.assembler, 1);
    empty.fire(100).head(1'000, 200, "Content-Type: application/json\r\n");
    empty.part(2'000, R"({"generated_text":""})");
    EXPECT_EQ(empty.end(3'000).outcome, Outcome::no_tokens);
}

// Dynamo says who answers in its first event and how long it took in its last one: both are in the
// record as they were said; what is too long is left out whole.
TEST(Dialects, TellWorkersAndTakeLinesForEvents) {
    const std::string first = R"({"choices":[{"index":0,"delta":{"content":"a"}}],"nvext":)";
    const std::string last =
        R"({"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":4},"nvext":)";
    const auto worker = [&](const std::string& id, const std::string& timing) {
        OneRow row("dynamo");
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
    // Ollama's lines: one event each; nothing is asked of the content type.
    OneRow row("ollama");
    row.fire(0).head(10, 200, "Content-Type: application/x-ndjson\r\n");
    row.chunk(20, "{\"response\":\"a\",\"done\":false}\n");
    row.chunk(30,
              "{\"response\":\"\",\"done\":true,\"done_reason\":\"length\","
              "\"prompt_eval_count\":100,\"eval_count\":4}\n");
    EXPECT_EQ(values_of(row.end(40), "outcome, prompt_tokens_off, output_tokens"), "ok, 0, 4");
}

// Fields of an answer's head in its record (`--record-header`): whatever they hold, and whatever
// happens to the answer, the record has every name that was asked for.

using Names = std::vector<std::string>;

// Some rows whose records keep these fields.
struct Recording : Assembling {
    explicit Recording(const Names& names, std::uint32_t rows = 1, const Names& secrets = {})
        : Assembling(ScriptTrace(rows), "openai-chat", [&](AssemblerConfig& config) {
              config.record_headers = names;
              config.secrets = secrets;
          }) {}
};

// What a record of row 0 says of an answer with these fields.
std::vector<RecordedHeader> recorded(const Names& names, std::string_view fields,
                                     const Names& secrets = {}) {
    Recording one_row(names, 1, secrets);
    return Script(one_row.assembler).fire(0).head(1, 429, fields).end(2).headers;
}

std::optional<std::string> one(std::string_view fields, const Names& secrets = {}) {
    const std::vector<RecordedHeader> headers = recorded({"Target-Pod"}, fields, secrets);
    EXPECT_EQ(std::tuple(headers.size(), headers.at(0).name), std::tuple(1u, "Target-Pod"));
    return headers.at(0).value;
}

// Names match in any case and are spelled as the user did; of several fields the first holds; one
// that is not there is null, an empty one is not.
TEST(RecordedHeaders, AreFoundByName) {
    expect_each([&](auto in) { return one(in); }, gives("target-pod: llama-7\r\n", "llama-7"),
                gives("A: b\r\nTARGET-POD:\t llama-7 \r\ntarget-pod: other\r\n", "llama-7"),
                gives("target-pod:\r\n", ""), gives("target-pod-ip: 10.0.0.1\r\n", std::nullopt));
    EXPECT_TRUE(recorded({}, "target-pod: llama-7\r\n").empty());
    const std::vector<RecordedHeader> two = recorded({"b", "a"}, "A: 1\r\nB: 2\r\n");
    ASSERT_EQ(two.size(), 2u);
    EXPECT_EQ(two[0].name + *two[0].value + two[1].name + *two[1].value, "b2a1");
    // 255, 256 and 257 bytes; a code point is not cut in two.
    for (const std::size_t bytes : {recorded_header_bytes_max - 1, recorded_header_bytes_max,
                                    recorded_header_bytes_max + 1}) {
        const std::string value(bytes, 'x');
        EXPECT_EQ(one("target-pod: " + value + "\r\n"), value.substr(0, recorded_header_bytes_max));
    }
    const std::string almost(recorded_header_bytes_max - 1, 'x');
    EXPECT_EQ(one("target-pod: " + almost + "\xC3\xA4\r\n"), almost);
    // A key that comes back is masked, before the value is cut.
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
TEST(RecordedHeaders, AreNullWhereTheHeadIsNotWhole) {
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
    // A head with a hole where our own buffer was full says nothing: what stands on both sides of
    // the hole would be read as one. Its stream is a stream none the less.
    Recording two({"Target-Pod"}, 2);
    const auto answer = [&](std::uint32_t row, std::uint8_t flags) {
        Script script(two.assembler, row);
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
    // Nor does one of which an entry may be missing altogether.
    Recording one_row({"Target-Pod"});
    Script row(one_row.assembler);
    row.fire(0).head(1, 200, "target-pod: lla\r\nX-Request-Id: 1\r\n").done(2);
    Event end = Script::ended(0, 3);
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
    const std::string line = jsonl_of(row.fire(0).head(1, 200, fields + "\r\n").end(2));
    JsonDocument document;
    ASSERT_TRUE(document.parse(line));
    const Record back = read_record(document, line).value();
    EXPECT_TRUE(back.headers.at(0).value->starts_with("\x01\x02\x03"));
}

// What users add to a request comes through the ring and into its record: phase, attempt, one
// token, and whether it was cut off because the time was over.

Due due_of_user(Phase phase, unsigned attempt, bool one_token) {
    Due due{.due_ns = 700,
            .request = 5,
            .row = 1,
            .rank = 2,
            .parent_end_ns = 600,
            .pass = 3,
            .user = 9,
            .phase = phase,
            .attempt = static_cast<std::uint8_t>(attempt),
            .one_token = one_token};
    due.side = attempt % 2 == 0 ? Side::b : Side::none;  // no run has both users and sides
    return due;
}

auto parts_of(const Due& due) {
    return std::tuple(due.due_ns, due.request, due.row, due.rank, due.failed_row, due.parent_end_ns,
                      due.pass, due.user, due.phase, due.attempt, due.one_token, due.side);
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
        EXPECT_EQ(parts_of(ring.front()->armed_due()), parts_of(due));
        ring.pop();
    });
}

Event end_of(std::uint32_t request, Outcome outcome, std::uint8_t flags) {
    Event end = Script::ended(request, 900, outcome);
    end.flags = flags;
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
        ASSERT_EQ(ring.push(end_of(row, Outcome::cancelled, event_censored)),
                  EventRing::Push::whole);
    }
    std::uint32_t armed = 0;
    std::uint32_t ends = 0;
    for (; ring.front() != nullptr; ring.pop()) {
        const Event& event = *ring.front();
        if (event.kind == EventKind::armed) {
            EXPECT_EQ(parts_of(event.armed_due()), parts_of(due_of_row(armed++)));
        } else if (event.kind == EventKind::end) {
            EXPECT_EQ(event.flags, event_censored);
            ++ends;
        }
    }
    EXPECT_EQ(std::tuple(armed, ends), std::tuple(rows, rows));
}

// Users play the two rows of the trace, in so many copies.
struct UsersRows : Assembling {
    UsersRows()
        : Assembling(ScriptTrace(2), "openai-chat",
                     [](AssemblerConfig& config) { config.requests_end = 8; }) {}

    // One request; its copy of the record.
    Record record_of(const Due& due, const Event& end) {
        EXPECT_EQ(assembler.consume(Event::of_armed(due, script_zero_ns + 650), {}), nullptr);
        if (end.end.outcome != Outcome::not_sent) {
            const Event fired = Script::event(EventKind::fired, due.request, 700);
            EXPECT_EQ(assembler.consume(fired, {}), nullptr);
        }
        const Record* const record = assembler.consume(end, {});
        EXPECT_NE(record, nullptr);
        return record == nullptr ? Record{} : *record;
    }
};

Record record_of(const Due& due, const Event& end) {
    return UsersRows().record_of(due, end);
}

TEST(UsersEvents, AreInTheRecordForEachAttempt) {
    for_each_due([](const Due& due) {
        const Record record = record_of(due, end_of(due.request, Outcome::timeout_first_byte, 0));
        EXPECT_EQ(std::tuple(record.row, record.phase, record.attempt),
                  std::tuple(1u, due.phase, due.attempt));
        EXPECT_EQ(values_of(record, "pass, user, parent_end_ns"), "3, 9, 600");
        EXPECT_EQ(record.output_length, due.one_token ? 1u : 4u);
        EXPECT_FALSE(record.censored);
    });
    // It had left, and the time was over; what was not sent had nothing to be cut off.
    const Due due = due_of_user(Phase::profile, 0, false);
    const Record cut = record_of(due, end_of(due.request, Outcome::cancelled, event_censored));
    EXPECT_EQ(values_of(cut, "censored, outcome, ended_ns"), "true, cancelled, 900");
    EXPECT_FALSE(record_of(due, end_of(due.request, Outcome::cancelled, 0)).censored);
    EXPECT_FALSE(
        record_of(due, end_of(due.request, Outcome::cancelled,
                              event_payload_dropped | event_coalesced | event_entries_dropped |
                                  event_keep_alive | event_unfinished))
            .censored);
    const Record unsent = record_of(due, end_of(due.request, Outcome::not_sent, event_censored));
    EXPECT_EQ(values_of(unsent, "censored, ended_ns"), "false, null");
    // The next attempt of a request is a request of its own, by the same number.
    UsersRows rows;
    for (unsigned attempt = 0; attempt < 3; ++attempt) {
        const Due other_due = due_of_user(Phase::profile, attempt, false);
        const Record record =
            rows.record_of(other_due, end_of(other_due.request, Outcome::truncated, 0));
        EXPECT_EQ(std::tuple(record.attempt, record.request), std::tuple(attempt, attempt));
        EXPECT_EQ(record.fired_ns, 700);
    }
}

}  // namespace
}  // namespace driftless
