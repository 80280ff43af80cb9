// What the dialects do to a record beyond their own files: text that repeats itself, answers that
// are not streamed, counts that stand in the head.
#include <gtest/gtest.h>

#include <string>

#include "engine/record/assembler.hpp"
#include "proto/api/api_template.hpp"
#include "tests/unit/engine/record/script.hpp"

namespace driftless {
namespace {

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

}  // namespace
}  // namespace driftless
