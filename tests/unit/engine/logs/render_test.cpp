// A conversation that goes on begins with the tokens of the shorter one, at every message.
#include "engine/logs/render.hpp"

#include <gtest/gtest.h>

#include "engine/prompt/load_tokenizer.hpp"

namespace driftless {
namespace {

Tokenizer tokenizer() {
    std::string why;
    Result<Tokenizer> loaded = load_tokenizer(TEST_DATA "/tokenizers/llama3.json", why);
    EXPECT_TRUE(loaded) << why;
    return std::move(loaded).value();
}

TEST(Render, IsRoleNewlineTextNewline) {
    Tokenizer tokens = tokenizer();
    std::vector<TokenId> ids;
    render(std::vector<LogMessage>{{"system", "Be short."}, {"user", "Why?"}}, tokens, ids);
    EXPECT_EQ(tokens.decode(ids), "system\nBe short.\nuser\nWhy?\nassistant\n");
    render(std::vector<LogMessage>{{"", "Once upon a time"}}, tokens, ids);
    EXPECT_EQ(tokens.decode(ids), "Once upon a time");
    render({}, tokens, ids);
    EXPECT_TRUE(ids.empty());
}

TEST(Render, KeepsPrefixes) {
    Tokenizer tokens = tokenizer();
    // Borders where tokens of a whole text would merge across: blanks, newlines, half words.
    const std::vector<LogMessage> all = {{"user", "a\n\n"}, {"assistant", " b\n"},
                                         {"user", "c "},    {"assistant", "ont"},
                                         {"tool", "inue"},  {"user", "\n"}};
    std::vector<TokenId> whole;
    render(all, tokens, whole);
    std::vector<TokenId> head;
    for (const std::size_t count : {1, 3, 5}) {
        render(std::span(all).first(count), tokens, head);
        if (all[count].role == "user") {
            std::vector<TokenId> opening;
            tokens.encode("assistant\n", opening);
            head.resize(head.size() - opening.size());
        }
        ASSERT_LT(head.size(), whole.size());
        EXPECT_TRUE(std::equal(head.begin(), head.end(), whole.begin())) << count;
    }
}

}  // namespace
}  // namespace driftless
