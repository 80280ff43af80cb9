// The bodies are those that vLLM, SGLang and llama.cpp take, the answers those that they give
// (wire-formats.md, "tokenise"); what stands around a prompt follows from two words.
#include "engine/preflight/tokenize.hpp"

#include <gtest/gtest.h>

#include "engine/preflight/template_table.hpp"

namespace driftless {
namespace {

using Ids = std::vector<std::int64_t>;

TEST(Tokenize, WritesTheBodiesOfEachServer) {
    EXPECT_EQ(tokenize_body(TokenizeForm::messages, "M", R"(a \"b\")"),
              R"({"model":"M","messages":[{"role":"user","content":"a \"b\""}],)"
              R"("add_generation_prompt":true})");
    EXPECT_EQ(tokenize_body(TokenizeForm::prompt, "M", "Hi"),
              R"({"model":"M","prompt":"Hi","add_special_tokens":true})");
    EXPECT_EQ(tokenize_body(TokenizeForm::prompt_v1, "M", "Hi"),
              tokenize_body(TokenizeForm::prompt, "M", "Hi"));
    EXPECT_EQ(tokenize_body(TokenizeForm::content, "M", "Hi"),
              R"({"content":"Hi","add_special":true,"parse_special":true})");
    EXPECT_EQ(tokenize_body(TokenizeForm::inputs, "M", "Hi"),
              R"({"inputs":"Hi","add_special_tokens":true})");
    EXPECT_EQ(template_body("M", "Hi"),
              R"({"model":"M","messages":[{"role":"user","content":"Hi"}]})");
    EXPECT_STREQ(tokenize_path(TokenizeForm::messages), "/tokenize");
    EXPECT_STREQ(tokenize_path(TokenizeForm::prompt_v1), "/v1/tokenize");
    EXPECT_STREQ(name_of(TokenizeForm::prompt_v1), "prompt_v1");
    EXPECT_STREQ(name_of(TokenizeForm::inputs), "inputs");
}

// Answers as each server gives them; what is no list of tokens gives none.
TEST(Tokenize, ReadsTheAnswersOfEachServer) {
    JsonDocument document;
    EXPECT_EQ(read_tokens(document, R"({"count":2,"max_model_len":8192,"tokens":[1,2],)"
                                    R"("token_strs":null})"),
              (Ids{1, 2}));
    EXPECT_EQ(read_tokens(document, R"({"tokens":[1,259]})"), (Ids{1, 259}));
    EXPECT_EQ(read_tokens(document, R"([{"id":1,"text":"<s>","start":0,"stop":0},{"id":9}])"),
              (Ids{1, 9}));
    for (const char* nothing : {R"({"tokens":[]})", R"({"tokens":3})", R"({"count":3})", "[1,2]",
                                "", "{", R"({"error":{"message":"no"}})"}) {
        EXPECT_EQ(read_tokens(document, nothing), Ids{}) << nothing;
    }
    EXPECT_EQ(read_templated(document, R"({"prompt":"<s>a\n\"b\"</s>"})"), R"(<s>a\n\"b\"</s>)");
    EXPECT_EQ(read_templated(document, R"({"prompt":["a"]})"), "");
    EXPECT_EQ(read_templated(document, R"({"detail":"Not Found"})"), "");
    EXPECT_EQ(read_templated(document, "<html>"), "");
}

// The shared front and the shared back are the template; what is left of each is its word.
TEST(Tokenize, TwoWordsShowWhatIsAroundThem) {
    const auto around = [](const Ids& first, const Ids& second) {
        const AroundWords found = compare_words(first, second);
        return std::vector<std::size_t>{found.overhead.pre, found.overhead.post, found.first_cost,
                                        found.second_cost};
    };
    using Found = std::vector<std::size_t>;
    EXPECT_EQ(around({1, 2, 7, 9}, {1, 2, 8, 9}), (Found{2, 1, 1, 1}));
    EXPECT_EQ(around({7}, {8}), (Found{0, 0, 1, 1}));
    EXPECT_EQ(around({1, 7, 6, 9}, {1, 8, 9}), (Found{1, 1, 2, 1})) << "the first word is split";
    EXPECT_EQ(around({1, 9}, {1, 9}), (Found{2, 0, 0, 0})) << "the words make no difference";
    EXPECT_EQ(around({}, {1}), (Found{0, 0, 0, 1}));
    EXPECT_EQ(around({5, 5}, {5, 5, 5}), (Found{2, 0, 0, 1})) << "front before back, never both";
}

// Which forms see the template decides what their counts are compared with.
TEST(Tokenize, KnowsWhoSeesTheTemplate) {
    EXPECT_TRUE(sees_template(TokenizeForm::messages, dialect_of(Api::openai_chat)));
    EXPECT_TRUE(sees_template(TokenizeForm::templated, dialect_of(Api::openai_chat)));
    EXPECT_FALSE(sees_template(TokenizeForm::prompt, dialect_of(Api::openai_chat)));
    EXPECT_FALSE(sees_template(TokenizeForm::content, dialect_of(Api::openai_chat)));
    const Dialect& completions = dialect_of(Api::openai_completions);
    for (const TokenizeForm form : completions.tokenize_forms) {
        EXPECT_TRUE(sees_template(form, completions)) << name_of(form);
    }
}

// Splits of published templates (token-exact.md, section 5), by name and number of tokens.
TEST(TemplateTable, SplitsByModelAndCount) {
    const auto post = [](Api api, const char* model, std::uint32_t tokens) {
        bool known = false;
        const Overhead split = split_overhead(dialect_of(api), model, tokens, known);
        EXPECT_EQ(split.pre + split.post, tokens);
        return known ? static_cast<int>(split.post) : -1;
    };
    EXPECT_EQ(post(Api::openai_chat, "Qwen/Qwen3-8B", 8), 5);
    EXPECT_EQ(post(Api::openai_chat, "Qwen/Qwen3-8B", 12), 9);
    EXPECT_EQ(post(Api::openai_chat, "meta-llama/Llama-3.1-8B-Instruct", 35), 5);
    EXPECT_EQ(post(Api::openai_chat, "deepseek-ai/DeepSeek-R1", 5), 3);
    EXPECT_EQ(post(Api::openai_chat, "Qwen/Qwen3-8B", 9), -1);
    EXPECT_EQ(post(Api::openai_chat, "mock-model", 8), -1);
    EXPECT_EQ(post(Api::openai_chat, "mock-model", 0), 0);
    EXPECT_EQ(post(Api::openai_completions, "any", 0), 0);
    EXPECT_EQ(post(Api::openai_completions, "any", 1), -1) << "a BOS in front, if nothing tells";
}

}  // namespace
}  // namespace driftless
