// From the events of an answer to its record: stamps, token counts and texts, against streams as
// the servers of the field send them (wire captures, not our own writer).
#include "engine/record/assembler.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/engine/record/script.hpp"

namespace driftless {
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

}  // namespace
}  // namespace driftless
