// Prompts of a dataset's text are exactly as many tokens as they must be, to every tokenizer; they
// depend on seed and row alone; and each is its own within the first tokens.

#include "engine/prompt/corpus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "engine/prompt/builder.hpp"
#include "engine/prompt/word_table.hpp"
#include "proto/core/hash.hpp"
#include "proto/json/document.hpp"
#include "tests/unit/engine/prompt/golden.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

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
    JsonDocument document;
    const Result<JsonValue> value = document.parse("\"" + escaped + "\"");
    EXPECT_TRUE(value) << escaped;
    return value ? std::string(value.value().as_string().value_or("")) : "";
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
        TraceRow row;
        row.index = i;
        row.input_length =
            static_cast<std::uint32_t>(std::exp(random.uniform() * std::log(length_max)));
        trace.rows.push_back(row);
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
        const Result<SelectedWords> words = select_words(tokenizer, why);
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
    SelectedWords words_ = select_words(tokenizer_, why_).value();
    Corpus corpus_ = corpus_of(tokenizer_, words_.table, mixed_texts(200));

    PromptOptions options(std::uint64_t seed = 0) const {
        PromptOptions options{.seed = seed, .corpus = &corpus_};
        return options;
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
    const std::string middle = text.substr(100, 200);
    EXPECT_TRUE(says(std::string(corpus_.bytes()).append(corpus_.bytes()), middle));
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
    const std::string special = tokenizer_.added().front().text;
    const std::string plain = "some words that go on for a while and then go on and on again ";
    const Corpus corpus = corpus_of(tokenizer_, words_.table,
                                    {plain + special + " " + plain, plain + std::string(1, '\1'),
                                     plain + std::string(100, '-') + plain, " \n", ""},
                                    &figures);
    EXPECT_FALSE(says(corpus.bytes(), special));
    EXPECT_FALSE(says(corpus.bytes(), "u0001"));
    EXPECT_GT(corpus.tokens(), 20u);
    EXPECT_GT(figures.left_out_bytes, 20u);
    EXPECT_EQ(figures.texts, 3u);
    EXPECT_EQ(figures.empty_texts, 2u);
}

// A tokenizer whose tokens reach over the borders of pieces: what does not add up is left out, and
// what is left is exact.
TEST(Corpus, LeavesOutWhatDoesNotAddUp) {
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
}

// An added token across a border would be found where two pieces meet.
TEST(Corpus, RefusesAddedTokensOverBorders) {
    std::string why;
    Result<TokenizerParts> parts =
        read_tokenizer(R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[]},)"
                       R"("added_tokens":[{"id":1,"content":"on a"},{"id":2,"content":"  "}]})",
                       why);
    ASSERT_TRUE(parts) << why;
    Tokenizer tokenizer(std::move(parts).value());
    EXPECT_EQ(CorpusMaker(tokenizer, "a").refused(),
              "its added token 'on a' spans more than one word");
    EXPECT_FALSE(load_corpus("/any", "", tokenizer, "a", why));
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
    PromptOptions options;
    options.corpus = &corpus;
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

using Texts = std::vector<std::string>;

struct Read {
    Texts texts;
    std::string why;
    std::string column;
    bool operator==(const Read&) const = default;
};

Read read(const std::vector<std::string>& pieces, const std::string& column) {
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
    for (std::size_t split = 0; split <= text.size(); ++split) {
        EXPECT_EQ(read({text.substr(0, split), text.substr(split)}, column), whole) << split;
    }
    std::vector<std::string> bytes;
    for (const char byte : text) {
        bytes.emplace_back(1, byte);
    }
    EXPECT_EQ(read(bytes, column), whole);
    return whole;
}

constexpr const char* sharegpt = R"([
  {"id": "a_0", "conversations": [{"from": "human", "value": "Hi there"},
                                  {"from": "gpt", "value": "Hello\n\"you\""}]},
  {"id": "b_0", "conversations": []}, {"id": "c_0", "conversations": [{"value": null}]}
])";

TEST(DatasetReader, ReadsConversations) {
    EXPECT_EQ(read_every_way(sharegpt),
              (Read{{"Hi there", "Hello\n\"you\"", ""}, "", "conversations"}));
    EXPECT_EQ(read_every_way("{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},\"y\"]}\n"),
              (Read{{"x", "y"}, "", "messages"}));
}

TEST(DatasetReader, ReadsLines) {
    EXPECT_EQ(read_every_way("\xEF\xBB\xBF\n {\"id\":1,\"text\":\"a\"}\r\n\n{\"text\":\"\"}"),
              (Read{{"a", ""}, "", "text"}));
    EXPECT_EQ(read_every_way("\"a\"\n\"b\"\n"), (Read{{"a", "b"}, "", ""}));
    EXPECT_EQ(read_every_way("[\"a\", \"b\"]"), (Read{{"a", "b"}, "", ""}));
}

TEST(DatasetReader, ChoosesTheColumn) {
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

TEST(DatasetReader, NamesWhatIsWrong) {
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
}

// A line, and an element of an array, that no memory should hold.
TEST(DatasetReader, RefusesEndlessTexts) {
    const std::string mega(1 << 20, 'a');
    std::vector<std::string> pieces(66, mega);
    pieces.front() = "{\"text\":\"";
    EXPECT_TRUE(says(read(pieces, "").why, "line 1 is longer than 64 MiB"));
    pieces.front() = "[{\"text\":\"";
    EXPECT_TRUE(says(read(pieces, "").why, "element 1 is longer than 64 MiB"));
}

}  // namespace

}  // namespace driftless
