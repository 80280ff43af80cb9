// The word lists are what they promise: distinct, of known length, safe where they must be.

#include "engine/prompt/word_table.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/prompt/builder.hpp"
#include "proto/core/hash.hpp"
#include "tests/unit/engine/prompt/golden.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

// 512 distinct words of three lower-case letters, four bytes with the blank.
TEST(WordTable, BuiltInHas512DistinctFourByteWords) {
    const WordTable& table = WordTable::built_in();
    ASSERT_EQ(table.size(), 512U);
    EXPECT_EQ(table.index_bits(), 9U);
    EXPECT_EQ(table.uniform_length(), 4U);
    EXPECT_EQ(table.separator(), ' ');
    std::set<std::string_view> words;
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        const std::string_view word = table.word(i);
        EXPECT_EQ(word.size(), 3U);
        EXPECT_TRUE(std::all_of(word.begin(), word.end(), [](char c) {
            return c >= 'a' && c <= 'z';
        })) << word;
        words.insert(word);
    }
    EXPECT_EQ(words.size(), 512U);
}

// Of the list in token-exact.md section 14, the words up to "zip" (475 of them) stand alone; those
// that may open a prompt are among them.
TEST(WordTable, BuiltInOpensPromptsWithStrictWordsOnly) {
    const WordTable& table = WordTable::built_in();
    EXPECT_EQ(table.word(0), "abs");
    EXPECT_EQ(table.word(474), "zip");
    EXPECT_EQ(table.word(475), "aid");
    EXPECT_EQ(table.word(511), "yet");
    EXPECT_EQ(table.first_bits(), 8U);
    EXPECT_EQ(table.openers(), 475U);
}

// Token ids are 4,096 consecutive numbers, at both ends of what --ids-from takes.
TEST(WordTable, TokenIdsAreConsecutiveDecimals) {
    for (const std::uint32_t from : {0U, 1000U, 8000U, WordTable::ids_from_max}) {
        const WordTable table = WordTable::token_ids(from);
        ASSERT_EQ(table.size(), 4096U);
        EXPECT_EQ(table.separator(), ',');
        for (std::uint32_t i = 0; i < table.size(); ++i) {
            ASSERT_EQ(table.word(i), std::to_string(from + i));
        }
    }
    EXPECT_EQ(WordTable::token_ids(1000).uniform_length(), 5U);
    EXPECT_EQ(WordTable::token_ids(8000).uniform_length(), 0U) << "four digits and five";
}

// Dropping words leaves the largest power of two of the rest, in order, and openers that were
// openers before; below 256 words, or two openers, nothing.
TEST(WordTable, DropsWords) {
    const WordTable& table = WordTable::built_in();
    EXPECT_EQ(table.without({})->digest(), table.digest());
    const std::uint32_t two[] = {0, 300};
    const WordTable less = table.without(two).value();
    EXPECT_EQ(less.size(), 256u);
    EXPECT_EQ(less.word(0), "acc");
    EXPECT_EQ(less.word(255), table.word(256));
    EXPECT_EQ(less.openers(), 256u);
    EXPECT_EQ(less.first_bits(), 8u);
    EXPECT_NE(less.digest(), table.digest());
    std::vector<std::uint32_t> dropped(256);
    std::iota(dropped.begin(), dropped.end(), 0u);
    const WordTable half = table.without(dropped).value();
    EXPECT_EQ(half.size(), 256u);
    EXPECT_EQ(half.word(255), "yet");
    EXPECT_EQ(half.openers(), 475u - 256u);
    EXPECT_EQ(half.first_bits(), 7u);
    dropped.push_back(256);
    EXPECT_FALSE(table.without(dropped).has_value()) << "255 words are left";
    std::vector<std::uint32_t> strict(474);
    std::iota(strict.begin(), strict.end(), 0u);
    EXPECT_FALSE(table.without(strict).has_value());
}

// A slot is the separator and the word, stored as they stand.
TEST(WordTable, SlotsAreReadyToStore) {
    const WordTable& table = WordTable::built_in();
    const std::uint64_t slot = table.slot(1);
    char bytes[8];
    std::memcpy(bytes, &slot, sizeof bytes);
    EXPECT_EQ(std::string_view(bytes, table.length(1)), " acc");
}

// Words chosen from a tokenizer make prompts of exactly as many tokens as words, whose blocks keep
// their tokens wherever they stand; what cannot give such words is refused by name.

constexpr std::uint32_t prompts_by_default = 30;
constexpr double words_of_prompt_max = 20'000;

// Vocabularies of models in use: the built-in words hold for them.
std::vector<std::string> large_tokenizers() {
    std::vector<std::string> names = real_tokenizers();
    for (const std::string& name : fetched_tokenizers()) {
        names.push_back(name);
    }
    return names;
}

SelectedWords select(const std::string& name) {
    std::string why;
    Result<SelectedWords> selected = load_words(tokenizer_path(name), why);
    EXPECT_TRUE(selected) << why;
    return std::move(selected).value();
}

struct Workload {
    Trace trace;
    PromptOptions options;
};

// Rows of all lengths over a small pool of block ids, so that blocks come again at other places.
Workload random_workload(Random& random, std::uint32_t block_size) {
    Workload load;
    load.trace.block_size = block_size;
    for (std::uint32_t i = 0; i < prompts_of_each(prompts_by_default) / 2; ++i) {
        TraceRow row;
        row.index = i;
        row.input_length =
            static_cast<std::uint32_t>(std::exp(random.uniform() * std::log(words_of_prompt_max)));
        row.ids_begin = load.trace.ids.size();
        row.ids_count = (row.input_length + block_size - 1) / block_size;
        for (std::uint32_t k = 0; k < row.ids_count; ++k) {
            load.trace.ids.push_back(random.below(200));
        }
        load.trace.rows.push_back(row);
    }
    load.options.overhead = {static_cast<std::uint32_t>(random.below(40)),
                             static_cast<std::uint32_t>(random.below(6))};
    return load;
}

std::string build_whole(PromptBuilder& builder, const TraceRow& row) {
    std::string text(builder.room_of(row), '#');
    PromptCursor cursor = builder.begin(row);
    while (!builder.fill(cursor, text.data(), 4096)) {
    }
    text.resize(cursor.bytes);
    return text;
}

// Where the server's count and the places of blocks come from: the tokenizer itself.
void check_prompts(Tokenizer& tokenizer, const WordTable& words, const Workload& load) {
    PromptBuilder builder(load.trace, words, load.options);
    std::map<std::uint64_t, std::vector<TokenId>> blocks;
    for (const TraceRow& row : load.trace.rows) {
        std::vector<TokenId> ids;
        tokenizer.encode(build_whole(builder, row), ids);
        ASSERT_EQ(ids.size(), builder.words_of(row));
        const std::uint32_t pre = load.options.overhead.pre;
        const std::uint32_t size = load.trace.block_size;
        for (std::uint32_t k = pre / size + 1; (k + 1) * size <= pre + ids.size(); ++k) {
            const auto begin = ids.begin() + (k * size - pre);
            const std::vector<TokenId> block(begin, begin + size);
            const auto [seen, is_new] =
                blocks.try_emplace(load.trace.ids[row.ids_begin + k], block);
            ASSERT_TRUE(is_new || seen->second == block) << "block " << k;
        }
    }
}

TEST(WordSelection, PromptsAreExactAndBlocksKeepTheirTokens) {
    Random random(1);
    for (const std::string& name : usable_tokenizers()) {
        SCOPED_TRACE(name);
        Tokenizer tokenizer = load_tokenizer(name);
        const SelectedWords selected = select(name);
        for (const std::uint32_t block_size : {16U, 512U}) {
            check_prompts(tokenizer, selected.table, random_workload(random, block_size));
        }
    }
}

TEST(WordSelection, BuiltInWordsAreExactForModelsInUse) {
    if (large_tokenizers().empty()) {
        GTEST_SKIP() << "no real tokenizers in " << SHARED_DATA;
    }
    Random random(3);
    for (const std::string& name : large_tokenizers()) {
        SCOPED_TRACE(name);
        Tokenizer tokenizer = load_tokenizer(name);
        for (const std::uint32_t block_size : {16U, 512U}) {
            check_prompts(tokenizer, WordTable::built_in(), random_workload(random, block_size));
        }
    }
}

// Two prompts that share k blocks share those tokens and, before a page of 16 is full, part.
TEST(WordSelection, SharedBlocksAreSharedTokensAndNothingMore) {
    Random random(2);
    for (const std::string& name : usable_tokenizers()) {
        SCOPED_TRACE(name);
        Tokenizer tokenizer = load_tokenizer(name);
        const SelectedWords selected = select(name);
        for (int round = 0; round < 50; ++round) {
            const auto shared = static_cast<std::uint32_t>(random.below(8));
            Trace trace;
            trace.block_size = 64;
            for (std::uint64_t other : {1000, 2000}) {
                TraceRow row;
                row.input_length = 10 * 64;
                row.ids_begin = trace.ids.size();
                row.ids_count = 10;
                for (std::uint32_t k = 0; k < 10; ++k) {
                    trace.ids.push_back(static_cast<std::uint64_t>(round) * 10'000 + k +
                                        (k < shared ? 0 : other));
                }
                trace.rows.push_back(row);
            }
            PromptBuilder builder(trace, selected.table, {});
            std::vector<TokenId> a;
            std::vector<TokenId> b;
            tokenizer.encode(build_whole(builder, trace.rows[0]), a);
            tokenizer.encode(build_whole(builder, trace.rows[1]), b);
            const auto common = std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin();
            ASSERT_GE(common, shared * 64);
            ASSERT_LT(common, shared * 64 + 16);
        }
        EXPECT_LE(head_words(selected.table), 16U);
    }
}

// Figures that an independent prototype found with the reference implementation (Rust) before any
// of this was written.
TEST(WordSelection, RealTokenizersGiveTheWordsThatWereMeasured) {
    if (real_tokenizers().size() < 2) {
        GTEST_SKIP() << "no real tokenizers in " << SHARED_DATA;
    }
    const SelectedWords qwen = select("qwen2");
    EXPECT_EQ(qwen.figures.kind, "byte-level BPE");
    EXPECT_EQ(qwen.figures.candidates, 24'833U);
    EXPECT_EQ(qwen.figures.strict, 7'349U);
    EXPECT_EQ(qwen.table.size(), 4096U);
    const SelectedWords phi = select("phi3");
    EXPECT_EQ(phi.figures.kind, "BPE over characters with byte fallback");
    EXPECT_EQ(phi.figures.candidates, 9'296U);
    EXPECT_EQ(phi.figures.strict, 3'124U);
    EXPECT_EQ(phi.table.size(), 2048U);
    const auto mean_bytes = [](const WordTable& table) {
        double bytes = 0;
        for (std::uint32_t i = 0; i < table.size(); ++i) {
            bytes += table.length(i);
        }
        return bytes / table.size();
    };
    EXPECT_NEAR(mean_bytes(qwen.table), 4.49, 0.005);
    EXPECT_NEAR(mean_bytes(phi.table), 4.37, 0.005);
    // Words that the built-in list has are strict everywhere.
    EXPECT_EQ(qwen.table.word(0).size(), 1U);
}

class TemporaryFile {
  public:
    explicit TemporaryFile(const std::string& text) {
        const int fd = ::mkstemp(path_.data());
        EXPECT_GE(fd, 0);
        EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
        ::close(fd);
    }
    ~TemporaryFile() { std::remove(path_.c_str()); }
    const std::string& path() const { return path_; }

  private:
    std::string path_ = "/tmp/driftless-words-XXXXXX";
};

std::string refusal_of(const std::string& text) {
    const TemporaryFile file(text);
    std::string why;
    const Result<SelectedWords> selected = load_words(file.path(), why);
    EXPECT_FALSE(selected) << text.substr(0, 200);
    EXPECT_TRUE(says(why, file.path()));
    return why;
}

void expect_says(const std::string& message, const std::string& part) {
    EXPECT_TRUE(says(message, part));
}

TEST(WordSelection, RefusesByNameWhatCannotGiveWords) {
    const std::string gpt2 = read_whole(tokenizer_path("gpt2"));
    expect_says(refusal_of(gpt2.substr(0, gpt2.size() / 2)), "cut off after");
    expect_says(refusal_of("no json"), "byte 0 is wrong");
    expect_says(refusal_of("{}"), "it has no 'model'");
    expect_says(refusal_of("[]"), "it has no 'model'");
    expect_says(refusal_of(""), "it is empty");
    expect_says(refusal_of(std::string("\n\0\0", 3)), "SentencePiece model");
    expect_says(refusal_of(replaced(gpt2, R"("type":"BPE")", R"("type":"Unigram")")), "'Unigram'");
    expect_says(refusal_of(replaced(gpt2, R"("type":"ByteLevel")", R"("type":"Astral")")),
                "pre-tokenizer of type 'Astral'");
    expect_says(refusal_of(replaced(gpt2, R"("normalizer":null)",
                                    R"("normalizer":{"type":"Precompiled"})")),
                "normalizer of type 'Precompiled'");
    expect_says(refusal_of(replaced(gpt2, R"("e":69,)", R"("e":68,)")), "two of its tokens");
    expect_says(refusal_of(replaced(gpt2, R"("merges":[)", R"("merges":[["e","nowhere"],)")),
                "names a token that its vocabulary lacks");
    expect_says(refusal_of(replaced(gpt2, R"("dropout":null)", R"("dropout":0.1)")), "dropout");
    const std::string added = R"("added_tokens":[{"id":5000,"content":"n in","normalized":true},)";
    expect_says(refusal_of(replaced(gpt2, R"("added_tokens":[)", added)), "'n in'");
    const std::string hidden = R"("added_tokens":[{"id":5000,"content":"e","normalized":true},)";
    expect_says(refusal_of(replaced(gpt2, R"("added_tokens":[)", hidden)), "only ");
    std::string why;
    EXPECT_FALSE(load_words("/nowhere/tokenizer.json", why));
    expect_says(why, "does not exist");
    EXPECT_FALSE(load_words("/tmp", why));
    expect_says(why, "is a folder");
}

// A token whose id is missing is named; the remedy is a whole file.
TEST(WordSelection, RefusesAVocabularyWithHoles) {
    const std::string gpt2 = read_whole(tokenizer_path("gpt2"));
    const std::string moved = replaced(gpt2, R"("zo":)", R"("zo":9)");
    expect_says(refusal_of(moved), "vocabulary has holes: no token has the id ");
}

// Words that have a token with the blank in front, and texts that are cut between the two: what
// counts is the text.
TEST(WordSelection, RefusesWordsThatTheirTextsCut) {
    const std::string gpt2 = read_whole(tokenizer_path("gpt2"));
    const std::string byte_level =
        R"("pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,)"
        R"("use_regex":true})";
    const std::string cut_at_blanks =
        R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":)"
        R"({"String":" "},"behavior":"Isolated"},{"type":"ByteLevel","add_prefix_space":false,)"
        R"("use_regex":false}]})";
    expect_says(refusal_of(replaced(gpt2, byte_level, cut_at_blanks)),
                "its pre-tokenizer cuts words from the blank in front of them");
}

// Of tokens that reach beyond a word, those that no text becomes are passed over.
TEST(WordSelection, PassesOverTokensThatAreNeverMade) {
    const std::string gpt2 = read_whole(tokenizer_path("gpt2"));
    const std::string never = R"("vocab":{"e\u0120t":1100,)";
    const TemporaryFile file(replaced(gpt2, R"("vocab":{)", never));
    std::string why;
    EXPECT_TRUE(load_words(file.path(), why)) << why;
}

TEST(WordSelection, RefusesTokenizersThatJoinWords) {
    std::string why;
    EXPECT_FALSE(load_words(tokenizer_path("superword"), why));
    expect_says(why, "tokens that span more than one word");
}

}  // namespace

}  // namespace driftless
