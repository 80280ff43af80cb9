// Ids and decoded texts agree with the reference implementations (tokenizers, tiktoken) by digest:
// the golden strings, every added token, and 20,000 strings put together at random.
#include "proto/core/hash.hpp"
#include "tests/unit/engine/prompt/golden.hpp"
#include "tests/unit/json_text.hpp"

namespace driftless {
namespace {

constexpr std::size_t fuzzed_strings = 20'000;
constexpr std::size_t strings_per_digest = 20;
constexpr std::size_t fuzzed_strings_per_digest = 250;

// The same numbers as in make_digests.py: splitmix64, from the string's index.
std::vector<std::string> fuzzed() {
    const std::vector<std::string> fragments =
        strings_of(JsonText(read_whole(TEST_DATA "/tokenizers/fragments.json")).root);
    std::vector<std::string> all(fuzzed_strings);
    for (std::size_t i = 0; i < all.size(); ++i) {
        std::uint64_t state = i * 1'000'003;
        const auto next = [&] { return mix64(state += golden_gamma); };
        for (std::uint64_t left = 1 + next() % 16; left > 0; --left) {
            all[i] += fragments[next() % fragments.size()];
        }
    }
    return all;
}

// Every added token: alone, between others, beside blanks.
std::vector<std::string> around_added(const Tokenizer& tokenizer) {
    std::vector<AddedToken> tokens = tokenizer.parts().added;
    std::stable_sort(tokens.begin(), tokens.end(),
                     [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
    std::vector<std::string> all;
    for (const AddedToken& token : tokens) {
        all.push_back(token.text);
        all.push_back("a " + token.text + " b" + token.text + "c");
        all.push_back(" " + token.text + "\n" + token.text + token.text);
    }
    return all;
}

void append_number(std::string& out, std::size_t value) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
        out.push_back(static_cast<char>(value >> shift & 0xFF));
    }
}

// Of each so many strings: CRC-32 of counts, ids with special tokens around, and decoded texts.
std::vector<std::uint64_t> digests(Tokenizer& tokenizer, std::span<const std::string> strings,
                                   std::size_t each) {
    std::vector<std::uint64_t> all;
    std::string seen;
    for (std::size_t i = 0; i < strings.size(); ++i) {
        std::vector<TokenId> ids;
        tokenizer.encode(strings[i], ids, true);
        append_number(seen, ids.size());
        for (const TokenId id : ids) {
            append_number(seen, id);
        }
        seen += with_replacements(tokenizer.decode(ids));
        if ((i + 1) % each == 0 || i + 1 == strings.size()) {
            all.push_back(golden_text(seen).crc);
            seen.clear();
        }
    }
    return all;
}

void expect_same(JsonValue expected, const std::vector<std::uint64_t>& got, std::size_t each) {
    ASSERT_EQ(expected.size(), got.size());
    std::size_t i = 0;
    for (JsonValue one = expected.first(); one.present(); one = one.next(), ++i) {
        EXPECT_EQ(one.as_u64(), got[i]) << "in strings from " << i * each;
    }
}

void hold_against_digests(const std::vector<std::string>& names) {
    const std::vector<std::string> random = fuzzed();
    const JsonText digests_of(read_whole(TEST_DATA "/tokenizers/digests.json"));
    for (const std::string& name : names) {
        SCOPED_TRACE(name);
        const JsonValue expected = digests_of.root.find(name);
        ASSERT_TRUE(expected.present());
        Tokenizer tokenizer = load_tokenizer(name);
        expect_same(expected.find("strings"),
                    digests(tokenizer, golden_strings(), strings_per_digest), strings_per_digest);
        expect_same(expected.find("added"),
                    digests(tokenizer, around_added(tokenizer), strings_per_digest),
                    strings_per_digest);
        expect_same(expected.find("fuzzed"), digests(tokenizer, random, fuzzed_strings_per_digest),
                    fuzzed_strings_per_digest);
    }
}

TEST(TokenizerDigest, SmallTokenizersAgreeWithTheReference) {
    hold_against_digests(small_tokenizers());
    hold_against_digests(small_tokenizers_with_digests_only());
}

TEST(TokenizerDigest, RealTokenizersAgreeWithTheReference) {
    if (real_tokenizers().empty()) {
        GTEST_SKIP() << "no real tokenizers in " << SHARED_DATA;
    }
    hold_against_digests(real_tokenizers());
}

TEST(TokenizerDigest, FetchedTokenizersAgreeWithTheReference) {
    if (fetched_tokenizers().empty()) {
        GTEST_SKIP() << "DRIFTLESS_TOKENIZERS names no folder with tokenizers: "
                        "tests/data/tokenizers/fetch_real fills one";
    }
    hold_against_digests(fetched_tokenizers());
}

}  // namespace
}  // namespace driftless
