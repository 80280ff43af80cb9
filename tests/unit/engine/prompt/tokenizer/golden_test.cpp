// Ids and decoded texts are those of the reference implementation, for tokenizers of every shape
// that servers use, over strings of mixed scripts, code, white space, emoji and all added tokens.
#include "golden.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace driftless {
namespace {

constexpr std::size_t shown_max = 5;  // failures of one tokenizer that are printed

// As Python's decode(errors="replace") writes it, which is what the reference returns: each maximal
// head of a code point that breaks off is one U+FFFD.
std::string with_replacements(const std::string& text) {
    std::string out;
    std::size_t at = 0;
    while (at < text.size()) {
        const auto byte = static_cast<unsigned char>(text[at]);
        const std::size_t wanted = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
        unsigned low = 0x80;
        unsigned high = 0xBF;
        low = byte == 0xE0 ? 0xA0 : byte == 0xF0 ? 0x90 : low;
        high = byte == 0xED ? 0x9F : byte == 0xF4 ? 0x8F : high;
        std::size_t good = 1;
        const bool leads = byte < 0x80 || (byte >= 0xC2 && byte <= 0xF4);
        while (leads && good < wanted && at + good < text.size()) {
            const auto next = static_cast<unsigned char>(text[at + good]);
            if (next < low || next > high) {
                break;
            }
            low = 0x80;
            high = 0xBF;
            ++good;
        }
        out += leads && good == wanted ? text.substr(at, good) : "\xEF\xBF\xBD";
        at += good;
    }
    return out;
}

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

TEST(TokenizerGolden, SmallTokenizersAgreeWithTheReference) {
    for (const std::string& name : small_tokenizers()) {
        hold_against_reference(name);
    }
}

TEST(TokenizerGolden, RealTokenizersAgreeWithTheReference) {
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
