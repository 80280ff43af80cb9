// A block's words depend on its key and the position only, and tell keys apart within the head.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "engine/prompt/builder.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

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
TEST(Block, AnyRangeIsTheSequenceOfItsWords) {
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
}

// Keys that differ in a single bit, the hardest case, differ within the head; so do ids.
TEST(Block, HeadsTellAllKeysApart) {
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
TEST(Block, OpensWithASafeWord) {
    const WordTable& table = WordTable::built_in();
    const ContentKeys keys(3);
    for (std::uint64_t id = 0; id < 5000; ++id) {
        EXPECT_LT(word_index(table, keys.of_block(0, id), 0), 256U);
    }
}

// All words get used, about equally: 512 words, 512,000 picks, each within 6 sigma of 1,000.
TEST(Block, WordsAreEvenlyUsed) {
    const WordTable& table = WordTable::built_in();
    std::vector<int> uses(table.size());
    for (std::uint32_t j = 100; j < 512'100; ++j) {
        ++uses[word_index(table, ContentKey{42}, j)];
    }
    for (const int count : uses) {
        EXPECT_NEAR(count, 1000, 190);
    }
}

// Seeds, namespaces, blocks and rows have contents of their own.
TEST(Block, KeysSeparateSeedNamespaceAndKind) {
    std::set<std::uint64_t> values;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const ContentKeys keys(seed);
        for (std::uint32_t i = 0; i < 100; ++i) {
            values.insert(keys.of_row(i).value);
            for (std::uint32_t name_space = 0; name_space < 4; ++name_space) {
                values.insert(keys.of_block(name_space, i).value);
            }
        }
    }
    EXPECT_EQ(values.size(), 4U * 100U * 5U);
}

// A salt gives contents that no seed and no other salt gives, and none leaves the seed as it is.
TEST(Block, SaltsSeparateRuns) {
    EXPECT_EQ(salted_seed(7, ""), 7U);
    EXPECT_EQ(salted_seed(7, "monday"), salted_seed(7, "monday"));
    std::set<std::uint64_t> values;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        for (const char* salt : {"", "monday", "tuesday", "a", "b"}) {
            const ContentKeys keys(salted_seed(seed, salt));
            for (std::uint32_t i = 0; i < 100; ++i) {
                values.insert(keys.of_row(i).value);
                values.insert(keys.of_block(0, i).value);
            }
        }
    }
    EXPECT_EQ(values.size(), 4U * 5U * 100U * 2U);
}

// The block cache holds what was stored last, within its bytes, and never answers with another's.

std::string bytes_of(std::uint64_t i) {
    return "block " + std::to_string(i);
}

// Under random use, a hit is always the block's own bytes, and memory stays as it was taken.
TEST(BlockCache, NeverAnswersWithAnothersBytes) {
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
    EXPECT_EQ(cache.hits() + cache.misses(), 50'000U);
    EXPECT_EQ(cache.bytes(), taken);
}

// A block in steady use survives a stream of others that come once.
TEST(BlockCache, KeepsWhatIsUsed) {
    BlockCache cache(64 << 10, 64);
    const ContentKey kept{mix64(7)};
    cache.store(kept, "kept");
    for (std::uint64_t id = 1000; id < 20'000; ++id) {
        ASSERT_EQ(cache.find(kept), "kept") << id;
        cache.store(ContentKey{mix64(id)}, bytes_of(id));
    }
}

// No room for one set, and no block size: nothing is held, nothing breaks.
TEST(BlockCache, MayBeTooSmallToHoldAnything) {
    for (BlockCache cache : {BlockCache(0, 64), BlockCache(100, 64), BlockCache(1 << 20, 0)}) {
        EXPECT_EQ(cache.bytes(), 0U);
        EXPECT_TRUE(cache.find(ContentKey{1}).empty());
    }
    BlockCache cache(100, 64);
    cache.store(ContentKey{1}, "block");
    EXPECT_TRUE(cache.find(ContentKey{1}).empty());
}

}  // namespace

}  // namespace driftless
