// Prompts of a preflight begin with its opener, and words that were dropped are in none.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/server/findings.hpp"

namespace driftless {

namespace {

// Until another word is set, the first of the table opens.
TEST(ProbePrompts, BeginWithTheOpener) {
    const WordTable& words = WordTable::built_in();
    const auto word = [&words](std::uint32_t index) { return std::string(words.word(index)); };
    const std::string blank(1, words.separator());
    const std::vector<std::uint32_t> two{5, 3};
    ProbePrompts prompts(words);
    EXPECT_EQ(prompts.one_word(), word(0));
    EXPECT_EQ(prompts.prompt_of({}), word(0));
    prompts.open_with(7);
    EXPECT_EQ(prompts.opener(), 7U);
    EXPECT_EQ(prompts.prompt_of(two), word(7) + blank + word(5) + blank + word(3));
}

TEST(ProbePrompts, LeaveOutDroppedWords) {
    const WordTable& words = WordTable::built_in();
    const ProbePrompts prompts(words);
    EXPECT_EQ(prompts.words_without({}).size(), words.size());
    const std::vector<std::uint32_t> dropped{0, 2, words.size() - 1};
    const std::vector<std::uint32_t> kept = prompts.words_without(dropped);
    ASSERT_EQ(kept.size(), words.size() - 3);
    EXPECT_EQ(kept[0], 1U);
    EXPECT_EQ(kept[1], 3U);
    EXPECT_EQ(kept.back(), words.size() - 2);
}

// What one answer to a probe says is read whole, and no impossible number is believed.

Reply reply_of(std::string body, const std::string& fields = "") {
    Reply reply;
    reply.status = 200;
    reply.head = "HTTP/1.1 200 OK\r\n" + fields + "\r\n";
    reply.body = std::move(body);
    return reply;
}

std::int64_t prompt_tokens(const std::string& reported) {
    const std::string event =
        R"(data: {"id":"r","choices":[],"usage":{"prompt_tokens":)" + reported + "}}\n\n";
    return read_probe(dialect_of(Api::openai_chat), true, reply_of(event)).prompt_tokens;
}

TEST(Probe, BelievesNoImpossibleCount) {
    EXPECT_EQ(prompt_tokens("17"), 17);
    EXPECT_EQ(prompt_tokens("134217728"), tokens_reported_max);
    for (const char* reported : {"134217729", "4294967300", "9223372036854775807", "-5", "\"5\""}) {
        EXPECT_EQ(prompt_tokens(reported), -1) << reported;
    }
    const auto by_head = [](const char* field) {
        const Reply reply = reply_of(R"({"generated_text":"a"})", field);
        return read_probe(dialect_of(Api::tgi), false, reply).prompt_tokens;
    };
    EXPECT_EQ(by_head("x-prompt-tokens: 12\r\n"), 12);
    EXPECT_EQ(by_head("x-prompt-tokens: -5\r\n"), -1);
    EXPECT_EQ(by_head("x-prompt-tokens: 4294967300\r\n"), -1);
    EXPECT_EQ(by_head(""), -1);
}

// A stream is enough once it is clearly longer than asked, however it is split; comments and empty
// events are no tokens, and without a number any length is right.
TEST(Probe, StopsAStreamThatIsTooLong) {
    const std::string token = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    const std::string role =
        "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n: ping\n\n";
    for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{100'000}}) {
        LengthWatch watch;
        const BodyWatch body = watch.begin(dialect_of(Api::openai_chat), 3);
        std::string whole = role;
        for (std::uint32_t i = 0; i < 3 + LengthWatch::chunks_past; ++i) {
            whole += token + role;
        }
        for (const int asked : {1, 2}) {  // the first time it broke off
            std::size_t shown = 0;
            for (std::size_t end = step; end < whole.size(); shown = end, end += step) {
                EXPECT_FALSE(body.is_enough(body.owner, whole.substr(0, end), shown)) << asked;
            }
            EXPECT_FALSE(body.is_enough(body.owner, whole, shown)) << asked;
        }
        const std::size_t shown = whole.size();
        whole += token;
        EXPECT_TRUE(body.is_enough(body.owner, whole, shown)) << step;
        EXPECT_EQ(watch.begin(dialect_of(Api::openai_chat), 0).owner, nullptr);
    }
}

// Dynamo's /v1/messages: what stands in message_start is an estimate, in message_delta the count.
TEST(Probe, TakesTheLastCountAsARecordDoes) {
    const std::string body =
        "event: message_start\ndata: "
        R"({"type":"message_start","message":{"id":"m","usage":{"input_tokens":51,)"
        R"("output_tokens":0}}})"
        "\n\nevent: content_block_delta\ndata: "
        R"({"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}})"
        "\n\nevent: message_delta\ndata: "
        R"({"type":"message_delta","delta":{"stop_reason":"max_tokens"},)"
        R"("usage":{"input_tokens":20,"output_tokens":1}})"
        "\n\n";
    const Probe probe = read_probe(dialect_of(Api::anthropic), true, reply_of(body));
    EXPECT_EQ(probe.prompt_tokens, 20);
    EXPECT_EQ(probe.completion_tokens, 1);
    EXPECT_EQ(probe.made(), 1);
}

// What keeps every row from being read is seen in one answer (wire-formats.md, section 1).
TEST(Probe, SeesWhatNoRowCanBeReadFrom) {
    const Dialect& chat = dialect_of(Api::openai_chat);
    const std::string answer = R"({"choices":[{"message":{"content":"a"}}]})";
    const std::string events = R"(data: {"choices":[{"delta":{"content":"a"}}]})"
                               "\n\n";
    const auto seen = [&](bool stream, const std::string& body, const std::string& fields) {
        const Probe probe = read_probe(chat, stream, reply_of(body, fields));
        EXPECT_EQ(probe.ok, probe.unreadable == Unreadable::no) << body;
        return probe.unreadable;
    };
    const std::string streamed = "Content-Type: Text/Event-Stream; charset=utf-8\r\n";
    const std::string json = "Content-Type: application/json\r\n";
    EXPECT_EQ(seen(true, events, ""), Unreadable::no);
    EXPECT_EQ(seen(true, events, streamed), Unreadable::no);
    EXPECT_EQ(seen(true, events, "Content-Encoding: identity\r\n"), Unreadable::no);
    EXPECT_EQ(seen(true, events, "Content-Encoding: zstd\r\n"), Unreadable::encoded);
    EXPECT_EQ(seen(false, answer, "Content-Encoding: gzip\r\n"), Unreadable::encoded);
    EXPECT_EQ(seen(true, events, json), Unreadable::no);  // its first bytes decide
    EXPECT_EQ(seen(true, "<html>", ""), Unreadable::foreign);
    EXPECT_EQ(seen(true, R"({"oops":1})", json), Unreadable::foreign);
    EXPECT_EQ(seen(false, events, json), Unreadable::not_whole);
    EXPECT_EQ(seen(true, answer, json), Unreadable::not_a_stream);
    EXPECT_EQ(seen(true, answer, streamed), Unreadable::not_a_stream);
    EXPECT_EQ(seen(false, answer, json), Unreadable::no);
    EXPECT_EQ(seen(false, events, streamed), Unreadable::not_whole);
    const Reply lines = reply_of(R"({"response":"a","done":false})", json);
    EXPECT_EQ(read_probe(dialect_of(Api::ollama), true, lines).unreadable, Unreadable::no);
}

// Lines of the pages of vLLM, of Dynamo's frontend, of SGLang and of llm-d-inference-sim.
TEST(Probe, ReadsTheCacheBlockOfMetrics) {
    EXPECT_EQ(
        read_cache_block("# TYPE vllm:cache_config_info gauge\n"
                         "vllm:cache_config_info{_block_size_resolved=\"True\",block_size=\"128\","
                         "hash_block_size=\"None\"} 1.0\n"),
        128);
    EXPECT_EQ(
        read_cache_block("vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"4096\"} 1"),
        16);
    EXPECT_EQ(
        read_cache_block("a 1\ndynamo_frontend_model_kv_cache_block_size{model=\"tiny\"} 16\n"),
        16);
    EXPECT_EQ(read_cache_block("# HELP sglang:page_size KV cache page size in tokens.\n"
                               "sglang:page_size{engine_type=\"unified\",pp_rank=\"0\"} 64.0\n"),
              64);
    for (const char* page : {"", "x", "vllm:cache_config_info{block_size=\"None\"} 1",
                             "sglang:page_size 0", "# vllm:cache_config_info{block_size=\"16\"}"}) {
        EXPECT_EQ(read_cache_block(page), -1) << page;
    }
}

TEST(Probe, BelievesNoImpossibleContext) {
    EXPECT_EQ(read_context(R"({"max_total_tokens":4096})"), 4096);
    EXPECT_EQ(read_context(R"({"default_generation_settings":{"n_ctx":2048}})"), 2048);
    for (const char* reported :
         {"134217729", "9223372036854775807", "-9223372036854775808", "null"}) {
        EXPECT_EQ(read_context(R"({"max_total_tokens":)" + std::string(reported) + "}"), -1)
            << reported;
    }
}

}  // namespace

}  // namespace driftless
