// Steps that no tokenizer among the golden ones has: what Hugging Face's `tokenizers` 0.23.3 made
// of the same tokenizer.json and text.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/prompt/tokenizer.hpp"
#include "proto/json/write.hpp"

namespace driftless {
namespace {

using Texts = std::vector<std::string>;

const Texts tokens{"a",  "b",  "e",      "i",      " ",      ".",      ",",
                   "_",  "1",  "2",      "é",      "\u0301", "\u0307", "\u2581",
                   "ab", "12", "<0xC3>", "<0xA9>", "<0xE4>", "<0xZZ>", "a."};

/// A tokenizer.json of these tokens, with one step and more members of its model.
Tokenizer make(const std::string& part, const std::string& step, const std::string& more = "") {
    std::string vocabulary;
    JsonWriter json(vocabulary);
    json.begin_object();
    for (std::size_t id = 0; id < tokens.size(); ++id) {
        json.key(tokens[id]).number(id);
    }
    json.end_object();
    std::string why;
    Result<TokenizerParts> parts =
        read_tokenizer(R"({"model":{"type":"BPE","merges":["a b","1 2","a ."],"vocab":)" +
                           vocabulary + more + "},\"" + part + "\":" + step + "}",
                       why);
    EXPECT_TRUE(parts) << why;
    return Tokenizer(std::move(parts).value());
}

Texts encoded(Tokenizer tokenizer, std::string_view text) {
    std::vector<TokenId> ids;
    tokenizer.encode(text, ids);
    Texts out;
    for (const TokenId id : ids) {
        out.push_back(tokens.at(id));
    }
    return out;
}

TEST(TokenizerSteps, CutAsTheReferenceDoes) {
    const auto cut = [](const std::string& step, std::string_view text) {
        return encoded(make("pre_tokenizer", step), text);
    };
    const auto punctuation = [&](const std::string& behavior) {
        return cut(R"({"type":"Punctuation","behavior":")" + behavior + "\"}", "a.ba.,b");
    };
    const auto metaspace = [&](const std::string& more) {
        return cut(R"({"type":"Metaspace","replacement":"▁","prepend_scheme":)" + more, "ab a b");
    };
    EXPECT_EQ(cut(R"({"type":"WhitespaceSplit"})", "ab a b\tab"), Texts({"ab", "a", "b", "ab"}));
    EXPECT_EQ(cut(R"({"type":"CharDelimiterSplit","delimiter":"-"})", "ab-a-b--12"),
              Texts({"ab", "a", "b", "12"}));
    EXPECT_EQ(cut(R"({"type":"Digits","individual_digits":true})", "ab12a"),
              Texts({"ab", "1", "2", "a"}));
    EXPECT_EQ(cut(R"({"type":"Digits","individual_digits":false})", "ab12a"),
              Texts({"ab", "12", "a"}));
    EXPECT_EQ(punctuation("Isolated"), Texts({"a", ".", "b", "a", ".", ",", "b"}));
    EXPECT_EQ(punctuation("Removed"), Texts({"a", "b", "a", "b"}));
    EXPECT_EQ(punctuation("MergedWithPrevious"), Texts({"a.", "b", "a.", ",", "b"}));
    EXPECT_EQ(punctuation("MergedWithNext"), Texts({"a", ".", "b", "a", ".", ",", "b"}));
    EXPECT_EQ(metaspace(R"("never","split":true})"), Texts({"ab", "▁", "a", "▁", "b"}));
    EXPECT_EQ(metaspace(R"("first","split":true})"), Texts({"▁", "ab", "▁", "a", "▁", "b"}));
    EXPECT_EQ(metaspace(R"("always","split":false})"), Texts({"▁", "ab", "▁", "a", "▁", "b"}));
}

TEST(TokenizerSteps, NormalizeAsTheReferenceDoes) {
    const auto normal = [](const std::string& step, std::string_view text) {
        return encoded(make("normalizer", step), text);
    };
    EXPECT_EQ(normal(R"({"type":"NFD"})", "é"), Texts({"e", "\u0301"}));
    EXPECT_EQ(normal(R"({"type":"NFC"})", "e\u0301"), Texts({"é"}));
    EXPECT_EQ(normal(R"({"type":"Lowercase"})", "\u0130AB"), Texts({"i", "\u0307", "ab"}));
    EXPECT_EQ(normal(R"({"type":"Strip","strip_left":true,"strip_right":false})", " ab "),
              Texts({"ab", " "}));
    EXPECT_EQ(normal(R"({"type":"Prepend","prepend":"▁"})", "ab"), Texts({"▁", "ab"}));
}

// A character that the vocabulary lacks is nothing, or the unknown token; two of them may be one.
TEST(TokenizerSteps, TakeUnknownCharactersAsTheReferenceDoes) {
    const auto unknown = [](const std::string& more) {
        return encoded(make("normalizer", "null", more), "aZYb");
    };
    EXPECT_EQ(unknown(""), Texts({"ab"}));
    EXPECT_EQ(unknown(R"(,"unk_token":"_","fuse_unk":true)"), Texts({"a", "_", "b"}));
    EXPECT_EQ(unknown(R"(,"unk_token":"_","fuse_unk":false)"), Texts({"a", "_", "_", "b"}));
}

TEST(TokenizerSteps, DecodeAsTheReferenceDoes) {
    const auto decoded = [](const std::string& step, const Texts& texts) {
        std::vector<TokenId> ids;
        for (const std::string& text : texts) {
            const auto at = std::find(tokens.begin(), tokens.end(), text);
            ids.push_back(static_cast<TokenId>(at - tokens.begin()));
        }
        return make("decoder", step).decode(ids);
    };
    const std::string bytes = R"({"type":"ByteFallback"})";
    EXPECT_EQ(decoded(bytes, {"a", "<0xC3>", "<0xA9>", "b"}), "aéb");
    EXPECT_EQ(decoded(bytes, {"a", "<0xE4>", "<0xC3>", "<0xA9>", "b", "<0xE4>"}),
              "a\uFFFD\uFFFD\uFFFDb\uFFFD");
    EXPECT_EQ(decoded(bytes, {"a", "<0xZZ>", "b"}), "a<0xZZ>b");
    const auto strip = [](const std::string& content, int start, int stop) {
        return R"({"type":"Strip","content":")" + content + R"(","start":)" +
               std::to_string(start) + R"(,"stop":)" + std::to_string(stop) + "}";
    };
    EXPECT_EQ(decoded(strip("b", 0, 1), {"ab", "b", "a"}), "aa");
    EXPECT_EQ(decoded(strip("a", 1, 0), {"ab", "b", "a"}), "bb");
    EXPECT_EQ(decoded(R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,)"
                      R"("use_regex":true})",
                      {"ab", "▁", "\u0301", "é"}),
              "ab▁\u0301\xE9")
        << "the reference: U+FFFD for the last byte, which we leave as it is (tokenizer.hpp)";
    EXPECT_EQ(decoded("null", {"ab", "a"}), "ab a");
}

}  // namespace
}  // namespace driftless
