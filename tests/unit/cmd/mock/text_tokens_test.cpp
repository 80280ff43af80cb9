// A mock with a tokenizer counts what the reference implementation counts, however bodies arrive.
#include "cmd/mock/text_tokens.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cmd/mock/body_reader.hpp"
#include "proto/json/write.hpp"
#include "tests/unit/engine/prompt/tokenizer/golden.hpp"

namespace driftless::mock {
namespace {

/// The ids that a body's prompt comes to, fed `piece_bytes` a time.
std::vector<std::uint32_t> ids_of(TextTokens& texts, const std::string& body,
                                  std::size_t piece_bytes, TemplateTokens around = {}) {
    PromptCount count;
    count.reset(16, around, &texts);
    count.record_tokens();
    BodyReader reader;
    reader.reset(count, {.text = "prompt", .ids = "prompt", .messages = true});
    for (std::size_t at = 0; at < body.size(); at += piece_bytes) {
        EXPECT_TRUE(reader.feed(body.substr(at, piece_bytes)));
    }
    count.finish();
    EXPECT_EQ(count.tokens(), count.recorded().size());
    EXPECT_EQ(count.blocks().size(), count.tokens() / 16);
    return {count.recorded().begin(), count.recorded().end()};
}

std::string quoted(const std::string& text) {
    std::string out;
    JsonWriter(out).string(text);
    return out;
}

// Every golden string, as a completions prompt and as a message, in large pieces and small ones.
TEST(TextTokens, AreThoseOfTheReference) {
    for (const char* name : {"qwen", "llama2"}) {
        const Golden golden = read_golden(name);
        Tokenizer tokenizer = load_tokenizer(name);
        TextTokens texts(tokenizer);
        for (std::size_t i = 0; i < golden_strings().size(); ++i) {
            const std::string text = quoted(golden_strings()[i]);
            const std::string prompt = R"({"model":"m","prompt":)" + text + "}";
            ASSERT_EQ(ids_of(texts, prompt, prompt.size()), golden.ids[i]) << text;
            ASSERT_EQ(ids_of(texts, prompt, 7), golden.ids[i]) << text;
            const std::string chat =
                R"({"messages":[{"role":"user","content":)" + text + "}],\"n\":1}";
            ASSERT_EQ(ids_of(texts, chat, 1 + i % 5), golden.ids[i]) << text;
        }
    }
}

// The template stands around all texts together; each text is encoded by itself.
TEST(TextTokens, TemplateAndSeveralTexts) {
    Tokenizer tokenizer = load_tokenizer("qwen");
    TextTokens texts(tokenizer);
    const auto one = ids_of(texts, R"({"prompt":"the cat"})", 100);
    const auto both =
        ids_of(texts, R"({"messages":[{"content":"the cat"},{"content":"the cat"}]})", 100, {2, 1});
    ASSERT_EQ(both.size(), 2 * one.size() + 3);
    EXPECT_TRUE(std::equal(one.begin(), one.end(), both.begin() + 2));
    EXPECT_TRUE(std::equal(one.begin(), one.end(),
                           both.begin() + 2 + static_cast<std::ptrdiff_t>(one.size())));
}

// A text beyond what is held is refused, not counted wrongly.
TEST(TextTokens, TextsAreBounded) {
    Tokenizer tokenizer = load_tokenizer("qwen");
    TextTokens texts(tokenizer);
    for (const std::size_t bytes : {held_text_bytes_max, held_text_bytes_max + 1}) {
        PromptCount count;
        count.reset(0, {}, &texts);
        BodyReader reader;
        reader.reset(count, {.text = "prompt", .ids = "prompt"});
        EXPECT_TRUE(reader.feed(R"({"prompt":")"));
        EXPECT_EQ(reader.feed(std::string(bytes, ' ')), bytes == held_text_bytes_max);
    }
}

}  // namespace
}  // namespace driftless::mock
