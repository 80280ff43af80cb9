// Tokenizers as their files say, held against the reference.

#include "engine/prompt/tokenizer.hpp"

#include "cmd/report/export_cells.hpp"
#include "proto/json/write.hpp"
#include "tests/unit/engine/prompt/golden.hpp"
#include "tests/unit/json_text.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

// Expressions written for Oniguruma match in PCRE2 what Oniguruma matches.

namespace {

std::vector<std::string> matches(const std::string& expression, std::string_view text) {
    std::string why;
    Result<Pattern> pattern = Pattern::compile(expression, why);
    EXPECT_TRUE(pattern) << why;
    std::vector<std::string> all;
    Pattern::Search search;
    while (const auto match = pattern.value().next(text, search)) {
        all.emplace_back(text.substr(match->begin, match->end - match->begin));
    }
    return all;
}

// Oniguruma's documentation (doc/RE): \h is a hex digit, \uHHHH a code point, && an intersection,
// {n,m}+ and {n}? repeat what is before once more, \p{Han} the script.
TEST(Pattern, ReadsTheSyntaxOfOtherEngines) {
    EXPECT_EQ(matches(R"(\h+)", "x1aFg"), Texts({"1aF"}));
    EXPECT_EQ(matches(R"([\h_]+)", "x1_aFg"), Texts({"1_aF"}));
    EXPECT_EQ(matches(R"(\u00e9)", "e\u00e9"), Texts({"\u00e9"}));
    EXPECT_EQ(matches(R"([\p{L}&&[^\p{Han}]]+)", "ab\u4e2dc"), Texts({"ab", "c"}));
    EXPECT_EQ(matches(R"(\p{Han}+)", "a\u4e2d\u6587b\u3002"), Texts({"\u4e2d\u6587"}));
    EXPECT_EQ(matches("(ab){2}+c", "ababababc"), Texts({"ababababc"}));
    EXPECT_EQ(matches("x[ab]{2}+b", "xaabb xabb"), Texts({"xaab", "xabb"}));
    EXPECT_EQ(matches("a{2}?b", "b aab"), Texts({"b", "aab"}));
    EXPECT_EQ(matches("^b$", "a\nb\nc"), Texts({"b"}));
    EXPECT_EQ(matches("[[:digit:]x]+", "a1x2"), Texts({"1x2"}));
    EXPECT_EQ(matches("[a[[:digit:]x]]+", "ba1x"), Texts({"a1x"}));
    EXPECT_EQ(matches(R"(\p{^L}+)", "a12b"), Texts({"12"}));
    EXPECT_EQ(matches(R"([\p{^Han}&&\p{L}]+)", "ab\u4e2d"), Texts({"ab"}));
    EXPECT_EQ(matches("a{x|b{", "a{x b{"), Texts({"a{x", "b{"}));
    // Rank files come with expressions of Rust's regex crates, where \pX is a property of one
    // letter.
    EXPECT_EQ(matches(R"(\pL+)", "ab1\u4e2d"), Texts({"ab", "\u4e2d"}));
    EXPECT_EQ(matches(R"(\PN+)", "ab1c"), Texts({"ab", "c"}));
    // The compiled code has a stack of its own; where a search runs out of it, the interpreter goes
    // on.
    const std::string text(200'000, 'a');
    EXPECT_EQ(matches("(a|b)+c|(?:a|b)+", text), Texts({text}));
    // Oniguruma's documentation (doc/RE, 7. Character class): [a-w&&[^c-g]z] is ([a-w] and ([^c-g]
    // or z)); a class within a class adds to it.
    EXPECT_EQ(matches("[a-w&&[^c-g]z]+", "abcdwxz"), Texts({"ab", "w"}));
    EXPECT_EQ(matches("[a[bc]]+", "xabcd"), Texts({"abc"}));
    EXPECT_EQ(matches("[^a[bc]]+", "xabcd"), Texts({"x", "d"}));
    EXPECT_EQ(matches("[a[^a-y]]+", "xabz"), Texts({"a", "z"}));
    EXPECT_EQ(matches("[^a[^a-y]]+", "xabz"), Texts({"x", "b"}));
    EXPECT_EQ(matches("[^a-f&&d-z]+", "adgz"), Texts({"a", "gz"}));
    EXPECT_EQ(matches(R"( ?[^(\s|[.,!?\u3002])]+)", "a b,c\u3002(d"), Texts({"a", " b", "c", "d"}));
    // U+180E is no white space since Unicode 6.3; PCRE2 still counts it in.
    EXPECT_EQ(matches(R"(\s+)", "a\u180E \u3000b"), Texts({" \u3000"}));
    EXPECT_EQ(matches(R"([^\s]+)", "a\u180E b"), Texts({"a\u180E", "b"}));
    EXPECT_EQ(matches(R"(\S+)", "a\u180E b"), Texts({"a\u180E", "b"}));
    EXPECT_EQ(matches(R"((?=(\d{3})+(?!\d)))", "1234567").size(), 2U);
    EXPECT_EQ(matches("x*", "axb"), Texts({"", "x", ""}));
    EXPECT_EQ(matches("x*", "\u00e9").size(), 2U);
}

TEST(Pattern, RefusesWhatItCannotMean) {
    std::string why;
    EXPECT_FALSE(Pattern::compile("[a[b[c]]]", why));
    EXPECT_TRUE(says(why, "nested three deep"));
    EXPECT_FALSE(Pattern::compile("[a[b&&c]]", why));
    EXPECT_FALSE(Pattern::compile("[ab", why) || Pattern::compile("[a[b[c", why));
    EXPECT_FALSE(Pattern::compile("[[:a]", why));
    EXPECT_TRUE(says(why, "'[:' without ':]'"));
    EXPECT_FALSE(Pattern::compile("(a", why));
    EXPECT_TRUE(says(why, "cannot be run"));
}

// Steps that no tokenizer among the golden ones has: what Hugging Face's `tokenizers` 0.23.3 made
// of the same tokenizer.json and text.

const Texts tokens{"a",  "b",  "e",      "i",      " ",      ".",      ",",
                   "_",  "1",  "2",      "é",      "\u0301", "\u0307", "\u2581",
                   "ab", "12", "<0xC3>", "<0xA9>", "<0xE4>", "<0xZZ>", "a."};

/// A tokenizer.json of these tokens, with one step and more members of its model.
Tokenizer make(const std::string& part, const std::string& step, const std::string& more = "") {
    std::string vocabulary;
    JsonWriter json(vocabulary);
    json.begin_object();
    for (std::size_t id = 0; id < tokens.size(); ++id) {
        json.key(tokens[id]).unsigned_integer(id);
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

TEST(TokenizerSteps, NormalizeAndDecodeAsTheReferenceDoes) {
    const auto normal = [](const std::string& step, std::string_view text) {
        return encoded(make("normalizer", step), text);
    };
    EXPECT_EQ(normal(R"({"type":"NFD"})", "é"), Texts({"e", "\u0301"}));
    EXPECT_EQ(normal(R"({"type":"NFC"})", "e\u0301"), Texts({"é"}));
    EXPECT_EQ(normal(R"({"type":"Lowercase"})", "\u0130AB"), Texts({"i", "\u0307", "ab"}));
    EXPECT_EQ(normal(R"({"type":"Strip","strip_left":true,"strip_right":false})", " ab "),
              Texts({"ab", " "}));
    EXPECT_EQ(normal(R"({"type":"Prepend","prepend":"▁"})", "ab"), Texts({"▁", "ab"}));
    // A character that the vocabulary lacks is nothing, or the unknown token; two of them may be
    // one.
    const auto unknown = [](const std::string& more) {
        return encoded(make("normalizer", "null", more), "aZYb");
    };
    EXPECT_EQ(unknown(""), Texts({"ab"}));
    EXPECT_EQ(unknown(R"(,"unk_token":"_","fuse_unk":true)"), Texts({"a", "_", "b"}));
    EXPECT_EQ(unknown(R"(,"unk_token":"_","fuse_unk":false)"), Texts({"a", "_", "_", "b"}));
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

// A tokenizer.json that holds what is not supported, or contradicts itself, is refused by name; no
// part of it is passed over. The form is that of Hugging Face's `tokenizers`.

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
    const auto merging = [](const std::string& merge) {
        return file(R"({"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":[)" + merge + "]}");
    };
    takes(merging(R"(["a","b"])"));
    for (const char* merge : {R"("ab")", R"(" b")", R"("a ")", R"("a b ")", R"(["a"])", "7"}) {
        refuses(merging(merge), std::string("its merge 0 is not a pair of tokens: ") + merge);
    }
    refuses(merging(R"("a b","b a")"), "its merge 1 (\"b a\") names a token that its vocabulary");
    takes(with("added_tokens", R"([{"id":3,"content":"<s>"},{"id":4,"content":""}])"));
    refuses(with("added_tokens", R"([{"content":"<s>"}])"), "has no id or no content");
    refuses(with("added_tokens", R"([{"id":3}])"), "has no id or no content");
    refuses(with("added_tokens", R"([{"id":4294967295,"content":"<s>"}])"), "has no id or no");
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

// As in the files of GPT-4 and GPT-4o: ids without a token behind the last merged one.
TEST(TokenizerFile, RefusesHolesAndUnknownSteps) {
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

// Letters that stand for no byte: tokens and merges that no text leads to change nothing.
TEST(TokenizerFile, PassesOverMergesThatAreNeverMadeAndKnowsTekken) {
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
    // Mistral's tekken.json is known by its config.
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

// Rank files are recognised by content, cut as tokenizer_config.json or the number of ranks says,
// and refused by line where they are damaged. Expected ids: see digest_test.cpp; here, what the
// program around Kimi's tokenizer does to long texts, by its published constants.

std::string kimi_file(const std::string& name) {
    return read_whole(std::string(TEST_DATA) + "/tokenizers/kimi_ranks/" + name);
}

std::string refusal(const std::string& ranks, const std::string& config) {
    std::string why;
    EXPECT_FALSE(read_rank_file(ranks, config, why));
    return why;
}

TEST(RankFile, IsRecognisedAndRefusedByLine) {
    EXPECT_TRUE(is_rank_file("IQ== 0\nIg== 1\n"));
    EXPECT_TRUE(is_rank_file("IQ== 0\r\n"));
    EXPECT_TRUE(is_rank_file("IQ== 0"));
    for (const char* text : {"", "\n", "{}", "IQ==", "IQ== ", "IQ== x", "IQ= 0", "I?== 0", " 0"}) {
        EXPECT_FALSE(is_rank_file(text)) << text;
    }
    const std::string ranks = kimi_file("tiktoken.model");
    const std::string config = kimi_file("tokenizer_config.json");
    EXPECT_TRUE(says(refusal(replaced(ranks, "Ig== 1\n", "Ig== one\n"), config),
                     "its line 2 is not a token in base64, a blank and a rank: 'Ig== one'"));
    EXPECT_TRUE(says(refusal(replaced(ranks, "Ig== 1\n", "I?== 1\n"), config),
                     "its line 2 is not a token"));
    EXPECT_TRUE(says(refusal(replaced(ranks, "Ig== 1\n", "Ig== 0\n"), config),
                     "its line 2 gives the rank 0 twice"));
    EXPECT_TRUE(says(refusal(replaced(ranks, "Ig== 1\n", "IQ== 1\n"), config),
                     "its line 2 gives a token twice"));
    EXPECT_TRUE(says(refusal(replaced(ranks, "Ig== 1\n", "Ig== 99999999\n"), config),
                     "the rank 99999999, which cannot be"));
    EXPECT_TRUE(says(refusal(replaced(ranks, "Ig== 1\n", ""), config),
                     "it has holes: no token has the rank 1"));
    EXPECT_TRUE(says(refusal("IQ== 0\n", config), "no token for the byte 0"));
    EXPECT_TRUE(
        says(refusal(ranks, config.substr(0, 40)), "tokenizer_config.json next to it is not JSON"));
    EXPECT_TRUE(says(refusal(ranks, R"({"added_tokens_decoder": {"x": {"content": "a"}}})"),
                     "an added token without an id"));
    EXPECT_TRUE(says(refusal(ranks, ""), "there is no tokenizer_config.json next to it"));
    EXPECT_TRUE(says(refusal(ranks, "{}"), "names no 'pat_str'"));
    EXPECT_TRUE(says(refusal(ranks, "{}"), "take the model's tokenizer.json"));
    std::string why;
    EXPECT_TRUE(read_rank_file(ranks, R"({"pat_str": "\\S+|\\s+"})", why)) << why;
    EXPECT_TRUE(says(refusal(ranks, R"({"pat_str": "("})"), "cannot be run"));
}

std::string base64(std::string_view bytes) {
    return base64_of({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

/// So many ranks: every byte, every two bytes, every three.
std::string made_up(std::uint32_t ranks) {
    std::string text = "\n";  // an empty line means nothing
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        std::string token(1, static_cast<char>(rank));
        if (rank >= 256) {
            const std::uint32_t pair = rank - 256;
            const std::uint32_t rest = pair < 65'536 ? pair : pair - 65'536;
            token = {static_cast<char>(rest >> 8 & 0xFF), static_cast<char>(rest & 0xFF)};
            token.insert(0, pair < 65'536 ? 0 : 1, static_cast<char>(rest >> 16));
        }
        text += base64(token) + " " + std::to_string(rank) + "\n";
    }
    return text;
}

// Without a word of how texts are cut, the number of ranks tells whose they are: their special
// tokens, and how they cut digits (tiktoken's openai_public.py, the models' own files).
TEST(RankFile, TheNumberOfRanksTellsWhoseTheyAre) {
    struct Case {
        std::uint32_t ranks;
        const char* special;
        TokenId id;
        std::size_t tokens;  // of 1234: 12 and 34; 12, 3 and 4 for those that cut threes; or each
    };
    for (const Case& known :
         {Case{50'256, "<|endoftext|>", 50256, 2}, Case{100'256, "<|endofprompt|>", 100276, 3},
          Case{128'000, "<|eot_id|>", 128009, 3}, Case{151'643, "<|im_end|>", 151645, 4},
          Case{163'584, nullptr, 0, 3}, Case{199'998, "<|endoftext|>", 199999, 3}}) {
        std::string why;
        Result<TokenizerParts> parts = read_rank_file(made_up(known.ranks), "", why);
        ASSERT_TRUE(parts) << why;
        Tokenizer tokenizer(std::move(parts).value());
        std::vector<TokenId> ids;
        tokenizer.encode("1234", ids);
        EXPECT_EQ(ids.size(), known.tokens) << known.ranks;
        if (known.special != nullptr) {
            ids.clear();
            tokenizer.encode(known.special, ids);
            EXPECT_EQ(ids, std::vector{known.id});
        }
    }
}

// p50k_base: the rank 50256 is that of a special token, and no line has it. Another hole is damage.
TEST(RankFile, TakesTheHoleOfP50kAndTekkenSaysWhatItLacks) {
    const auto with_hole = [](std::uint32_t hole) {
        const std::string line = " " + std::to_string(hole) + "\n";
        std::string text = made_up(50'281);
        const std::size_t end = text.find(line);
        const std::size_t begin = text.rfind('\n', end) + 1;
        return text.erase(begin, end + line.size() - begin);
    };
    std::string why;
    Result<TokenizerParts> parts = read_rank_file(with_hole(50'256), "", why);
    ASSERT_TRUE(parts) << why;
    Tokenizer tokenizer(std::move(parts).value());
    std::vector<TokenId> ids;
    tokenizer.encode("<|endoftext|>", ids);
    EXPECT_EQ(ids, std::vector<TokenId>{50'256});
    EXPECT_TRUE(says(refusal(with_hole(50'255), ""), "it has holes: no token has the rank 50255"));
    EXPECT_TRUE(says(refusal(with_hole(50'257), ""), "it has holes: no token has the rank 50257"));
    const auto tekken = [](const std::string& old, const std::string& put) {
        const std::string text =
            R"({"config":{"pattern":"a","default_vocab_size":300,"default_num_special_tokens":10},)"
            R"("vocab":[{"rank":0,"token_bytes":"AA=="}]})";
        std::string refused;
        EXPECT_FALSE(read_tekken(JsonText(replaced(text, old, put)).root, refused));
        return refused;
    };
    EXPECT_TRUE(says(tekken("AA==", "AA=="), "its 'vocab' ends after 1 of 290 tokens"));
    EXPECT_TRUE(says(tekken("AA==", "?"), "entry 0 of its 'vocab'"));
    EXPECT_TRUE(says(tekken("300", "3"), "lacks pattern, default_vocab_size"));
    EXPECT_TRUE(says(tekken("AA==", R"(AA=="},{"rank":0,"token_bytes":"AQ==)"),
                     "entry 1 of its 'vocab' gives the rank 0 twice"));
    EXPECT_TRUE(says(tekken("AA==", base64(std::string(4097, 'a'))),
                     "entry 0 of its 'vocab' gives a token of 4097 bytes, which cannot be"));
}

std::vector<std::size_t> cuts_of(std::string_view text, TextCuts cuts) {
    std::vector<std::size_t> all;
    for (const std::string_view part : cut_text(text, cuts)) {
        all.push_back(part.size());
    }
    return all;
}

using Sizes = std::vector<std::size_t>;

TEST(TextCuts, ComeInLongRunsAndCostKimiTokens) {
    EXPECT_EQ(cuts_of("abcdef", {}), Sizes({6}));
    EXPECT_EQ(cuts_of("abcdef", {6, 0}), Sizes({6}));
    EXPECT_EQ(cuts_of("abcdefg", {6, 0}), Sizes({6, 1}));
    EXPECT_EQ(cuts_of("\u00e9\u00e9\u00e9\u00e9\u00e9", {2, 0}), Sizes({4, 4, 2}));
    EXPECT_EQ(cuts_of("abcd efgh", {0, 4}), Sizes({9}));
    EXPECT_EQ(cuts_of("abcde fghi", {0, 4}), Sizes({4, 6}));
    EXPECT_EQ(cuts_of("abcde     f", {8, 4}), Sizes({4, 4, 3}));
    EXPECT_EQ(cuts_of("", {8, 4}), Sizes());
    // token-exact.md, section 4, row K: a text of words of four bytes gains a token per cut that
    // falls behind a blank, none where the cut falls just before one.
    Tokenizer tokenizer = load_tokenizer("kimi_ranks");
    std::string text = "the";
    while (text.size() < 1'000'000) {
        text += " the";
    }
    std::vector<TokenId> ids;
    tokenizer.encode("the the", ids);
    const std::size_t per_pair = ids.size();  // not one each: the vocabulary is tiny
    const auto count = [&](const std::string& of) {
        ids.clear();
        tokenizer.encode(of, ids);
        return ids.size();
    };
    ASSERT_EQ(per_pair % 2, 0U);
    const std::size_t words = (text.size() + 1) / 4;
    EXPECT_EQ(count(text), words * per_pair / 2 + 2);
    EXPECT_EQ(count("\n" + text), words * per_pair / 2 + count("\n"));
}

// Ids and decoded texts are those of the reference implementation, for tokenizers of every shape
// that servers use, over strings of mixed scripts, code, white space, emoji and all added tokens.

constexpr std::size_t shown_max = 5;  // failures of one tokenizer that are printed

void hold_against_reference(const std::string& name) {
    Tokenizer tokenizer = load_tokenizer(name);
    const Golden golden = read_golden(name);
    const std::vector<std::string>& strings = golden_strings();
    ASSERT_GE(strings.size(), 2000U);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < strings.size() && wrong < shown_max; ++i) {
        std::vector<TokenId> ids;
        std::vector<TokenId> with_special;
        tokenizer.encode(strings[i], ids);
        tokenizer.encode(strings[i], with_special, true);
        const GoldenText decoded = golden_text(with_replacements(tokenizer.decode(with_special)));
        const GoldenText plain =
            golden_text(with_replacements(tokenizer.decode(with_special, true)));
        EXPECT_EQ(ids, golden.ids[i]) << name << ", string " << i << ": '" << strings[i] << "'";
        EXPECT_EQ(with_special, golden.ids_with_special[i]) << name << ", string " << i;
        EXPECT_EQ(decoded, golden.decoded[i]) << name << ", string " << i;
        EXPECT_EQ(plain, golden.decoded_without_special[i]) << name << ", string " << i;
        wrong += ids != golden.ids[i] || with_special != golden.ids_with_special[i] ||
                 decoded != golden.decoded[i] || plain != golden.decoded_without_special[i];
    }
}

TEST(TokenizerGolden, TokenizersAgreeWithTheReference) {
    for (const std::string& name : small_tokenizers()) {
        hold_against_reference(name);
    }
    const std::vector<std::string> names = real_tokenizers();
    if (names.empty()) {
        GTEST_SKIP() << "no real tokenizers in " << SHARED_DATA;
    }
    for (const std::string& name : names) {
        hold_against_reference(name);
    }
}

}  // namespace
}  // namespace driftless
