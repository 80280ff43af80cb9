#include "cmd/mock/prompt_count.hpp"

#include "cmd/mock/request_reader.hpp"
#include "proto/json/write.hpp"
#include "tests/unit/engine/prompt/golden.hpp"
#include "tests/unit/texts.hpp"

namespace driftless::mock {

namespace {

/// The tokens of a text the slow and obvious way.
std::vector<std::string> split_words(const std::string& text) {
    std::vector<std::string> words;
    std::string word;
    for (const char c : text + " ") {
        if (c != ' ') {
            word += c;
        } else if (!word.empty()) {
            words.push_back(std::exchange(word, {}));
        }
    }
    return words;
}

std::string random_words(Random& random, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
        text.append(1 + random.below(3) / 2, ' ');  // now and then two blanks
        const std::size_t letters = 1 + random.below(i % 9 == 0 ? 30 : 5);
        for (std::size_t j = 0; j < letters; ++j) {
            text += static_cast<char>('a' + random.below(26));
        }
    }
    return text;
}

PromptCount count_text(const std::string& text, std::uint32_t block_tokens, TemplateTokens around,
                       std::size_t piece_bytes, const WordRules* rules = nullptr) {
    PromptCount count;
    count.reset(block_tokens, around, nullptr, rules);
    count.record_tokens();
    count.begin_text();
    for (std::size_t at = 0; at < text.size(); at += piece_bytes) {
        const std::string piece = text.substr(at, piece_bytes);
        EXPECT_EQ(count.add_text(piece), piece.size());
    }
    count.end_value();
    count.finish();
    return count;
}

std::vector<std::uint64_t> blocks_of(const PromptCount& count) {
    return {count.blocks().begin(), count.blocks().end()};
}

// Words of all lengths and any number of blanks between them: the same count as a naive split, and
// the same blocks however the bytes were cut.
TEST(PromptCount, CountsWordsInBlocksThatNamePrefixes) {
    Random random(7);
    for (std::size_t words = 0; words < 80; ++words) {
        const std::string text = random_words(random, words);
        const std::size_t expected = split_words(text).size();
        const PromptCount whole = count_text(text, 4, {}, text.size() + 1);
        EXPECT_EQ(whole.tokens(), expected) << text;
        EXPECT_EQ(whole.blocks().size(), expected / 4);
        for (std::size_t piece = 1; piece < 20; ++piece) {
            const PromptCount cut = count_text(text, 4, {}, piece);
            ASSERT_EQ(cut.tokens(), expected) << "pieces of " << piece << ": " << text;
            ASSERT_EQ(blocks_of(cut), blocks_of(whole)) << "pieces of " << piece << ": " << text;
        }
    }
    // Blocks are equal exactly as far as the words are: one changed word changes its block and all
    // behind it, whatever the number of blanks.
    Random other_random(11);
    const std::string text = random_words(other_random, 64);
    std::vector<std::string> words = split_words(text);
    const std::vector<std::uint64_t> blocks = blocks_of(count_text(text, 8, {}, 4096));
    ASSERT_EQ(blocks.size(), 8u);
    for (std::size_t changed = 0; changed < words.size(); ++changed) {
        std::string other;
        for (std::size_t i = 0; i < words.size(); ++i) {
            other += words[i] + (i == changed ? "x " : " ");
        }
        const std::vector<std::uint64_t> got = blocks_of(count_text(other, 8, {}, 4096));
        for (std::size_t block = 0; block < blocks.size(); ++block) {
            EXPECT_EQ(got[block] == blocks[block], block < changed / 8) << changed << ' ' << block;
        }
    }
    // Template tokens stand before and behind the words and shift the blocks by exactly their
    // number.
    const std::string other_text = "one two three four five six seven";
    const PromptCount with = count_text(other_text, 4, {3, 5}, 4096);
    EXPECT_EQ(std::tuple(with.tokens(), with.blocks().size()), std::tuple(3 + 7 + 5u, 3u));
    EXPECT_NE(with.blocks()[0], count_text(other_text, 4, {}, 4096).blocks()[0]);
    EXPECT_EQ(with.blocks()[0], count_text("one and more", 4, {3, 0}, 4096).blocks()[0]);
    EXPECT_EQ(count_text("", 4, {3, 5}, 1).tokens(), 8u);
}

// Words that cost two tokens, and pairs that are one, however the bytes were cut; token ids and the
// template keep their own.
TEST(PromptCount, FollowsWordRules) {
    WordRules rules;
    rules.split("the");
    rules.split("characteristic");
    rules.join("new", "one");
    struct Case {
        const char* text;
        std::uint32_t tokens;
    };
    for (const Case& c : {Case{"a b c", 3}, Case{"the", 2}, Case{"a the b the", 6},
                          Case{"characteristic characteristics", 3}, Case{"a new one b", 3},
                          Case{"new new one one", 3}, Case{"new  one", 1}, Case{"one new", 2},
                          Case{"new the one", 4}, Case{"", 0}}) {
        for (std::size_t piece = 1; piece < 9; ++piece) {
            const PromptCount count = count_text(c.text, 1, {2, 1}, piece, &rules);
            EXPECT_EQ(count.tokens(), c.tokens + 3) << c.text;
            EXPECT_EQ(count.recorded().size(), c.tokens + 3) << c.text;
        }
    }
    PromptCount ids;
    rules.split_all();
    ids.reset(0, {}, nullptr, &rules);
    (void)ids.add_ids("1,2,3");
    ids.end_value();
    ids.finish();
    EXPECT_EQ(ids.tokens(), 3u);
}

// Escaped blanks end words, other escapes are part of them, and an escaped letter is that letter.
TEST(PromptCount, ReadsEscapesAsTheJsonParserDoes) {
    struct Case {
        const char* escaped;
        std::uint32_t tokens;
    };
    for (const Case& c :
         {Case{R"(a\nb)", 2}, Case{R"(a\\nb)", 1}, Case{R"(a\tb\rc)", 3}, Case{R"(a\u0020b)", 2},
          Case{R"(a\u000Ab)", 2}, Case{R"(\u0041b)", 1}, Case{R"(say \"hi\" now)", 3},
          Case{R"(\n\n)", 0}, Case{R"(\ud83d\ude00 x)", 2}, Case{R"(caf\u00e9)", 1}}) {
        for (std::size_t piece = 1; piece < 12; ++piece) {
            EXPECT_EQ(count_text(c.escaped, 0, {}, piece).tokens(), c.tokens) << c.escaped;
        }
    }
    EXPECT_EQ(blocks_of(count_text(R"(\u0041b caf\u00e9)", 2, {}, 99)),
              blocks_of(count_text("Ab caf\xC3\xA9", 2, {}, 99)));
    // Long texts full of escapes: the same count as unescaping by the JSON parser and then
    // splitting.
    const char* const pieces[] = {
        "word", "a",    "longer-than-eight", " ", "  ",      "\\n",         "\\t",
        "\\\\", "\\\"", "\\u0041",           " ", "\\u0020", "caf\xC3\xA9", "\\u00e9\\r",
        "\\/"};
    Random random(23);
    JsonDocument document;
    for (int round = 0; round < 200; ++round) {
        std::string escaped;
        for (int i = 0; i < 100; ++i) {
            const bool rare = round % 2 == 0 && random.below(8) != 0;  // long runs of plain words
            escaped += pieces[random.below(rare ? 4 : std::size(pieces))];
        }
        const Result<JsonValue> parsed = document.parse('"' + escaped + '"');
        ASSERT_TRUE(parsed) << escaped;
        std::string text(*parsed.value().as_string());
        std::replace_if(
            text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t' || c == '\r'; },
            ' ');
        const PromptCount whole = count_text(escaped, 4, {}, escaped.size());
        ASSERT_EQ(whole.tokens(), split_words(text).size()) << escaped;
        for (const std::size_t piece : {1, 63, 64, 65, 71, 72, 73, 200}) {
            ASSERT_EQ(blocks_of(count_text(escaped, 4, {}, piece)), blocks_of(whole)) << escaped;
        }
    }
}

// The closing quote ends the text, an escaped one does not; nothing behind it is consumed.
TEST(PromptCount, StopsBeforeTheQuote) {
    const std::string text = R"(one two \"three\" four", "more words")";
    for (std::size_t piece = 1; piece < text.size(); ++piece) {
        PromptCount count;
        count.reset(0, {});
        std::size_t used = 0;
        while (used < text.size()) {
            const std::string part = text.substr(used, piece);
            const std::size_t took = count.add_text(part);
            used += took;
            if (took < part.size()) {
                break;
            }
        }
        count.end_value();
        EXPECT_EQ(std::tuple(count.tokens(), used), std::tuple(4u, text.find("\",")));
    }
}

// Items of an array, with and without blanks, of any number of digits, however they are cut.
TEST(PromptCount, CountsIdsAndRecordsNumbersOfTokens) {
    std::string tight;
    std::string loose;
    std::uint64_t id = 1;
    for (int i = 0; i < 80; ++i, id = id > 10'000'000'000 ? 1 : id * 7 + 3) {
        tight += (i == 0 ? "" : ",") + std::to_string(id);
        loose += (i == 0 ? " " : i % 3 == 0 ? " , " : ",\n") + std::to_string(id);
    }
    std::vector<std::uint64_t> blocks;
    for (const std::string& text : {tight + "]", loose + " ]"}) {
        for (std::size_t piece = 1; piece < text.size(); ++piece) {
            PromptCount count;
            count.reset(5, {9, 9});
            std::size_t used = 0;
            while (used < text.size() && text[used] != ']') {
                used += count.add_ids(text.substr(used, piece));
            }
            count.end_value();
            count.finish();
            ASSERT_EQ(count.tokens(), 80u) << "a template never stands around ids";
            ASSERT_EQ(used, text.size() - 1);
            blocks = blocks.empty() ? blocks_of(count) : blocks;
            ASSERT_EQ(blocks_of(count), blocks) << "pieces of " << piece;
        }
    }
    // Equal words have equal numbers wherever they stand, different words different ones.
    const PromptCount count = count_text("the cat the", 0, {1, 1}, 99);
    ASSERT_EQ(count.recorded().size(), 5u);
    EXPECT_EQ(count.recorded()[1], count.recorded()[3]);
    EXPECT_NE(count.recorded()[1], count.recorded()[2]);
    EXPECT_NE(count.recorded()[0], count.recorded()[4]);
}

struct Parted {
    std::string frame;
    std::uint32_t tokens;
    std::vector<std::uint64_t> blocks;
    bool taken;
    bool operator==(const Parted&) const = default;
};

Parted part_body(const std::string& body, PromptKeys keys, std::size_t first, std::size_t piece) {
    PromptCount count;
    count.reset(2, {1, 1});
    BodyReader reader;
    reader.reset(count, keys);
    bool taken = reader.feed(body.substr(0, first));
    for (std::size_t at = first; at < body.size(); at += piece) {
        taken = reader.feed(body.substr(at, piece));
    }
    count.finish();
    return {reader.frame(), count.tokens(), blocks_of(count), taken};
}

// A body is parted into frame and prompt, the same way at every split and byte by byte.
TEST(BodyReader, PartsBodiesAtEverySplit) {
    struct Case {
        const char* body;
        PromptKeys keys;
        const char* frame;
        std::uint32_t tokens;
    };
    const PromptKeys chat{.messages = true};
    const PromptKeys text{.text = "prompt", .ids = "prompt"};
    for (const Case& c : {
             Case{R"({"model": "m", "prompt": "a b \"c\"", "max_tokens": 4})", text,
                  R"({"model":"m","prompt":"","max_tokens":4})", 5},
             Case{R"({"prompt":[1, 2,3],"n":[7,8]})", text, R"({"prompt":[],"n":[7,8]})", 3},
             Case{R"({"prompt": [ ] })", text, R"({"prompt":[]})", 0},
             Case{R"({"prompt":["a b"]})", text, R"({"prompt":["a b"]})", 0},
             Case{R"({"x":{"prompt":"a b"},"prompt":"c"})", text,
                  R"({"x":{"prompt":"a b"},"prompt":""})", 3},
             Case{R"({"messages":[{"content":"a b","role":"user"},{"role":"x","content":"c"}]})",
                  chat, R"({"messages":[{"content":"","role":"user"},{"role":"x","content":""}]})",
                  5},
             Case{R"({"messages":[{"content":[{"type":"text","text":"a b"}]}],"content":"no no"})",
                  chat,
                  R"({"messages":[{"content":[{"type":"text","text":""}]}],"content":"no no"})", 4},
             Case{R"({"prompt":"not for chat","messages":[]})", chat,
                  R"({"prompt":"not for chat","messages":[]})", 0},
             Case{R"({"p\u0072ompt":"a b"})", text, R"({"p\u0072ompt":"a b"})", 0},
             Case{R"({"a":"\\","prompt":"b\\","c":"\""})", text,
                  R"({"a":"\\","prompt":"","c":"\""})", 3},
         }) {
        const std::string body = c.body;
        const Parted whole = part_body(body, c.keys, body.size(), 1);
        EXPECT_EQ(whole.frame, c.frame);
        EXPECT_EQ(whole.tokens, c.tokens) << body;
        EXPECT_EQ(part_body(body, c.keys, 0, 1), whole) << body;
        for (std::size_t split = 1; split < body.size(); ++split) {
            EXPECT_EQ(part_body(body, c.keys, split, body.size()), whole) << body << ' ' << split;
        }
    }
}

// Nesting and frame size are bounded: at the limit a body passes, beyond it is refused.
TEST(BodyReader, RefusesBeyondItsLimits) {
    const auto nested = [](std::size_t depth) {
        return std::string(depth, '[') + std::string(depth, ']');
    };
    EXPECT_TRUE(part_body(nested(body_depth_max - 1), {}, 10, 1000).taken);
    EXPECT_TRUE(part_body(nested(body_depth_max), {}, 10, 1000).taken);
    EXPECT_FALSE(part_body(nested(body_depth_max + 1), {}, 10, 1000).taken);
    const auto sized = [](std::size_t bytes) { return '"' + std::string(bytes - 2, 'x') + '"'; };
    EXPECT_TRUE(part_body(sized(frame_bytes_max - 1), {}, 10, 1000).taken);
    EXPECT_TRUE(part_body(sized(frame_bytes_max), {}, 10, 1000).taken);
    EXPECT_FALSE(part_body(sized(frame_bytes_max + 1), {}, 10, 1000).taken);
    // A prompt is no part of the frame, however long.
    const std::string prompt(4 * frame_bytes_max, 'x');
    EXPECT_TRUE(part_body(R"({"prompt":")" + prompt + "\"}", {.text = "prompt"}, 9, 60'000).taken);
}

// A mock with a tokenizer counts what the reference implementation counts, however bodies arrive.

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

// Every golden string, as a completions prompt and as a message, in large pieces and small ones.
TEST(TextTokens, AreThoseOfTheReferenceAndBounded) {
    for (const char* name : {"qwen", "llama2"}) {
        const Golden golden = read_golden(name);
        Tokenizer tokenizer = load_tokenizer(name);
        TextTokens texts(tokenizer);
        for (std::size_t i = 0; i < golden_strings().size(); ++i) {
            std::string text;
            JsonWriter(text).string(golden_strings()[i]);
            const std::string prompt = R"({"model":"m","prompt":)" + text + "}";
            ASSERT_EQ(ids_of(texts, prompt, prompt.size()), golden.ids[i]) << text;
            ASSERT_EQ(ids_of(texts, prompt, 7), golden.ids[i]) << text;
            const std::string chat =
                R"({"messages":[{"role":"user","content":)" + text + "}],\"n\":1}";
            ASSERT_EQ(ids_of(texts, chat, 1 + i % 5), golden.ids[i]) << text;
        }
    }
    // The template stands around all texts together; each text is encoded by itself.
    Tokenizer tokenizer = load_tokenizer("qwen");
    TextTokens texts(tokenizer);
    const auto one = ids_of(texts, R"({"prompt":"the cat"})", 100);
    const auto both =
        ids_of(texts, R"({"messages":[{"content":"the cat"},{"content":"the cat"}]})", 100, {2, 1});
    ASSERT_EQ(both.size(), 2 * one.size() + 3);
    EXPECT_TRUE(std::equal(one.begin(), one.end(), both.begin() + 2));
    EXPECT_TRUE(std::equal(one.begin(), one.end(),
                           both.begin() + 2 + static_cast<std::ptrdiff_t>(one.size())));
    // A text beyond what is held is refused, not counted wrongly.
    Tokenizer other_tokenizer = load_tokenizer("qwen");
    TextTokens other_texts(other_tokenizer);
    for (const std::size_t bytes : {held_text_bytes_max, held_text_bytes_max + 1}) {
        PromptCount count;
        count.reset(0, {}, &other_texts);
        BodyReader reader;
        reader.reset(count, {.text = "prompt", .ids = "prompt"});
        EXPECT_TRUE(reader.feed(R"({"prompt":")"));
        EXPECT_EQ(reader.feed(std::string(bytes, ' ')), bytes == held_text_bytes_max);
    }
}

}  // namespace
}  // namespace driftless::mock
