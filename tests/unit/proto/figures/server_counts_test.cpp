// The likely cause of prompts that are off is read from the shape of the differences; what is said
// names the remedy. Servers here are worked out by hand: a length in, a count out.
#include "proto/figures/server_counts.hpp"

#include <gtest/gtest.h>

#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

constexpr Overhead template_tokens = {5, 3};

// Rows of 100 to 1,990 tokens, counted as `count` does.
template <typename Count>
PromptFigures counted_as(Count count, Overhead overhead = template_tokens) {
    PromptCounts counts(overhead);
    for (std::uint32_t i = 0; i < 190; ++i) {
        const std::uint32_t length = 100 + 10 * i;
        counts.add(length, count(length, i));
    }
    return counts.figures();
}

// Nothing is off: nothing is said. Rows without a count are unknown, not exact.
TEST(PromptCounts, ExactRowsNeedNoWords) {
    PromptCounts counts(template_tokens);
    counts.add(600, 600);
    counts.add(600, std::nullopt);
    const PromptFigures figures = counts.figures();
    EXPECT_EQ(figures.exact, 1u);
    EXPECT_EQ(figures.unknown, 1u);
    EXPECT_EQ(figures.off, 0u);
    EXPECT_EQ(figures.cause, PromptCause::none);
    EXPECT_EQ(figures.explanation, "");
}

// The same difference everywhere is the template; the flag that is named fixes it.
TEST(PromptCounts, AConstantIsTheOverhead) {
    const auto by = [](std::int64_t off) {
        return counted_as([off](std::uint32_t length, std::uint32_t) { return length + off; });
    };
    const PromptFigures more = by(4);
    EXPECT_EQ(more.off, 190u);
    EXPECT_EQ(more.largest_off, 4);
    EXPECT_EQ(more.cause, PromptCause::overhead);
    EXPECT_TRUE(says(more.explanation, "--overhead 9,3 "));
    EXPECT_TRUE(says(by(-6).explanation, "--overhead 0,2 "));
    EXPECT_TRUE(says(by(-8).explanation, "--overhead 0,0 "));
    EXPECT_EQ(by(-9).cause, PromptCause::words) << "no template is shorter than nothing";
    EXPECT_TRUE(says(by(-9).explanation, "counts 9 tokens fewer than were sent"));
}

// One word in ten costs two tokens: the difference grows, and the words are to blame; so they are
// where a wrong template comes on top, and where words merge.
TEST(PromptCounts, GrowthIsTheWords) {
    const auto splits = [](std::uint32_t length, std::uint32_t) {
        return std::int64_t{length} + length / 10;
    };
    const PromptFigures figures = counted_as(splits);
    EXPECT_EQ(figures.cause, PromptCause::words);
    EXPECT_TRUE(says(figures.explanation, "+100 tokens per 1,000"));
    EXPECT_TRUE(says(figures.explanation, "--tokenizer"));
    const PromptFigures made_up = counted_as([](std::uint32_t, std::uint32_t) { return 1; });
    EXPECT_EQ(
        made_up.explanation,
        "the server reports about as many tokens for a long prompt as for a short one: it does "
        "not count them");
    const auto merges = [](std::uint32_t length, std::uint32_t) {
        return std::int64_t{length} + 7 - length / 50;
    };
    EXPECT_EQ(counted_as(merges).cause, PromptCause::words);
}

// Rows that are recorded shorter than the template cannot be exact, and blame nothing else.
TEST(PromptCounts, ShortRowsAreToldApart) {
    PromptCounts counts(template_tokens);
    counts.add(8, 9);
    counts.add(3, 9);
    counts.add(9, 9);
    counts.add(600, 600);
    PromptFigures figures = counts.figures();
    EXPECT_EQ(figures.off, 2u);
    EXPECT_EQ(figures.short_off, 2u);
    EXPECT_EQ(figures.largest_off, 6);
    EXPECT_EQ(figures.cause, PromptCause::short_rows);
    EXPECT_TRUE(says(figures.explanation, "2 rows"));
    counts.add(700, 703);
    counts.add(800, 803);
    counts.add(500, 503);
    figures = counts.figures();
    EXPECT_EQ(figures.short_off, 2u);
    EXPECT_NE(figures.cause, PromptCause::short_rows);
}

// A template that changes from row to row, and a server that cuts long prompts, are neither.
TEST(PromptCounts, TheRestIsMixed) {
    const auto changing = [](std::uint32_t length, std::uint32_t i) {
        return std::int64_t{length} + (i * 7 % 5);
    };
    const PromptFigures figures = counted_as(changing);
    EXPECT_EQ(figures.cause, PromptCause::mixed);
    EXPECT_TRUE(says(figures.explanation, "+0 to +4"));
    PromptCounts equal_lengths(template_tokens);
    equal_lengths.add(600, 601);
    equal_lengths.add(600, 602);
    EXPECT_EQ(equal_lengths.figures().cause, PromptCause::mixed);
}

// The order of rows does not change what is said.
TEST(PromptCounts, OrderDoesNotMatter) {
    PromptCounts up;
    PromptCounts down;
    for (std::uint32_t i = 0; i < 100; ++i) {
        up.add(100 + i, 100 + i + i / 10);
        const std::uint32_t j = 99 - i;
        down.add(100 + j, 100 + j + j / 10);
    }
    EXPECT_EQ(up.figures().explanation, down.figures().explanation);
    EXPECT_EQ(up.figures().cause, PromptCause::words);
}

}  // namespace
}  // namespace driftless
