// The words of prompts: lists, and texts of a dataset.

#include "engine/prompt/corpus.hpp"

#include "engine/prompt/builder.hpp"
#include "tests/unit/engine/prompt/golden.hpp"
#include "tests/unit/made.hpp"
#include "tests/unit/scratch_folder.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

// 512 distinct words of three lower-case letters, four bytes with the blank.
TEST(WordTable, BuiltInWordsAndTokenIds) {
    const WordTable& table = WordTable::built_in();
    ASSERT_EQ(table.size(), 512U);
    EXPECT_EQ(std::tuple(table.index_bits(), table.uniform_length()), std::tuple(9U, 4U));
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
    // Of the list in token-exact.md section 14, the words up to "zip" (475 of them) stand alone;
    // those that may open a prompt are among them.
    EXPECT_EQ(std::tuple(table.word(0), table.word(474)), std::tuple("abs", "zip"));
    EXPECT_EQ(std::tuple(table.word(475), table.word(511), table.first_bits(), table.openers()),
              std::tuple("aid", "yet", 8U, 475U));
    // Token ids are 4,096 consecutive numbers, at both ends of what --ids-from takes.
    for (const std::uint32_t from : {0U, 1000U, 8000U, WordTable::ids_from_max}) {
        const WordTable other_table = WordTable::token_ids(from);
        ASSERT_EQ(other_table.size(), 4096U);
        EXPECT_EQ(other_table.separator(), ',');
        for (std::uint32_t i = 0; i < other_table.size(); ++i) {
            ASSERT_EQ(other_table.word(i), std::to_string(from + i));
        }
    }
    EXPECT_EQ(WordTable::token_ids(1000).uniform_length(), 5U);
    EXPECT_EQ(WordTable::token_ids(8000).uniform_length(), 0U) << "four digits and five";
}

// Dropping words leaves the largest power of two of the rest, in order, and openers that were
// openers before; below 256 words, or two openers, nothing.
TEST(WordTable, DropsWordsAndKeepsSlotsReady) {
    const WordTable& table = WordTable::built_in();
    EXPECT_EQ(table.without({})->digest(), table.digest());
    const std::uint32_t two[] = {0, 300};
    const WordTable less = table.without(two).value();
    EXPECT_EQ(std::tuple(less.size(), less.word(0), less.word(255), less.openers()),
              std::tuple(256u, "acc", table.word(256), 256u));
    EXPECT_EQ(less.first_bits(), 8u);
    EXPECT_NE(less.digest(), table.digest());
    std::vector<std::uint32_t> dropped(256);
    std::iota(dropped.begin(), dropped.end(), 0u);
    const WordTable half = table.without(dropped).value();
    EXPECT_EQ(std::tuple(half.size(), half.word(255), half.openers(), half.first_bits()),
              std::tuple(256u, "yet", 475u - 256u, 7u));
    dropped.push_back(256);
    EXPECT_FALSE(table.without(dropped).has_value()) << "255 words are left";
    std::vector<std::uint32_t> strict(474);
    std::iota(strict.begin(), strict.end(), 0u);
    EXPECT_FALSE(table.without(strict).has_value());
    // A slot is the separator and the word, stored as they stand.
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
    std::ranges::copy(fetched_tokenizers(), std::back_inserter(names));
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
    Workload load{.trace = {.block_size = block_size}};
    for (std::uint32_t i = 0; i < prompts_of_each(prompts_by_default) / 2; ++i) {
        const auto length =
            static_cast<std::uint32_t>(std::exp(random.uniform() * std::log(words_of_prompt_max)));
        std::vector<std::uint64_t> ids((length + block_size - 1) / block_size);
        std::generate(ids.begin(), ids.end(), [&random] { return random.below(200); });
        append_row(load.trace, {.input_length = length}, ids);
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

TEST(WordSelection, PromptsAreExactForModelsInUse) {
    Random random(1);
    for (const std::string& name : usable_tokenizers()) {
        SCOPED_TRACE(name);
        Tokenizer tokenizer = load_tokenizer(name);
        const SelectedWords selected = select(name);
        for (const std::uint32_t block_size : {16U, 512U}) {
            check_prompts(tokenizer, selected.table, random_workload(random, block_size));
        }
    }
    if (large_tokenizers().empty()) {
        GTEST_SKIP() << "no real tokenizers in " << SHARED_DATA;
    }
    Random other_random(3);
    for (const std::string& name : large_tokenizers()) {
        SCOPED_TRACE(name);
        Tokenizer tokenizer = load_tokenizer(name);
        for (const std::uint32_t block_size : {16U, 512U}) {
            check_prompts(tokenizer, WordTable::built_in(),
                          random_workload(other_random, block_size));
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
            Trace trace{.block_size = 64};
            for (std::uint64_t other : {1000, 2000}) {
                std::vector<std::uint64_t> ids;
                for (std::uint32_t k = 0; k < 10; ++k) {
                    ids.push_back(static_cast<std::uint64_t>(round) * 10'000 + k +
                                  (k < shared ? 0 : other));
                }
                append_row(trace, {.input_length = 10 * 64}, ids);
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
    EXPECT_EQ(std::tuple(qwen.figures.kind, qwen.figures.candidates, qwen.figures.strict),
              std::tuple("byte-level BPE", 24'833U, 7'349U));
    EXPECT_EQ(qwen.table.size(), 4096U);
    const SelectedWords phi = select("phi3");
    EXPECT_EQ(phi.figures.kind, "BPE over characters with byte fallback");
    EXPECT_EQ(std::tuple(phi.figures.candidates, phi.figures.strict), std::tuple(9'296U, 3'124U));
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

std::string refusal_of(const std::string& text) {
    const ScratchFolder folder;
    const std::string path = folder.write("tokenizer.json", text);
    std::string why;
    EXPECT_FALSE(load_words(path, why)) << text.substr(0, 200);
    EXPECT_TRUE(says(why, path));
    return why;
}

TEST(WordSelection, RefusesByNameWhatCannotGiveWords) {
    const std::string gpt2 = read_whole(tokenizer_path("gpt2"));
    expect_saying(
        refusal_of, gives(gpt2.substr(0, gpt2.size() / 2), "cut off after"),
        gives("no json", "byte 0 is wrong"), gives("{}", "it has no 'model'"),
        gives("[]", "it has no 'model'"), gives("", "it is empty"),
        gives(std::string("\n\0\0", 3), "SentencePiece model"),
        gives(replaced(gpt2, R"("type":"BPE")", R"("type":"Unigram")"), "'Unigram'"),
        gives(replaced(gpt2, R"("type":"ByteLevel")", R"("type":"Astral")"),
              "pre-tokenizer of type 'Astral'"),
        gives(replaced(gpt2, R"("normalizer":null)", R"("normalizer":{"type":"Precompiled"})"),
              "normalizer of type 'Precompiled'"),
        gives(replaced(gpt2, R"("e":69,)", R"("e":68,)"), "two of its tokens"),
        gives(replaced(gpt2, R"("merges":[)", R"("merges":[["e","nowhere"],)"),
              "names a token that its vocabulary lacks"),
        gives(replaced(gpt2, R"("dropout":null)", R"("dropout":0.1)"), "dropout"),
        gives(replaced(gpt2, R"("zo":)", R"("zo":9)"),
              "vocabulary has holes: no token has the id "));
    const std::string added = R"("added_tokens":[{"id":5000,"content":"n in","normalized":true},)";
    EXPECT_TRUE(says(refusal_of(replaced(gpt2, R"("added_tokens":[)", added)), "'n in'"));
    const std::string hidden = R"("added_tokens":[{"id":5000,"content":"e","normalized":true},)";
    EXPECT_TRUE(says(refusal_of(replaced(gpt2, R"("added_tokens":[)", hidden)), "only "));
    std::string why;
    EXPECT_FALSE(load_words("/nowhere/tokenizer.json", why));
    EXPECT_TRUE(says(why, "does not exist"));
    EXPECT_FALSE(load_words("/tmp", why));
    EXPECT_TRUE(says(why, "is a folder"));
}

// Words that have a token with the blank in front, and texts that are cut between the two: what
// counts is the text.
TEST(WordSelection, RefusesWordsThatTextsCutOrTokensJoin) {
    const std::string gpt2 = read_whole(tokenizer_path("gpt2"));
    const std::string byte_level =
        R"("pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,)"
        R"("use_regex":true})";
    const std::string cut_at_blanks =
        R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":)"
        R"({"String":" "},"behavior":"Isolated"},{"type":"ByteLevel","add_prefix_space":false,)"
        R"("use_regex":false}]})";
    EXPECT_TRUE(says(refusal_of(replaced(gpt2, byte_level, cut_at_blanks)),
                     "its pre-tokenizer cuts words from the blank in front of them"));
    // Of tokens that reach beyond a word, those that no text becomes are passed over.
    std::string why;
    EXPECT_FALSE(load_words(tokenizer_path("superword"), why));
    EXPECT_TRUE(says(why, "tokens that span more than one word"));
    const ScratchFolder folder;
    const std::string never = replaced(gpt2, R"("vocab":{)", R"("vocab":{"e\u0120t":1100,)");
    EXPECT_TRUE(load_words(folder.write("tokenizer.json", never), why)) << why;
}

// Prompts of a dataset's text are exactly as many tokens as they must be, to every tokenizer; they
// depend on seed and row alone; and each is its own within the first tokens.

// Prose that is drawn, and between it the strings that the tokenizers' own tests use: scripts,
// code, white space, emoji, and the added tokens of all families.
std::vector<std::string> mixed_texts(std::size_t count) {
    constexpr const char* words[] = {"the",  "Model", "answers", "what,", "it's",  "a \"quoted\"",
                                     "3.14", "New",   "ways\n",  "(of)",  "being", "asked?",
                                     "In",   "short", "words:",  "naïve", "and",   "no\tmore."};
    Random random(5);
    std::vector<std::string> texts;
    const std::vector<std::string>& strings = golden_strings();
    for (std::size_t i = 0; i < count; ++i) {
        std::string text;
        for (std::uint64_t left = 5 + random.below(80); left > 0; --left) {
            text += (text.empty() ? "" : " ") + std::string(words[random.below(std::size(words))]);
        }
        texts.push_back(text);
        texts.push_back(strings[i % strings.size()]);
    }
    return texts;
}

std::string unescaped(const std::string& escaped) {
    return std::string(JsonText('"' + escaped + '"').root.as_string().value_or(""));
}

std::string build(PromptBuilder& builder, const TraceRow& row, std::uint32_t slice = 4096) {
    std::string text(builder.room_of(row), '#');
    PromptCursor cursor = builder.begin(row);
    while (!builder.fill(cursor, text.data(), slice)) {
    }
    EXPECT_LE(cursor.bytes + write_slack, text.size());
    text.resize(cursor.bytes);
    return text;
}

Trace random_rows(std::uint32_t rows, double length_max) {
    Random random(1);
    Trace trace;
    for (std::uint32_t i = 0; i < rows; ++i) {
        const double length = std::exp(random.uniform() * std::log(length_max));
        append_row(trace, {.input_length = static_cast<std::uint32_t>(length)});
    }
    return trace;
}

Corpus corpus_of(Tokenizer& tokenizer, const WordTable& table,
                 const std::vector<std::string>& texts, CorpusFigures* figures = nullptr) {
    CorpusMaker maker(tokenizer, table.word(0));
    EXPECT_EQ(maker.refused(), "");
    for (const std::string& text : texts) {
        maker.add(text);
    }
    Corpus corpus = maker.finish();
    if (figures != nullptr) {
        *figures = maker.figures();
    }
    return corpus;
}

TEST(Corpus, PromptsAreExactForEveryTokenizer) {
    const std::vector<std::string> texts =
        mixed_texts(prompts_of_each(20) < 1'000 ? 300 : golden_strings().size());
    for (const std::string& name : usable_tokenizers()) {
        SCOPED_TRACE(name);
        Tokenizer tokenizer = load_tokenizer(name);
        std::string why;
        const Result<SelectedWords> words = select_words(tokenizer, name, why);
        ASSERT_TRUE(words) << why;
        CorpusFigures figures;
        const Corpus corpus = corpus_of(tokenizer, words.value().table, texts, &figures);
        EXPECT_GT(corpus.tokens(), 6'000u);
        EXPECT_LT(figures.left_out_bytes, figures.bytes / 2);
        EXPECT_EQ(figures.sections_left_out, 0u);
        const Trace trace = random_rows(prompts_of_each(20), 6'000);
        PromptOptions options{.overhead = {3, 5}, .corpus = &corpus};
        PromptBuilder builder(trace, words.value().table, options);
        std::vector<TokenId> ids;
        std::vector<TokenId> again;
        for (const TraceRow& row : trace.rows) {
            const std::string text = unescaped(build(builder, row));
            ids.clear();
            tokenizer.encode(text, ids);
            ASSERT_EQ(ids.size(), builder.words_of(row)) << text;
            again.clear();
            tokenizer.encode(tokenizer.decode(ids), again);
            ASSERT_EQ(again, ids) << text;
        }
    }
}

class CorpusOfOne : public testing::Test {
  protected:
    Tokenizer tokenizer_ = load_tokenizer("llama3");
    std::string why_;
    SelectedWords words_ = select_words(tokenizer_, "llama3", why_).value();
    Corpus corpus_ = corpus_of(tokenizer_, words_.table, mixed_texts(200));

    PromptOptions options(std::uint64_t seed = 0) const {
        return PromptOptions{.seed = seed, .corpus = &corpus_};
    }
};

// No slice changes a byte, and most of a long prompt is the dataset's text.
TEST_F(CorpusOfOne, SlicesChangeNothing) {
    Trace trace = random_rows(30, 4'000);
    PromptBuilder builder(trace, words_.table, options());
    for (const TraceRow& row : trace.rows) {
        const std::string whole = build(builder, row);
        for (const std::uint32_t slice : {1u, 7u, 100u, 100'000u}) {
            EXPECT_EQ(build(builder, row, slice), whole);
        }
    }
    trace.rows[0].input_length = 1000;
    const std::string text = build(builder, trace.rows[0]);
    EXPECT_TRUE(says(std::string(corpus_.bytes()).append(corpus_.bytes()), text.substr(100, 200)));
}

// A slice copies a bounded number of bytes, whatever a token has.
TEST_F(CorpusOfOne, BoundsASlice) {
    Trace trace = random_rows(1, 2);
    trace.rows[0].input_length = 10'000;
    PromptBuilder builder(trace, words_.table, options());
    std::string text(builder.room_of(trace.rows[0]), '#');
    PromptCursor cursor = builder.begin(trace.rows[0]);
    constexpr std::uint32_t slice = 256;
    for (bool done = false; !done;) {
        const std::size_t before = cursor.bytes;
        done = builder.fill(cursor, text.data(), slice);
        EXPECT_LE(cursor.bytes - before, slice * 8 + 2 * CorpusMaker::piece_bytes_max);
    }
}

// No two rows share their first tokens, and no two seeds or salts a prompt; one seed gives one
// prompt.
TEST_F(CorpusOfOne, RowsShareNothing) {
    Trace trace = random_rows(2'000, 2);
    PromptBuilder builder(trace, words_.table, options());
    std::set<std::vector<TokenId>> heads;
    std::vector<TokenId> ids;
    for (TraceRow& row : trace.rows) {
        row.input_length = 40;
        ids.clear();
        tokenizer_.encode(unescaped(build(builder, row)), ids);
        ASSERT_EQ(ids.size(), 40u);
        ids.resize(16);
        EXPECT_TRUE(heads.insert(ids).second);
    }
    PromptBuilder same(trace, words_.table, options());
    PromptBuilder other(trace, words_.table, options(1));
    PromptOptions salted = options();
    salted.cache_salt = "monday";
    PromptBuilder third(trace, words_.table, salted);
    EXPECT_EQ(build(same, trace.rows[7]), build(builder, trace.rows[7]));
    EXPECT_NE(build(other, trace.rows[7]), build(builder, trace.rows[7]));
    EXPECT_NE(build(third, trace.rows[7]), build(builder, trace.rows[7]));
}

// As many tokens as there are, from any piece on: round the end, each piece at most once.
TEST_F(CorpusOfOne, RunsGoRoundTheEnd) {
    const std::uint32_t all = corpus_.tokens();
    EXPECT_EQ(corpus_.piece_at(0), 0u);
    EXPECT_EQ(corpus_.piece_at(UINT64_MAX), corpus_.pieces() - 1);
    for (const std::uint32_t first : {0u, 1u, corpus_.pieces() / 2, corpus_.pieces() - 1}) {
        EXPECT_EQ(corpus_.fit(first, all), all);
        EXPECT_EQ(corpus_.fit(first, all + 1), all);
        EXPECT_LT(corpus_.fit(first, all - 1), all);
        EXPECT_EQ(corpus_.fit(first, 0), 0u);
        std::string text;
        for (std::uint32_t done = 0; done < all;) {
            const Corpus::Run run = corpus_.run(first, done, std::min(all - done, 1'000u), 4'000);
            text += run.bytes;
            done += run.tokens;
        }
        EXPECT_EQ(text.size(), corpus_.bytes().size());
        EXPECT_EQ(text.substr(0, 8), corpus_.run(first, 0, 1, 1).bytes.substr(0, 8));
    }
}

// What would be read as a command, or as nothing, is left out with its piece and counted.
TEST_F(CorpusOfOne, LeavesOutWhatIsNotSafe) {
    CorpusFigures figures;
    const std::string special = tokenizer_.parts().added.front().text;
    const std::string plain = "some words that go on for a while and then go on and on again ";
    const Corpus corpus = corpus_of(tokenizer_, words_.table,
                                    {plain + special + " " + plain, plain + std::string(1, '\1'),
                                     plain + std::string(100, '-') + plain, " \n", ""},
                                    &figures);
    EXPECT_FALSE(says(corpus.bytes(), special));
    EXPECT_FALSE(says(corpus.bytes(), "u0001"));
    EXPECT_GT(corpus.tokens(), 20u);
    EXPECT_GT(figures.left_out_bytes, 20u);
    EXPECT_EQ(std::tuple(figures.texts, figures.empty_texts), std::tuple(3u, 2u));
}

// A tokenizer whose tokens reach over the borders of pieces: what does not add up is left out, and
// what is left is exact.
TEST(Corpus, LeavesOutWhatReachesOverBorders) {
    Tokenizer tokenizer = load_tokenizer("superword");
    CorpusMaker maker(tokenizer, "the");
    EXPECT_EQ(maker.refused(), "");
    for (int i = 0; i < 200; ++i) {
        maker.add("sit in the and on the list with the red ones and a fox to go in the wine");
        maker.add("9 x 1 y 2 z 3 x 4 y 5 z 6 x 7 y 8 z 9 x 1 y 2 z 3 x 4 y 5 z 6 x 7 y 8 z");
    }
    const Corpus corpus = maker.finish();
    EXPECT_GT(maker.figures().sections_left_out, 0U);
    EXPECT_GT(maker.figures().left_out_bytes, 0U);
    std::vector<TokenId> ids;
    tokenizer.encode("the" + unescaped(std::string(corpus.bytes())), ids);
    EXPECT_EQ(ids.size(), corpus.tokens() + 1);
    // An added token across a border would be found where two pieces meet.
    std::string why;
    Result<TokenizerParts> parts =
        read_tokenizer(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[]},)"
                       R"("added_tokens":[{"id":1,"content":"on a"},{"id":2,"content":"  "}]})",
                       why);
    ASSERT_TRUE(parts) << why;
    Tokenizer other_tokenizer(std::move(parts).value());
    EXPECT_EQ(CorpusMaker(other_tokenizer, "a").refused(),
              "its added token 'on a' spans more than one word");
    EXPECT_FALSE(load_corpus("/any", "", other_tokenizer, "a", why));
    EXPECT_EQ(why,
              "the tokenizer cannot count its pieces: its added token 'on a' spans more "
              "than one word");
}

// A short prompt says something of the dataset even where most pieces are too long for it.
TEST_F(CorpusOfOne, ShortPromptsFindAShortPiece) {
    std::vector<std::string> texts;
    for (int i = 0; i < 40; ++i) {
        texts.push_back(i % 2 == 0 ? std::string(1'000, "xqzjk"[i % 5]) + "Q9"
                                   : "short words of it");
    }
    const Corpus corpus = corpus_of(tokenizer_, words_.table, texts);
    PromptOptions options{.corpus = &corpus};
    Trace trace = random_rows(50, 2);
    PromptBuilder builder(trace, words_.table, options);
    int with_text = 0;
    for (TraceRow& row : trace.rows) {
        row.input_length = 60;
        const std::string text = build(builder, row);
        with_text += text.find("short words") != text.npos ? 1 : 0;
    }
    EXPECT_GT(with_text, 15);
}

// Text without blanks is cut all the same, by words that are put in.
TEST_F(CorpusOfOne, CutsOtherScripts) {
    std::string text;
    for (int i = 0; i < 2'000; ++i) {
        text += i % 7 == 6 ? "。" : "字";
    }
    CorpusFigures figures;
    const Corpus corpus = corpus_of(tokenizer_, words_.table, {text}, &figures);
    EXPECT_GT(figures.words_put_in, 20u);
    EXPECT_GT(corpus.bytes().size(), text.size() * 9 / 10);
}

// A dataset's texts come out, however its bytes come in; what is wrong is named with place and
// remedy.

struct Read {
    Texts texts;
    std::string why;
    std::string column;
    bool operator==(const Read&) const = default;
};

Read read(const std::vector<std::string_view>& pieces, const std::string& column) {
    DatasetReader reader(column);
    Read out;
    Result<void> good;
    for (std::size_t i = 0; good && i < pieces.size(); ++i) {
        good = reader.read(pieces[i], out.texts);
    }
    if (good) {
        good = reader.finish(out.texts);
    }
    EXPECT_EQ(static_cast<bool>(good), reader.why().empty());
    return {out.texts, reader.why(), reader.column()};
}

// Whole, at every split, and byte by byte.
Read read_every_way(const std::string& text, const std::string& column = "") {
    const Read whole = read({text}, column);
    each_cut(text, [&](const std::vector<std::string_view>& pieces) {
        EXPECT_EQ(read(pieces, column), whole) << pieces.front().size();
    });
    return whole;
}

constexpr const char* sharegpt = R"([
  {"id": "a_0", "conversations": [{"from": "human", "value": "Hi there"},
                                  {"from": "gpt", "value": "Hello\n\"you\""}]},
  {"id": "b_0", "conversations": []}, {"id": "c_0", "conversations": [{"value": null}]}
])";

TEST(DatasetReader, ReadsConversationsLinesAndColumns) {
    EXPECT_EQ(read_every_way(sharegpt),
              (Read{{"Hi there", "Hello\n\"you\"", ""}, "", "conversations"}));
    EXPECT_EQ(read_every_way("{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},\"y\"]}\n"),
              (Read{{"x", "y"}, "", "messages"}));
    EXPECT_EQ(read_every_way("\xEF\xBB\xBF\n {\"id\":1,\"text\":\"a\"}\r\n\n{\"text\":\"\"}"),
              (Read{{"a", ""}, "", "text"}));
    EXPECT_EQ(read_every_way("\"a\"\n\"b\"\n"), (Read{{"a", "b"}, "", ""}));
    EXPECT_EQ(read_every_way("[\"a\", \"b\"]"), (Read{{"a", "b"}, "", ""}));
    EXPECT_EQ(read_every_way(R"({"input":"i","instruction":"n","question":"q"})").column,
              "question");
    EXPECT_EQ(read_every_way(R"({"text":3,"prompt":"p"})").texts, Texts{"p"});
    EXPECT_EQ(read_every_way(R"({"text":"t","answer":"x"})", "answer").texts, Texts{"x"});
}

struct Wrong {
    std::string text;
    std::string column;
    std::string says;
};

TEST(DatasetReader, NamesWhatIsWrongOrEndless) {
    const Wrong wrongs[] = {
        {"", "", "is empty; give a JSON array"},
        {" \n", "", "is empty"},
        {"id,text\n1,a\n", "", "is not a dataset; give a JSON array"},
        {R"([{"text":"a"},{"text":"b")", "", "ends inside its array, in element 2; fetch"},
        {R"([{"text":"a"}] {)", "", "continues after its array"},
        {R"([{"text":"a"},{"text":b}])", "", "element 2 is not JSON (its byte 9)"},
        {"\n\n{\"text\":\"a\"}\n{\"text\":", "", "line 4 ends inside its JSON text; put one"},
        {"{\n\"text\":\"a\"\n}\n", "",
         "line 1 ends inside its JSON text; put one text on each line (jq -c"},
        {"{\"text\":\"\xC3(\"}", "", "line 1 is not UTF-8; convert"},
        {R"({"a":"x","b":1})", "", "line 1 has no column with a usual name (it has a, b); name"},
        {R"({"text":"x"})", "t", "line 1 has no column \"t\" (it has text); name another"},
        {"{\"text\":\"x\"}\n{\"b\":1}", "", "line 2 has no column \"text\" (it has b)"},
        {R"({"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1})", "",
         "(it has a, b, c, d, e, f, g, h, i, j, k, l, ..)"},
        {R"({"text":7})", "text", "has no text in \"text\"; name another"},
        {R"({"text":[{"value":7}]})", "", "has values that are not texts in \"text\""},
        {"\"a\"\n7\n", "", "line 2 is neither a text nor an object"},
        {"\"a\"", "text", "line 1 is not an object and has no column \"text\""},
    };
    for (const Wrong& wrong : wrongs) {
        const std::string why = read_every_way(wrong.text, wrong.column).why;
        EXPECT_TRUE(says(why, wrong.says)) << wrong.text << ": " << why;
    }
    // A line, and an element of an array, that no memory should hold.
    const std::string mebibyte(1 << 20, 'a');
    std::vector<std::string_view> pieces(66, mebibyte);
    pieces.front() = "{\"text\":\"";
    EXPECT_TRUE(says(read(pieces, "").why, "line 1 is longer than 64 MiB"));
    pieces.front() = "[{\"text\":\"";
    EXPECT_TRUE(says(read(pieces, "").why, "element 1 is longer than 64 MiB"));
}

}  // namespace
}  // namespace driftless
