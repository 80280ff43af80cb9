// Ids and decoded texts are those of the reference implementation, for tokenizers of every shape
// that servers use, over strings of mixed scripts, code, white space, emoji and all added tokens.
#include "tests/unit/engine/prompt/golden.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace driftless {
namespace {

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
