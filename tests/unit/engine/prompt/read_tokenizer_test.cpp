// A tokenizer.json that holds what is not supported, or contradicts itself, is refused by name; no
// part of it is passed over. The form is that of Hugging Face's `tokenizers`.
#include <gtest/gtest.h>

#include <string>

#include "engine/prompt/tokenizer.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

const std::string plain_model = R"({"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]})";

std::string file(const std::string& model, const std::string& more = "") {
    return R"({"version":"1.0","model":)" + model + more + "}";
}

std::string with(const std::string& part, const std::string& step) {
    return file(plain_model, ",\"" + part + "\":" + step);
}

void takes(const std::string& json) {
    std::string why;
    EXPECT_TRUE(read_tokenizer(json, why)) << why << "\n" << json;
}

void refuses(const std::string& json, const std::string& said) {
    std::string why;
    EXPECT_FALSE(read_tokenizer(json, why)) << json;
    EXPECT_TRUE(says(why, said)) << why << "\n" << json;
}

TEST(TokenizerFile, RefusesModelsThatItCannotMean) {
    takes(file(plain_model));
    refuses(file(R"({"type":"WordPiece","vocab":{"a":0}})"), "its model is of type 'WordPiece'");
    refuses(file(R"({"type":"BPE","end_of_word_suffix":"</w>","vocab":{"a":0},"merges":[]})"),
            "its model has a end_of_word_suffix, which is not supported");
    refuses(file(R"({"type":"BPE","dropout":0.1,"vocab":{"a":0},"merges":[]})"), "dropout");
    refuses(file(R"({"type":"BPE","merges":[]})"), "its model has no 'vocab'");
    refuses(file(R"({"type":"BPE","vocab":{},"merges":[]})"), "its model has no 'vocab'");
    refuses(file(R"({"type":"BPE","vocab":{"a":-1},"merges":[]})"),
            "its token 'a' has the id -1, which cannot be");
    refuses(file(R"({"type":"BPE","vocab":{"a":4294967295},"merges":[]})"),
            "its token 'a' has the id 4294967295, which cannot be");
    refuses(file(R"({"type":"BPE","vocab":{"a":0,"b":0},"merges":[]})"),
            "two of its tokens have the id 0: 'a' and 'b'");
    refuses(file(R"({"type":"BPE","vocab":{"a":0}})"), "its model has no 'merges'");
}

TEST(TokenizerFile, RefusesMergesOfNothing) {
    const auto merging = [](const std::string& merge) {
        return file(R"({"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":[)" + merge + "]}");
    };
    takes(merging(R"(["a","b"])"));
    for (const char* merge : {R"("ab")", R"(" b")", R"("a ")", R"("a b ")", R"(["a"])", "7"}) {
        refuses(merging(merge), std::string("its merge 0 is not a pair of tokens: ") + merge);
    }
    refuses(merging(R"("a b","b a")"), "its merge 1 (\"b a\") names a token that its vocabulary");
}

// As in the files of GPT-4 and GPT-4o: ids without a token behind the last merged one.
TEST(TokenizerFile, TakesHolesAmongSpecialIdsOnly) {
    const auto holding = [](const std::string& vocabulary) {
        return file(R"({"type":"BPE","vocab":{)" + vocabulary + R"(},"merges":["a b"]})",
                    R"(,"added_tokens":[{"id":9,"content":"<end>","special":true}])");
    };
    takes(holding(R"("a":0,"b":1,"ab":2,"<end>":9)"));
    takes(holding(R"("a":0,"b":1,"ab":2,"<more>":4,"<end>":9)"));
    refuses(holding(R"("a":0,"b":1,"ab":3,"<end>":9)"),
            "its vocabulary has holes: no token has the id 2; fetch it again");
    refuses(holding(R"("a":0,"b":4,"ab":5,"<end>":9)"), "no token has the id 1, nor 2 others");
    takes(holding(R"("a":0,"b":1,"ab":10)"
                  R"(,"c":2,"d":3,"e":4,"f":5,"g":6,"h":7,"i":8)"));  // 9 is an added one
}

TEST(TokenizerFile, RefusesAddedTokensWithoutId) {
    takes(with("added_tokens", R"([{"id":3,"content":"<s>"},{"id":4,"content":""}])"));
    refuses(with("added_tokens", R"([{"content":"<s>"}])"), "has no id or no content");
    refuses(with("added_tokens", R"([{"id":3}])"), "has no id or no content");
    refuses(with("added_tokens", R"([{"id":4294967295,"content":"<s>"}])"), "has no id or no");
}

TEST(TokenizerFile, RefusesStepsThatItDoesNotKnow) {
    refuses(with("normalizer", R"({"type":"Nmt"})"), "a normalizer of type 'Nmt'");
    refuses(with("normalizer", R"({"type":"Replace","pattern":{},"content":"x"})"),
            "neither a String nor a Regex");
    refuses(with("pre_tokenizer", R"({"type":"UnicodeScripts"})"),
            "a pre-tokenizer of type 'UnicodeScripts'");
    refuses(with("pre_tokenizer", R"({"type":"Split","pattern":{"Regex":"("}})"), "(");
    refuses(
        with("pre_tokenizer", R"({"type":"Split","pattern":{"String":"-"},"behavior":"Sideways"})"),
        "the behavior 'Sideways'");
    refuses(with("pre_tokenizer", R"({"type":"Metaspace","prepend_scheme":"last"})"),
            "the prepend_scheme 'last'");
    refuses(
        with("pre_tokenizer",
             R"({"type":"Sequence","pretokenizers":[{"type":"ByteLevel"},{"type":"ByteLevel"}]})"),
        "two pre-tokenizers of type 'ByteLevel'");
    refuses(with("decoder", R"({"type":"CTC"})"), "a decoder of type 'CTC'");
    refuses(with("decoder", R"({"type":"Metaspace","replacement":""})"), "'Metaspace'");
    refuses(with("decoder", R"({"type":"Replace","pattern":{},"content":"x"})"),
            "neither a String");
}

TEST(TokenizerFile, RefusesTemplatesWithoutIds) {
    takes(with("post_processor", R"({"type":"BertProcessing","cls":["<s>",0],"sep":["</s>",1]})"));
    for (const char* step :
         {R"({"type":"BertProcessing","cls":["<s>"],"sep":["</s>",1]})",
          R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>"}}]})",
          R"({"type":"TemplateProcessing","single":[]})",
          R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"s"}}],)"
          R"("special_tokens":{"s":{"ids":[-1]}}})"}) {
        refuses(with("post_processor", step), "its post-processor names tokens without ids");
    }
    refuses(with("post_processor", R"({"type":"Odd"})"), "a post-processor of type 'Odd'");
}

// Letters that stand for no byte: tokens and merges that no text leads to change nothing.
TEST(TokenizerFile, PassesOverMergesThatAreNeverMade) {
    std::string why;
    Result<TokenizerParts> parts =
        read_tokenizer(file(R"({"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"中":3,"中a":4,"b中":5},)"
                            R"("merges":["中 a","b 中","a b"]})",
                            R"(,"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false})"),
                       why);
    ASSERT_TRUE(parts) << why;
    Tokenizer tokenizer(std::move(parts).value());
    std::vector<TokenId> ids;
    tokenizer.encode("ab", ids);
    EXPECT_EQ(ids, std::vector<TokenId>{2});
    EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{3, 2}), "中ab");
}

// Mistral's tekken.json is known by its config.
TEST(TokenizerFile, KnowsTekken) {
    refuses(R"({"config":{"pattern":"a","default_vocab_size":300,"default_num_special_tokens":10},)"
            R"("vocab":[]})",
            "its 'vocab' ends after 0 of 290 tokens");
}

// A vocabulary grows beyond what was asked for, and knows nothing before its first token.
TEST(Vocabulary, Grows) {
    Vocabulary vocabulary;
    EXPECT_FALSE(vocabulary.find("a"));
    for (TokenId id = 0; id < 5'000; ++id) {
        vocabulary.set(id, "t" + std::to_string(id));
    }
    for (TokenId id = 0; id < 5'000; ++id) {
        ASSERT_EQ(vocabulary.find("t" + std::to_string(id)), id);
    }
    EXPECT_FALSE(vocabulary.find("t5000"));
    EXPECT_EQ(vocabulary.size(), 5'000U);
}

// Steps that no tokenizer among the golden ones has; whether they cut rightly is not shown here.
TEST(TokenizerFile, TakesStepsThatAreRare) {
    takes(with("pre_tokenizer", R"({"type":"WhitespaceSplit"})"));
    takes(with("pre_tokenizer", R"({"type":"CharDelimiterSplit","delimiter":"-"})"));
    takes(with("pre_tokenizer", R"({"type":"Metaspace","prepend_scheme":"never"})"));
    takes(with("decoder", R"({"type":"Strip","content":"","start":1,"stop":0})"));
}

}  // namespace
}  // namespace driftless
