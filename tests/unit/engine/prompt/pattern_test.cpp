// Expressions written for Oniguruma match in PCRE2 what Oniguruma matches.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/prompt/tokenizer.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

std::vector<std::string> matches(const std::string& expression, std::string_view text) {
    std::string why;
    Result<Pattern> pattern = Pattern::compile(expression, why);
    EXPECT_TRUE(pattern) << why;
    std::vector<std::string> all;
    Pattern::Search search;
    while (const auto match = pattern.value().next(text, search)) {
        all.emplace_back(text.substr(match->begin, match->end - match->begin));
    }
    return all;
}

using Texts = std::vector<std::string>;

// Oniguruma's documentation (doc/RE): \h is a hex digit, \uHHHH a code point, && an intersection,
// {n,m}+ and {n}? repeat what is before once more, \p{Han} the script.
TEST(Pattern, ReadsOnigurumasSyntax) {
    EXPECT_EQ(matches(R"(\h+)", "x1aFg"), Texts({"1aF"}));
    EXPECT_EQ(matches(R"([\h_]+)", "x1_aFg"), Texts({"1_aF"}));
    EXPECT_EQ(matches(R"(\u00e9)", "e\u00e9"), Texts({"\u00e9"}));
    EXPECT_EQ(matches(R"([\p{L}&&[^\p{Han}]]+)", "ab\u4e2dc"), Texts({"ab", "c"}));
    EXPECT_EQ(matches(R"(\p{Han}+)", "a\u4e2d\u6587b\u3002"), Texts({"\u4e2d\u6587"}));
    EXPECT_EQ(matches("(ab){2}+c", "ababababc"), Texts({"ababababc"}));
    EXPECT_EQ(matches("x[ab]{2}+b", "xaabb xabb"), Texts({"xaab", "xabb"}));
    EXPECT_EQ(matches("a{2}?b", "b aab"), Texts({"b", "aab"}));
    EXPECT_EQ(matches("^b$", "a\nb\nc"), Texts({"b"}));
    EXPECT_EQ(matches("[[:digit:]x]+", "a1x2"), Texts({"1x2"}));
    EXPECT_EQ(matches("[a[[:digit:]x]]+", "ba1x"), Texts({"a1x"}));
    EXPECT_EQ(matches(R"(\p{^L}+)", "a12b"), Texts({"12"}));
    EXPECT_EQ(matches(R"([\p{^Han}&&\p{L}]+)", "ab\u4e2d"), Texts({"ab"}));
    EXPECT_EQ(matches("a{x|b{", "a{x b{"), Texts({"a{x", "b{"}));
}

// Rank files come with expressions of Rust's regex crates, where \pX is a property of one letter.
TEST(Pattern, ReadsPropertiesOfOneLetter) {
    EXPECT_EQ(matches(R"(\pL+)", "ab1\u4e2d"), Texts({"ab", "\u4e2d"}));
    EXPECT_EQ(matches(R"(\PN+)", "ab1c"), Texts({"ab", "c"}));
}

// The compiled code has a stack of its own; where a search runs out of it, the interpreter goes on.
TEST(Pattern, FindsWhatNeedsADeepStack) {
    const std::string text(200'000, 'a');
    EXPECT_EQ(matches("(a|b)+c|(?:a|b)+", text), Texts({text}));
}

// Oniguruma's documentation (doc/RE, 7. Character class): [a-w&&[^c-g]z] is ([a-w] and ([^c-g] or
// z)); a class within a class adds to it.
TEST(Pattern, ReadsClassesWithinClasses) {
    EXPECT_EQ(matches("[a-w&&[^c-g]z]+", "abcdwxz"), Texts({"ab", "w"}));
    EXPECT_EQ(matches("[a[bc]]+", "xabcd"), Texts({"abc"}));
    EXPECT_EQ(matches("[^a[bc]]+", "xabcd"), Texts({"x", "d"}));
    EXPECT_EQ(matches("[a[^a-y]]+", "xabz"), Texts({"a", "z"}));
    EXPECT_EQ(matches("[^a[^a-y]]+", "xabz"), Texts({"x", "b"}));
    EXPECT_EQ(matches("[^a-f&&d-z]+", "adgz"), Texts({"a", "gz"}));
    EXPECT_EQ(matches(R"( ?[^(\s|[.,!?\u3002])]+)", "a b,c\u3002(d"), Texts({"a", " b", "c", "d"}));
}

// U+180E is no white space since Unicode 6.3; PCRE2 still counts it in.
TEST(Pattern, AgreesOnWhiteSpace) {
    EXPECT_EQ(matches(R"(\s+)", "a\u180E \u3000b"), Texts({" \u3000"}));
    EXPECT_EQ(matches(R"([^\s]+)", "a\u180E b"), Texts({"a\u180E", "b"}));
    EXPECT_EQ(matches(R"(\S+)", "a\u180E b"), Texts({"a\u180E", "b"}));
}

TEST(Pattern, EmptyMatchesAreFoundOnceEach) {
    EXPECT_EQ(matches(R"((?=(\d{3})+(?!\d)))", "1234567").size(), 2U);
    EXPECT_EQ(matches("x*", "axb"), Texts({"", "x", ""}));
    EXPECT_EQ(matches("x*", "\u00e9").size(), 2U);
}

TEST(Pattern, RefusesWhatItCannotMean) {
    std::string why;
    EXPECT_FALSE(Pattern::compile("[a[b[c]]]", why));
    EXPECT_TRUE(says(why, "nested three deep"));
    EXPECT_FALSE(Pattern::compile("[a[b&&c]]", why));
    EXPECT_FALSE(Pattern::compile("[ab", why));
    EXPECT_FALSE(Pattern::compile("[a[b[c", why));
    EXPECT_FALSE(Pattern::compile("[[:a]", why));
    EXPECT_TRUE(says(why, "'[:' without ':]'"));
    EXPECT_FALSE(Pattern::compile("(a", why));
    EXPECT_TRUE(says(why, "cannot be run"));
}

}  // namespace
}  // namespace driftless
