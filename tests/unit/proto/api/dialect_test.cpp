// Bodies hold what the servers' documentation asks for; error bodies give their message.
#include "proto/api/dialect.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

// The body of a row with prompt bytes `prompt` and 4 asked tokens; checked to be JSON.
std::string body_of(Api api, const BodySpec& spec, std::string_view prompt) {
    const Result<BodyFrame> frame = dialect_of(api).make_body_frame(spec);
    if (!frame) {
        return name_of(frame.error().code);
    }
    const BodyFrame& parts = frame.value();
    std::string body = parts.before + std::string(prompt) + parts.between;
    body += (parts.has_length ? "4" : "") + parts.after;
    JsonDocument document;
    EXPECT_TRUE(document.parse(body)) << body;
    return body;
}

// The exact-length bodies that vLLM, SGLang and llama.cpp take.
TEST(Dialect, WritesExactBodies) {
    EXPECT_EQ(body_of(Api::openai_chat, {.model = "m"}, "hi"),
              R"({"model":"m","messages":[{"role":"user","content":"hi"}],)"
              R"("max_completion_tokens":4,"stream":true,"stream_options":{"include_usage":true},)"
              R"("temperature":0,"ignore_eos":true})");
    EXPECT_EQ(body_of(Api::openai_completions, {.model = "m", .prompt = PromptKind::ids}, "1,2,3"),
              R"({"model":"m","prompt":[1,2,3],"max_tokens":4,"stream":true,)"
              R"("stream_options":{"include_usage":true},"temperature":0,"ignore_eos":true})");
    EXPECT_EQ(body_of(Api::openai_completions, {.model = "a\"b"}, "hi"),
              R"({"model":"a\"b","prompt":"hi","max_tokens":4,"stream":true,)"
              R"("stream_options":{"include_usage":true},"temperature":0,"ignore_eos":true})");
}

// ignore_eos only under exact; no length under free; usage of every chunk on request; not streamed.
TEST(Dialect, FollowsTheSpec) {
    const Api api = Api::openai_completions;
    const std::string begin = R"({"model":"m","prompt":"p")";
    EXPECT_EQ(body_of(api, {.model = "m", .output = OutputRule::cap}, "p"),
              begin + R"(,"max_tokens":4,"stream":true,"stream_options":{"include_usage":true},)"
                      R"("temperature":0})");
    EXPECT_EQ(body_of(api, {.model = "m", .output = OutputRule::free}, "p"),
              begin + R"(,"stream":true,"stream_options":{"include_usage":true},"temperature":0})");
    EXPECT_EQ(body_of(api, {.model = "m", .ignore_eos = false, .continuous_usage = true}, "p"),
              begin + R"(,"max_tokens":4,"stream":true,"stream_options":{"include_usage":true,)"
                      R"("continuous_usage_stats":true},"temperature":0})");
    EXPECT_EQ(body_of(api, {.model = "", .ignore_eos = false, .stream = false}, "p"),
              R"({"prompt":"p","max_tokens":4,"temperature":0})");
}

// --extra-body adds, replaces in place, and removes by null; the length may be taken over.
TEST(Dialect, AppliesTheExtraBody) {
    const auto with = [](std::string extra) {
        return body_of(Api::openai_completions,
                       {.model = "m", .stream = false, .extra_body = std::move(extra)}, "p");
    };
    const std::string begin = R"({"model":"m","prompt":"p","max_tokens":4)";
    EXPECT_EQ(with(R"({"top_k":1,"x":{"y":[null]}})"),
              begin + R"(,"temperature":0,"ignore_eos":true,"top_k":1,"x":{"y":[null]}})");
    EXPECT_EQ(with(R"({"temperature":0.5,"ignore_eos":null,"absent":null})"),
              begin + R"(,"temperature":0.5})");
    EXPECT_EQ(with(R"({"model":"other"})"),
              R"({"model":"other","prompt":"p","max_tokens":4,"temperature":0,"ignore_eos":true})");
    EXPECT_EQ(with(R"({"max_tokens":9})"),
              R"({"model":"m","prompt":"p","temperature":0,"ignore_eos":true,"max_tokens":9})");
    EXPECT_EQ(with(R"({"max_tokens":null,"model":null})"),
              R"({"prompt":"p","temperature":0,"ignore_eos":true})");
    EXPECT_EQ(with(R"({"a\n":1})"), begin + R"(,"temperature":0,"ignore_eos":true,"a\n":1})");
    EXPECT_EQ(with("{}"), begin + R"(,"temperature":0,"ignore_eos":true})");
}

// llama.cpp's own API: its name of the length, no model, no template; ids where asked.
TEST(Dialect, WritesLlamaCppBodies) {
    EXPECT_EQ(body_of(Api::llamacpp, {.model = "m"}, "hi"),
              R"({"prompt":"hi","n_predict":4,"stream":true,"temperature":0,)"
              R"("cache_prompt":true,"ignore_eos":true})");
    EXPECT_EQ(body_of(Api::llamacpp,
                      {.prompt = PromptKind::ids,
                       .output = OutputRule::free,
                       .stream = false,
                       .extra_body = R"({"cache_prompt":false})"},
                      "1,2"),
              R"({"prompt":[1,2],"temperature":0,"cache_prompt":false})");
}

// What cannot be said is refused: no JSON, no object, the prompt itself, ids in a chat.
TEST(Dialect, RefusesImpossibleBodies) {
    const auto with = [](Api api, std::string extra) {
        return body_of(api, {.extra_body = std::move(extra)}, "p");
    };
    EXPECT_EQ(with(Api::openai_chat, "{"), "bad_json");
    EXPECT_EQ(with(Api::openai_chat, "[1]"), "invalid");
    EXPECT_EQ(with(Api::openai_chat, R"({"messages":[]})"), "invalid");
    EXPECT_EQ(with(Api::openai_completions, R"({"prompt":"x"})"), "invalid");
    EXPECT_EQ(body_of(Api::openai_chat, {.prompt = PromptKind::ids}, "1"), "invalid");
}

// By our names, by the habits of other tools, and not at all.
TEST(Dialect, IsFoundByName) {
    EXPECT_EQ(find_dialect("openai-chat")->default_path, std::string("/v1/chat/completions"));
    EXPECT_EQ(find_dialect("vllm")->default_path, std::string("/v1/completions"));
    EXPECT_EQ(find_dialect("chat"), &dialect_of(Api::openai_chat));
    EXPECT_EQ(find_dialect("grpc"), nullptr);
    EXPECT_EQ(find_dialect(""), nullptr);
    EXPECT_FALSE(dialect_of(Api::openai_chat).takes_ids);
    EXPECT_TRUE(dialect_of(Api::openai_completions).takes_ids);
}

// One body of each server that the wire-format notes list.
TEST(ErrorMessage, IsFoundInEveryShape) {
    JsonDocument document;
    const auto message = [&document](std::string_view body) {
        return error_message_of(document, body, 64);
    };
    EXPECT_EQ(message(R"({"error":{"message":"no such model","type":"NotFoundError","code":404}})"),
              "no such model");
    EXPECT_EQ(message(R"({"error":"Unauthorized"})"), "Unauthorized");
    EXPECT_EQ(message(R"({"object":"error","message":"bad","type":"BadRequestError"})"), "bad");
    EXPECT_EQ(message(R"({"detail":"Not Found"})"), "Not Found");
    EXPECT_EQ(message(R"({"detail":[{"loc":["body"],"msg":"Field required"}]})"), "Field required");
    EXPECT_EQ(message(R"({"error":{"code":3},"message":"m"})"), "m");
    EXPECT_EQ(message(R"({"error":null,"x":1})"), R"({"error":null,"x":1})");
    EXPECT_EQ(message("<html>502</html>"), "<html>502</html>");
    EXPECT_EQ(message(""), "");
    EXPECT_EQ(message("17"), "17");
}

// Cut at limit, inside a code point before it.
TEST(ErrorMessage, IsCutAtACodePoint) {
    JsonDocument document;
    EXPECT_EQ(error_message_of(document, "{\"error\":\"ab\xE2\x82\xAC\"}", 5), "ab\xE2\x82\xAC");
    EXPECT_EQ(error_message_of(document, "{\"error\":\"ab\xE2\x82\xAC\"}", 4), "ab");
    EXPECT_EQ(error_message_of(document, "ab\xE2\x82\xAC", 3), "ab");
}

// Missing is not zero, and what is no count is missing.
TEST(Usage, TellsMissingFromZero) {
    JsonDocument document;
    const auto read = [&document](std::string_view json) {
        const Usage usage = read_usage(document.parse(json).value());
        return std::to_string(usage.prompt_tokens) + " " + std::to_string(usage.completion_tokens) +
               " " + std::to_string(usage.cached_tokens);
    };
    EXPECT_EQ(read(R"({"prompt_tokens":0,"completion_tokens":1,"prompt_tokens_details":{}})"),
              "0 1 -1");
    EXPECT_EQ(read(R"({"prompt_tokens_details":{"cached_tokens":0}})"), "-1 -1 0");
    EXPECT_EQ(read(R"({"prompt_tokens":"3","completion_tokens":-7})"), "-1 -1 -1");
    EXPECT_EQ(read("null"), "-1 -1 -1");
}

}  // namespace
}  // namespace driftless
