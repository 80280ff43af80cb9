// Refusals as servers word them (wire-formats.md, sections 1.2 and 1.7) get the remedy that fits;
// what a server lacks names the flag of its kind, and only of its kind.
#include "engine/server/findings.hpp"

#include <gtest/gtest.h>

#include "proto/api/api_template.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

TEST(Hints, NameTheFlagOfTheServersKind) {
    struct Case {
        const char* owned_by;
        const char* server;
        bool has_usage;
        const char* flag;  // nullptr: a hint without one
    };
    for (const Case& one :
         {Case{"vllm", "uvicorn", true, "--enable-prompt-tokens-details"},
          Case{"sglang", "uvicorn", true, "--enable-cache-report"},
          Case{"vllm", "", false, "--enable-force-include-usage"},
          Case{"me", "uvicorn", true, nullptr}, Case{"", "llama.cpp", false, nullptr},
          Case{"vllm", "fasthttp", true, nullptr}}) {  // llm-d-inference-sim
        PreflightFindings found;
        found.owned_by = one.owned_by;
        found.server = one.server;
        found.has_usage = one.has_usage;
        const std::vector<std::string> hints = hints_for(found, dialect_of(Api::openai_chat));
        ASSERT_EQ(hints.size(), 1u);
        const bool has_flag = hints.front().find("; start ") != std::string::npos;
        EXPECT_EQ(has_flag, one.flag != nullptr) << hints.front();
        EXPECT_TRUE(one.flag == nullptr || hints.front().ends_with(one.flag)) << hints.front();
    }
    PreflightFindings whole;
    whole.has_usage = whole.has_cached_tokens = true;
    EXPECT_TRUE(hints_for(whole, dialect_of(Api::openai_chat)).empty());
    whole.stream_chunks = 8;
    whole.stream_receives = 2;
    EXPECT_TRUE(hints_for(whole, dialect_of(Api::openai_chat)).empty());
    whole.stream_receives = 1;
    ASSERT_EQ(hints_for(whole, dialect_of(Api::openai_chat)).size(), 1u);
    EXPECT_TRUE(says(hints_for(whole, dialect_of(Api::openai_chat)).front(),
                     "8 chunks of an answer came in one read"));
    whole.stream_chunks = 3;
    EXPECT_TRUE(hints_for(whole, dialect_of(Api::openai_chat)).empty());
}

// What an API or its template has no place for is said of it, and no flag of a server fixes it.
TEST(Hints, KnowTheApi) {
    PreflightFindings found;
    found.owned_by = "vllm";
    const auto hint = [&found](const Dialect& dialect) {
        const std::vector<std::string> hints = hints_for(found, dialect);
        EXPECT_EQ(hints.size(), 1u);
        return hints.empty() ? "" : hints.front();
    };
    const std::string unverified = "prompt counts cannot be verified";
    const std::string by_chunks = "tokens are counted by chunks, and " + unverified;
    ApiTemplate form;
    Dialect described = dialect_of(form);
    const Dialect& chat = dialect_of(Api::openai_chat);
    EXPECT_EQ(hint(dialect_of(Api::triton)),
              "this API does not report prompt tokens: " + by_chunks);
    EXPECT_EQ(hint(described), "the template has no event.prompt_tokens: " + by_chunks);
    EXPECT_EQ(hint(chat), "the answer has no usage: " + by_chunks +
                              "; start vLLM with --enable-force-include-usage");
    found.has_completion_tokens = true;
    EXPECT_EQ(hint(described), "the template has no event.prompt_tokens: " + unverified);
    EXPECT_EQ(hint(chat), "the server's usage has no prompt_tokens, or counts 0: " + unverified);
    form.prompt_tokens = JsonPointer::parse("/n").value();
    described = dialect_of(form);
    EXPECT_EQ(hint(described),
              "the template's event.prompt_tokens does not point to a count of prompt tokens: " +
                  unverified);
    found.has_usage = true;
    const std::string unknown = ": cache hits stay unknown";
    EXPECT_EQ(hint(dialect_of(Api::tgi)), "this API does not report cached tokens" + unknown);
    EXPECT_EQ(hint(described), "the template has no event.cached_tokens" + unknown);
    form.cached_tokens = JsonPointer::parse("/cached").value();
    described = dialect_of(form);
    EXPECT_TRUE(hint(described).starts_with(
        "the template's event.cached_tokens does not point to a count"));
    EXPECT_TRUE(hint(chat).ends_with("; start vLLM with --enable-prompt-tokens-details"));
    found.has_cached_tokens = true;
    found.stream_chunks = 0;
    EXPECT_TRUE(
        hint(chat).starts_with("warning: the probe's answer had no text that driftless knows: "));
}

TEST(Hints, FindTheRemedyOfARefusal) {
    const std::vector<std::string> models = {"llama", "qwen"};
    const auto begins = [&](int status, std::string_view message) {
        return remedy_for({status, message, "", ""}, models).substr(0, 24);
    };
    EXPECT_EQ(begins(400, "Input length (9) exceeds model's maximum context length (8)."),
              "serve a longer context");
    EXPECT_EQ(begins(400, "the request exceeds the available context size, try increasing it"),
              "serve a longer context");
    EXPECT_EQ(begins(400,
                     "default chat template is no longer allowed, so you must provide a "
                     "Chat Template"),
              "the model has no chat te");
    EXPECT_EQ(begins(400, "The plain HTTP request was sent to HTTPS port"),
              "the server expects TLS; ");
    EXPECT_EQ(begins(401, "Unauthorized"), "check --api-key or OPENA");
    EXPECT_EQ(begins(413, "<html>"), "a proxy refuses bodies o");
    EXPECT_EQ(begins(503, "Loading model"), "the server is loading or");
    EXPECT_EQ(begins(400, "prompt must be a string"), "");
    EXPECT_EQ(begins(500, ""), "");
    EXPECT_EQ(remedy_for({404, "The model `x` does not exist.", "", ""}, models),
              "use --model with one that it lists: llama, qwen");
    EXPECT_EQ(remedy_for({400, "Invalid model name passed in model=x.", "", ""}, models),
              "use --model with one that it lists: llama, qwen");
    EXPECT_EQ(remedy_for({404, "The model `x` does not exist.", "", ""}, {}),
              remedy_for({404, "Not Found", "", ""}, models));
    EXPECT_EQ(remedy_for({404, "model", "", ""}, {"a", "b", "c", "d", "e"}),
              "use --model with one that it lists: a, b, c, d, and 1 more");
    EXPECT_EQ(remedy_for({308, "", "", ""}, models), "");
}

// Flags are those of the server's kind, names those that it lists and that were not tried.
TEST(Hints, FitTheServer) {
    const auto with = [](int status, std::string_view said, std::string_view kind,
                         std::vector<std::string> models = {}, Api api = Api::openai_chat,
                         bool ids = false) {
        Refusal refusal{status, said, "", ""};
        refusal.kind = kind;
        refusal.model = "unknown";
        refusal.dialect = &dialect_of(api);
        refusal.ids = ids;
        return remedy_for(refusal, models);
    };
    const char* too_long = "exceeds the maximum context length (8).";
    EXPECT_EQ(with(400, too_long, "vllm uvicorn"),
              "serve a longer context (vLLM: --max-model-len)");
    EXPECT_EQ(with(400, too_long, "sglang uvicorn"),
              "serve a longer context (SGLang: --context-length)");
    EXPECT_EQ(with(400, too_long, "openai "), "serve a longer context");
    EXPECT_EQ(
        with(404, "The model `unknown` does not exist.", "local ", {"unknown"}),
        "it lists only the model \"unknown\"; set --model to the name that its workers serve");
    EXPECT_EQ(with(404, "The model `unknown` does not exist.", "local ", {"unknown", "a"}),
              "use --model with one that it lists: a");
    EXPECT_EQ(with(404, "Not Found", "llamacpp llama.cpp", {}, Api::sglang),
              "its models are owned by \"llamacpp\", whose servers speak --api llamacpp, "
              "openai-chat, openai-completions, openai-responses or anthropic");
    EXPECT_EQ(with(404, "Not Found", "sglang uvicorn", {}, Api::sglang),
              "check --url, --endpoint, --api and --model");
    EXPECT_EQ(
        with(500, "Error code: 500", "openai ", {}, Api::openai_completions, true),
        "the server, or a gateway in front of it, may not accept token ids; try --prompt text");
    EXPECT_EQ(with(400, "No connected db.", "openai "),
              "LiteLLM does not know this key: check --api-key or OPENAI_API_KEY");
}

// What --url takes is what stands before the path that was asked: the whole Location leads to
// /v1/models/v1/models.
TEST(Hints, LeadWhereARedirectLeads) {
    const auto remedy = [](std::string_view location, std::string_view path) {
        return remedy_for({308, "", location, path}, {});
    };
    EXPECT_EQ(remedy("https://h/v1/models", "/v1/models"),
              "it redirects elsewhere; use --url https://h");
    EXPECT_EQ(remedy("https://h/base/v1/chat/completions", "/v1/chat/completions"),
              "it redirects elsewhere; use --url https://h/base");
    EXPECT_EQ(remedy("https://login/v1", "/v1/models"),
              "it redirects to https://login/v1; if the server is there, use that in --url");
    EXPECT_EQ(
        remedy("/v1/models/", "/v1/models"),
        "it redirects to /v1/models/ on the same server; check the paths in --url and --endpoint");
}

}  // namespace
}  // namespace driftless
