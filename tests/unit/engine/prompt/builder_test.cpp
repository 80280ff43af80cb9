// Prompts of blocks, byte by byte.

#include "engine/prompt/builder.hpp"

#include "tests/unit/made.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

// A block's words depend on its key and the position only, and tell keys apart within the head.

namespace {

std::vector<WordTable> tables() {
    std::vector<WordTable> all;
    all.push_back(WordTable::built_in());
    all.push_back(WordTable::token_ids(1000));
    all.push_back(WordTable::token_ids(9000));
    // As a tokenizer's table would be: words of several lengths, half of them fit to open.
    std::vector<std::string> texts;
    for (int i = 0; i < 1024; ++i) {
        std::string text = "a";
        for (int left = i; left > 0; left /= 26) {
            text.push_back(static_cast<char>('a' + left % 26));
        }
        texts.push_back(text + (i % 3 == 0 ? "x" : ""));
    }
    const std::vector<std::string_view> words(texts.begin(), texts.end());
    all.push_back(WordTable(words, 512, ' '));
    return all;
}

std::string text_of(const WordTable& table, ContentKey key, std::uint32_t from,
                    std::uint32_t count) {
    std::string out(std::size_t{count} * table.length_max() + write_slack, '#');
    const char* end = write_words(table, key, from, count, out.data());
    out.resize(static_cast<std::size_t>(end - out.data()));
    return out;
}

// Any range written at once is the concatenation of its words taken one at a time.
TEST(Block, AnyRangeIsItsWordsAndHeadsTellKeysApart) {
    for (const WordTable& table : tables()) {
        const ContentKey key{0x0123456789ABCDEFULL};
        for (std::uint32_t from = 0; from < 40; ++from) {
            for (std::uint32_t count = 0; count < 40; ++count) {
                std::string expected;
                for (std::uint32_t j = from; j < from + count; ++j) {
                    expected += table.separator();
                    expected += table.word(word_index(table, key, j));
                }
                ASSERT_EQ(text_of(table, key, from, count), expected) << from << "+" << count;
            }
        }
    }
    // Keys that differ in a single bit, the hardest case, differ within the head; so do ids.
    EXPECT_EQ(head_words(WordTable::built_in()), 8U);
    EXPECT_EQ(head_words(WordTable::token_ids(0)), 6U);
    for (const WordTable& table : tables()) {
        const std::uint32_t head = head_words(table);
        EXPECT_LE(head, 16U) << "a head must fit a server's smallest page";
        const ContentKey key{0xA5A5F00D12345678ULL};
        const std::string text = text_of(table, key, 0, head);
        for (unsigned bit = 0; bit < 64; ++bit) {
            const ContentKey other{key.value ^ (std::uint64_t{1} << bit)};
            EXPECT_NE(text_of(table, other, 0, head), text) << bit;
        }
        std::set<std::string> heads;
        const ContentKeys keys(0);
        for (std::uint64_t id = 0; id < 20'000; ++id) {
            heads.insert(text_of(table, keys.of_block(0, id), 0, head));
        }
        EXPECT_EQ(heads.size(), 20'000U);
    }
}

// Every block opens with a word that may open a prompt, so its bytes are the same wherever it is.
TEST(Block, UsesAllWordsEvenlyAndKeysSeparateContents) {
    const WordTable& table = WordTable::built_in();
    const ContentKeys keys(3);
    for (std::uint64_t id = 0; id < 5000; ++id) {
        EXPECT_LT(word_index(table, keys.of_block(0, id), 0), 256U);
    }
    // All words get used, about equally: 512 words, 512,000 picks, each within 6 sigma of 1,000.
    std::vector<int> uses(table.size());
    for (std::uint32_t j = 100; j < 512'100; ++j) {
        ++uses[word_index(table, ContentKey{42}, j)];
    }
    for (const int count : uses) {
        EXPECT_NEAR(count, 1000, 190);
    }
    // Seeds, namespaces, blocks and rows have contents of their own.
    std::set<std::uint64_t> values;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const ContentKeys other_keys(seed);
        for (std::uint32_t i = 0; i < 100; ++i) {
            values.insert(other_keys.of_row(i).value);
            for (std::uint32_t name_space = 0; name_space < 4; ++name_space) {
                values.insert(other_keys.of_block(name_space, i).value);
            }
        }
    }
    EXPECT_EQ(values.size(), 4U * 100U * 5U);
    // A salt gives contents that no seed and no other salt gives, and none leaves the seed as it
    // is.
    EXPECT_EQ(salted_seed(7, ""), 7U);
    EXPECT_EQ(salted_seed(7, "monday"), salted_seed(7, "monday"));
    std::set<std::uint64_t> other_values;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        for (const char* salt : {"", "monday", "tuesday", "a", "b"}) {
            const ContentKeys other_keys(salted_seed(seed, salt));
            for (std::uint32_t i = 0; i < 100; ++i) {
                other_values.insert(other_keys.of_row(i).value);
                other_values.insert(other_keys.of_block(0, i).value);
            }
        }
    }
    EXPECT_EQ(other_values.size(), 4U * 5U * 100U * 2U);
}

std::string bytes_of(std::uint64_t i) {
    return "block " + std::to_string(i);
}

// Under random use, a hit is always the block's own bytes, and memory stays as it was taken.
TEST(BlockCache, HoldsWhatIsUsedAndNothingElse) {
    BlockCache cache(64 << 10, 64);
    const std::size_t taken = cache.bytes();
    EXPECT_LE(taken, std::size_t{64} << 10);
    Random random(1);
    for (int i = 0; i < 50'000; ++i) {
        const std::uint64_t id = random.below(2000);
        const ContentKey key{mix64(id)};
        const std::string_view found = cache.find(key);
        if (found.empty()) {
            cache.store(key, bytes_of(id));
        } else {
            ASSERT_EQ(found, bytes_of(id));
        }
    }
    EXPECT_GT(cache.hits(), 10'000U);
    EXPECT_EQ(std::tuple(cache.hits() + cache.misses(), cache.bytes()), std::tuple(50'000U, taken));
    // A block in steady use survives a stream of others that come once.
    BlockCache other_cache(64 << 10, 64);
    const ContentKey kept{mix64(7)};
    other_cache.store(kept, "kept");
    for (std::uint64_t id = 1000; id < 20'000; ++id) {
        ASSERT_EQ(other_cache.find(kept), "kept") << id;
        other_cache.store(ContentKey{mix64(id)}, bytes_of(id));
    }
    // No room for one set, and no block size: nothing is held, nothing breaks.
    for (BlockCache third_cache :
         {BlockCache(0, 64), BlockCache(100, 64), BlockCache(1 << 20, 0)}) {
        EXPECT_EQ(third_cache.bytes(), 0U);
        EXPECT_TRUE(third_cache.find(ContentKey{1}).empty());
    }
    BlockCache third_cache(100, 64);
    third_cache.store(ContentKey{1}, "block");
    EXPECT_TRUE(third_cache.find(ContentKey{1}).empty());
}

// A prompt has exactly the tokens it must, shares exactly what the trace shares, and its bytes
// depend on nothing but seed, trace, words and overhead.

struct Built {
    std::string text;
    std::uint64_t digest = 0;
    bool operator==(const Built&) const = default;
};

Built build(PromptBuilder& builder, const TraceRow& row, std::uint32_t slice = 4096,
            std::uint32_t pass = 0) {
    std::string room(builder.room_of(row), '#');
    PromptCursor cursor = builder.begin(row, pass);
    while (!builder.fill(cursor, room.data(), slice)) {
    }
    room.resize(cursor.bytes);
    return {room, PromptBuilder::digest_of(cursor)};
}

Built build(const Trace& trace, const PromptOptions& options, const TraceRow& row,
            std::uint32_t slice = 4096) {
    PromptBuilder builder(trace, WordTable::built_in(), options);
    return build(builder, row, slice);
}

std::vector<std::string> words(const std::string& text, char separator) {
    std::vector<std::string> all(1);
    for (const char c : text) {
        if (c == separator) {
            all.emplace_back();
        } else {
            all.back().push_back(c);
        }
    }
    return all;
}

/// So many words at their beginnings.
std::uint64_t shared(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    return static_cast<std::uint64_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

TraceRow add_row(Trace& trace, std::uint32_t input_length, const std::vector<std::uint64_t>& ids) {
    return append_row(trace, {.input_length = input_length}, ids);
}

std::vector<std::uint64_t> range(std::uint64_t from, std::uint64_t count) {
    std::vector<std::uint64_t> ids(count);
    std::iota(ids.begin(), ids.end(), from);
    return ids;
}

// The rule as an independent program (Python) computes it: text, ids, overhead, the largest id.
TEST(PromptBuilder, GivesTheBytesAndTheDigestOfTheRule) {
    Trace trace{.block_size = 16};
    const TraceRow plain = add_row(trace, 20, {0, 1});
    EXPECT_EQ(build(trace, {}, plain),
              (Built{"cur rob lan own rom fee sur abs xml put dev url fig pal ham pol "
                     "est rub ind ain",
                     0xFD05515B86495D6EULL}));
    PromptOptions ids{.kind = PromptKind::ids};
    EXPECT_EQ(build(trace, ids, plain),
              (Built{"3147,4159,2273,3237,2022,1003,3007,4243,4585,1154,4304,3898,2676,5077,"
                     "3752,3340,2169,3527,3089,1748",
                     0x2F5A4991851B4FB7ULL}));
    TraceRow covered = add_row(trace, 30, {18446744073709551615ULL});
    covered.index = 3;
    covered.name_space = 2;
    EXPECT_EQ(build(trace, {.seed = 7, .overhead = {3, 5}}, covered),
              (Built{"kin dat law bit kin cha inv act pro jet bos the ran "
                     "jar now key rot sys boy pot abs dam",
                     0xF8047DD2077DFC25ULL}));
    // The same for a prompt of twelve blocks with a private tail, by its digest.
    trace = {.block_size = 512};
    TraceRow row = add_row(trace, 6000, range(100, 11));
    row.index = 5;
    EXPECT_EQ(build(trace, PromptOptions{.overhead = {24, 5}}, row).digest, 0x0B51B6FCD0BBBABEULL);
    PromptOptions other_ids{.kind = PromptKind::ids};
    EXPECT_EQ(build(trace, other_ids, row).digest, 0x9F5FBC6870054EE0ULL);
}

// Every length near block borders, behind every small overhead: input_length - H words, exactly.
TEST(PromptBuilder, CountsAreExact) {
    for (const PromptKind kind : {PromptKind::text, PromptKind::ids}) {
        for (const Overhead overhead :
             {Overhead{0, 0}, Overhead{1, 0}, Overhead{3, 5}, Overhead{40, 2}}) {
            Trace trace{.block_size = 16};
            for (std::uint32_t length = 1; length <= 70; ++length) {
                add_row(trace, length, range(length * 100, (length + 15) / 16));
            }
            PromptOptions options{.kind = kind, .overhead = overhead};
            PromptBuilder builder(trace, WordTable::built_in(), options);
            for (const TraceRow& row : trace.rows) {
                const std::uint32_t h = overhead.pre + overhead.post;
                const std::uint32_t expected = row.input_length > h ? row.input_length - h : 1;
                EXPECT_EQ(builder.clamped(row), row.input_length <= h);
                EXPECT_EQ(builder.words_of(row), expected);
                const std::string text = build(builder, row).text;
                const auto all = words(text, kind == PromptKind::text ? ' ' : ',');
                EXPECT_EQ(all.size(), expected);
                EXPECT_TRUE(std::all_of(all.begin(), all.end(), [&](const std::string& word) {
                    return word.size() == (kind == PromptKind::text ? 3U : 4U);
                })) << text;
                EXPECT_LE(text.size() + 8, builder.room_of(row));
            }
        }
    }
}

// Block k lies at server tokens [k B, (k+1) B): behind a template, only the first visible block
// moves, and it moves as a whole.
TEST(PromptBuilder, LaysBlocksBehindTheTemplateAtAnyPosition) {
    Trace trace{.block_size = 16};
    const TraceRow row = add_row(trace, 64, range(0, 4));
    const auto plain = words(build(trace, {}, row).text, ' ');
    PromptOptions chat;
    chat.overhead = {20, 3};  // the template covers block 0 and four tokens of block 1
    const auto shifted = words(build(trace, chat, row).text, ' ');
    ASSERT_EQ(shifted.size(), 64U - 23U);
    for (std::uint32_t p = 20; p < 32; ++p) {
        EXPECT_EQ(shifted[p - 20], plain[16 + p - 20]) << "delayed, not cut: " << p;
    }
    for (std::uint32_t p = 32; p < 61; ++p) {
        EXPECT_EQ(shifted[p - 20], plain[p]) << p;
    }
    // A partial block is the head of the full one, and equal ids are equal tokens at any position.
    trace = {.block_size = 32};
    const auto full = words(build(trace, {}, add_row(trace, 64, {5, 6})).text, ' ');
    const auto part = words(build(trace, {}, add_row(trace, 45, {5, 6})).text, ' ');
    const auto moved = words(build(trace, {}, add_row(trace, 96, {9, 6, 5})).text, ' ');
    EXPECT_TRUE(std::equal(part.begin(), part.end(), full.begin()));
    EXPECT_TRUE(std::equal(moved.begin() + 32, moved.begin() + 64, full.begin() + 32));
    EXPECT_TRUE(std::equal(moved.begin() + 64, moved.begin() + 96, full.begin()));
}

// The server's shared token prefix of two rows is what their ids say, to a few chance words.
TEST(PromptBuilder, SharesThePrefixOfTheTraceAndNothingElse) {
    Trace trace{.block_size = 64};
    const TraceRow one = add_row(trace, 300, {1, 2, 3, 4, 5});
    const TraceRow two = add_row(trace, 290, {1, 2, 3, 7, 8});
    const auto a = words(build(trace, {}, one).text, ' ');
    const auto b = words(build(trace, {}, two).text, ' ');
    EXPECT_GE(shared(a, b), 192u);
    EXPECT_LT(shared(a, b), 192u + 8);
    // What no id covers is private: equal for nobody, stable for its row.
    trace = {.block_size = 64};
    const TraceRow other_one = add_row(trace, 200, {1});
    const TraceRow other_two = add_row(trace, 200, {1});
    const TraceRow three = add_row(trace, 200, {});
    const auto other_a = words(build(trace, {}, other_one).text, ' ');
    const auto other_b = words(build(trace, {}, other_two).text, ' ');
    const auto c = words(build(trace, {}, three).text, ' ');
    EXPECT_TRUE(std::equal(other_a.begin(), other_a.begin() + 64, other_b.begin()));
    EXPECT_FALSE(std::equal(other_a.begin() + 64, other_a.begin() + 72, other_b.begin() + 64));
    EXPECT_FALSE(std::equal(other_a.begin(), other_a.begin() + 8, c.begin()));
    EXPECT_EQ(build(trace, {}, other_one), build(trace, {}, other_one));

    Trace no_blocks{.block_size = 0};
    EXPECT_EQ(words(build(no_blocks, {}, add_row(no_blocks, 1000, {})).text, ' ').size(), 1000U);
    // Surplus ids never lengthen a prompt.
    trace = {.block_size = 16};
    const TraceRow exact = add_row(trace, 30, {1, 2});
    const TraceRow surplus = add_row(trace, 30, {1, 2, 3, 4});
    EXPECT_EQ(build(trace, {}, exact), build(trace, {}, surplus));
}

Trace random_trace(std::uint32_t block_size, int rows) {
    Trace trace{.block_size = block_size};
    Random random(block_size);
    for (int i = 0; i < rows; ++i) {
        const auto blocks = random.below(20);
        const auto tail = static_cast<std::uint32_t>(random.below(3 * block_size));
        add_row(trace, static_cast<std::uint32_t>(blocks * block_size + tail + 1),
                range(random.below(12), blocks + 1));
    }
    return trace;
}

// Tokens of the blocks that rows have in common, where they are of one tree; in others ids mean
// nothing.
std::uint64_t wanted(const Trace& trace, const TraceRow& a, const TraceRow& b) {
    std::uint64_t blocks = 0;
    while (a.name_space == b.name_space && blocks < std::min(a.ids_count, b.ids_count) &&
           trace.ids[a.ids_begin + blocks] == trace.ids[b.ids_begin + blocks]) {
        ++blocks;
    }
    return std::min<std::uint64_t>(blocks * trace.block_size,
                                   std::min(a.input_length, b.input_length));
}

// Any two rows share the blocks that their ids share, and some words by chance; rows of other trees
// share nothing, whatever their ids; nor does a row share something with itself in another pass.
TEST(PromptBuilder, KeepsThePrefixLawInRandomTraces) {
    constexpr std::uint64_t by_chance = 8;  // words that rows have in common by accident
    for (const std::uint32_t block : {16U, 64U}) {
        Trace trace = random_trace(block, 60);
        Random random(block);
        for (TraceRow& row : trace.rows) {
            row.name_space = static_cast<std::uint32_t>(random.below(4));
        }
        trace.name_spaces = 4;
        PromptBuilder builder(trace, WordTable::built_in(), {});
        std::vector<std::vector<std::string>> prompts;
        for (const TraceRow& row : trace.rows) {
            prompts.push_back(words(build(builder, row).text, ' '));
            ASSERT_EQ(prompts.back().size(), row.input_length);
            const auto again = words(build(builder, row, 4096, 1).text, ' ');
            ASSERT_EQ(again.size(), row.input_length);
            EXPECT_LT(shared(prompts.back(), again), by_chance) << row.index;
        }
        for (std::size_t i = 0; i < prompts.size(); ++i) {
            for (std::size_t k = 0; k < i; ++k) {
                const std::uint64_t law = wanted(trace, trace.rows[i], trace.rows[k]);
                const std::uint64_t got = shared(prompts[i], prompts[k]);
                EXPECT_GE(got, law) << i << " and " << k;
                EXPECT_LT(got, law + by_chance) << i << " and " << k;
            }
        }
    }
}

// However the work is sliced, the bytes and the digest are the same.
TEST(PromptBuilder, NeitherSlicesNorCachesChangeBytes) {
    const Trace trace = random_trace(64, 30);
    for (const PromptKind kind : {PromptKind::text, PromptKind::ids}) {
        PromptOptions options{.kind = kind, .overhead = {5, 2}, .block_cache_bytes = 64 << 10};
        for (const TraceRow& row : trace.rows) {
            const Built whole = build(trace, options, row, 1U << 30);
            for (const std::uint32_t slice : {0U, 1U, 7U, 64U, 65U, 1000U}) {
                ASSERT_EQ(build(trace, options, row, slice), whole) << slice;
            }
        }
    }
    // Whatever the cache's size, the bytes are the same; a roomy one is hit.
    const Trace other_trace = random_trace(128, 60);
    // Four digits and five: the lengths of words differ.
    for (const std::uint32_t ids_from : {1000U, 8000U}) {
        for (const PromptKind kind : {PromptKind::text, PromptKind::ids}) {
            PromptOptions options{.kind = kind, .ids_from = ids_from};
            PromptBuilder none(other_trace, WordTable::built_in(), options);
            options.block_cache_bytes = 16 << 10;
            PromptBuilder small(other_trace, WordTable::built_in(), options);
            options.block_cache_bytes = 4 << 20;
            PromptBuilder large(other_trace, WordTable::built_in(), options);
            for (const TraceRow& row : other_trace.rows) {
                const Built expected = build(none, row);
                ASSERT_EQ(build(small, row), expected);
                ASSERT_EQ(build(large, row), expected);
            }
            EXPECT_EQ(none.cache_marks().bytes, 0U);
            EXPECT_LE(small.cache_marks().bytes, std::size_t{16} << 10);
            EXPECT_GT(large.cache_marks().hits, large.cache_marks().misses);
        }
    }
}

// Passes share the blocks that they are to share, to the word, and nothing behind them.
TEST(PromptBuilder, PassesShareWhatTheyAreToShare) {
    Trace trace{.block_size = 64};
    const TraceRow row = add_row(trace, 4 * 64 + 10, {1, 2, 3, 4});
    const auto common = [&](PromptBuilder& builder, std::uint32_t a, std::uint32_t b) {
        return shared(words(build(builder, row, 4096, a).text, ' '),
                      words(build(builder, row, 4096, b).text, ' '));
    };
    PromptOptions options;
    PromptBuilder apart(trace, WordTable::built_in(), options);
    EXPECT_LT(common(apart, 0, 1), 8u);
    for (const std::uint32_t blocks : {1u, 3u, 4u}) {
        const std::vector<std::uint32_t> shared = {blocks};
        options.shared_blocks = shared;
        PromptBuilder builder(trace, WordTable::built_in(), options);
        for (const std::uint32_t pass : {1u, 2u}) {
            EXPECT_GE(common(builder, pass - 1, pass), 64 * blocks);
            EXPECT_LT(common(builder, pass - 1, pass), 64 * blocks + 8);
        }
        EXPECT_EQ(build(builder, row), build(apart, row)) << "the first pass is as without";
    }
}

}  // namespace
}  // namespace driftless
