// Rank files are recognised by content, cut as tokenizer_config.json or the number of ranks says,
// and refused by line where they are damaged. Expected ids: see digest_test.cpp; here, what the
// program around Kimi's tokenizer does to long texts, by its published constants.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/prompt/tokenizer.hpp"
#include "tests/unit/engine/prompt/golden.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

std::string kimi_file(const std::string& name) {
    return read_whole(std::string(TEST_DATA) + "/tokenizers/kimi_ranks/" + name);
}

std::string refusal(const std::string& ranks, const std::string& config) {
    std::string why;
    EXPECT_FALSE(read_rank_file(ranks, config, why));
    return why;
}

void expect_says(const std::string& message, const std::string& part) {
    EXPECT_TRUE(says(message, part));
}

TEST(RankFile, IsRecognisedByItsFirstLine) {
    EXPECT_TRUE(is_rank_file("IQ== 0\nIg== 1\n"));
    EXPECT_TRUE(is_rank_file("IQ== 0\r\n"));
    EXPECT_TRUE(is_rank_file("IQ== 0"));
    for (const char* text : {"", "\n", "{}", "IQ==", "IQ== ", "IQ== x", "IQ= 0", "I?== 0", " 0"}) {
        EXPECT_FALSE(is_rank_file(text)) << text;
    }
}

TEST(RankFile, DamageIsNamedByLine) {
    const std::string ranks = kimi_file("tiktoken.model");
    const std::string config = kimi_file("tokenizer_config.json");
    expect_says(refusal(replaced(ranks, "Ig== 1\n", "Ig== one\n"), config),
                "its line 2 is not a token in base64, a blank and a rank: 'Ig== one'");
    expect_says(refusal(replaced(ranks, "Ig== 1\n", "I?== 1\n"), config),
                "its line 2 is not a token");
    expect_says(refusal(replaced(ranks, "Ig== 1\n", "Ig== 0\n"), config),
                "its line 2 gives the rank 0 twice");
    expect_says(refusal(replaced(ranks, "Ig== 1\n", "IQ== 1\n"), config),
                "its line 2 gives a token twice");
    expect_says(refusal(replaced(ranks, "Ig== 1\n", "Ig== 99999999\n"), config),
                "the rank 99999999, which cannot be");
    expect_says(refusal(replaced(ranks, "Ig== 1\n", ""), config),
                "it has holes: no token has the rank 1");
    expect_says(refusal("IQ== 0\n", config), "no token for the byte 0");
    expect_says(refusal(ranks, config.substr(0, 40)),
                "tokenizer_config.json next to it is not JSON");
    expect_says(refusal(ranks, R"({"added_tokens_decoder": {"x": {"content": "a"}}})"),
                "an added token without an id");
}

TEST(RankFile, UnknownCutsAreRefusedWithTheRemedy) {
    const std::string ranks = kimi_file("tiktoken.model");
    expect_says(refusal(ranks, ""), "there is no tokenizer_config.json next to it");
    expect_says(refusal(ranks, "{}"), "names no 'pat_str'");
    expect_says(refusal(ranks, "{}"), "take the model's tokenizer.json");
    std::string why;
    EXPECT_TRUE(read_rank_file(ranks, R"({"pat_str": "\\S+|\\s+"})", why)) << why;
    expect_says(refusal(ranks, R"({"pat_str": "("})"), "cannot be run");
}

std::string base64(std::string_view bytes) {
    constexpr std::string_view letters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (; !bytes.empty(); bytes.remove_prefix(std::min<std::size_t>(3, bytes.size()))) {
        std::uint32_t bits = 0;
        for (std::size_t i = 0; i < 3; ++i) {
            bits = bits << 8 | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U);
        }
        for (std::size_t i = 0; i < 4; ++i) {
            out += i > bytes.size() ? '=' : letters[bits >> (18 - 6 * i) & 63];
        }
    }
    return out;
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
TEST(RankFile, TakesTheHoleOfP50k) {
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
    expect_says(refusal(with_hole(50'255), ""), "it has holes: no token has the rank 50255");
    expect_says(refusal(with_hole(50'257), ""), "it has holes: no token has the rank 50257");
}

TEST(RankFile, TekkenSaysWhatItLacks) {
    JsonDocument document;
    std::string why;
    const std::string text =
        R"({"config":{"pattern":"a","default_vocab_size":300,"default_num_special_tokens":10},)"
        R"("vocab":[{"rank":0,"token_bytes":"AA=="}]})";
    EXPECT_FALSE(read_tekken(document.parse(text).value(), why));
    expect_says(why, "its 'vocab' ends after 1 of 290 tokens");
    EXPECT_FALSE(read_tekken(document.parse(replaced(text, "AA==", "?")).value(), why));
    expect_says(why, "entry 0 of its 'vocab'");
    EXPECT_FALSE(read_tekken(document.parse(replaced(text, "300", "3")).value(), why));
    expect_says(why, "lacks pattern, default_vocab_size");
    const std::string twice = R"(AA=="},{"rank":0,"token_bytes":"AQ==)";
    EXPECT_FALSE(read_tekken(document.parse(replaced(text, "AA==", twice)).value(), why));
    expect_says(why, "entry 1 of its 'vocab' gives the rank 0 twice");
    const std::string huge = base64(std::string(4097, 'a'));
    EXPECT_FALSE(read_tekken(document.parse(replaced(text, "AA==", huge)).value(), why));
    expect_says(why, "entry 0 of its 'vocab' gives a token of 4097 bytes, which cannot be");
}

std::vector<std::size_t> cuts_of(std::string_view text, TextCuts cuts) {
    std::vector<std::size_t> all;
    for (TextCutter cutter(cuts); !text.empty();) {
        all.push_back(cutter.next(text));
        text.remove_prefix(all.back());
    }
    return all;
}

using Sizes = std::vector<std::size_t>;

TEST(TextCuts, ComeEachSoManyCodePointsAndInLongRuns) {
    EXPECT_EQ(cuts_of("abcdef", {}), Sizes({6}));
    EXPECT_EQ(cuts_of("abcdef", {6, 0}), Sizes({6}));
    EXPECT_EQ(cuts_of("abcdefg", {6, 0}), Sizes({6, 1}));
    EXPECT_EQ(cuts_of("\u00e9\u00e9\u00e9\u00e9\u00e9", {2, 0}), Sizes({4, 4, 2}));
    EXPECT_EQ(cuts_of("abcd efgh", {0, 4}), Sizes({9}));
    EXPECT_EQ(cuts_of("abcde fghi", {0, 4}), Sizes({4, 6}));
    EXPECT_EQ(cuts_of("abcde     f", {8, 4}), Sizes({4, 4, 3}));
    EXPECT_EQ(cuts_of("", {8, 4}), Sizes());
}

// token-exact.md, section 4, row K: a text of words of four bytes gains a token per cut that falls
// behind a blank, none where the cut falls just before one.
TEST(TextCuts, OfKimiCostATokenUnlessTheyFallBeforeABlank) {
    Tokenizer tokenizer = load_tokenizer("kimi_ranks");
    std::string text = "the";
    while (text.size() < 1'000'000) {
        text += " the";
    }
    std::vector<TokenId> ids;
    tokenizer.encode("the the", ids);
    const std::size_t per_pair = ids.size();  // not one each: the vocabulary is tiny
    const auto tokens = [&](const std::string& of) {
        ids.clear();
        tokenizer.encode(of, ids);
        return ids.size();
    };
    ASSERT_EQ(per_pair % 2, 0U);
    const std::size_t words = (text.size() + 1) / 4;
    EXPECT_EQ(tokens(text), words * per_pair / 2 + 2);
    EXPECT_EQ(tokens("\n" + text), words * per_pair / 2 + tokens("\n"));
}

}  // namespace
}  // namespace driftless
