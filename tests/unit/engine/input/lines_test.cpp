// Lines come out the same however the bytes were cut, and each way of ending one is understood.
#include "engine/input/lines.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace driftless {
namespace {

struct Split {
    std::vector<std::string> lines;
    std::uint64_t number = 0;
    bool operator==(const Split&) const = default;
};

void drain(LineSplitter& splitter, Split& split) {
    while (const auto line = splitter.next()) {
        split.lines.emplace_back(*line);
    }
    split.number = splitter.number();
}

Split split_in_pieces(const std::string& text, std::size_t piece) {
    LineSplitter splitter;
    Split split;
    for (std::size_t at = 0; at < text.size(); at += piece) {
        splitter.feed(std::string_view(text).substr(at, piece));
        drain(splitter, split);
    }
    splitter.finish();
    drain(splitter, split);
    return split;
}

using Lines = std::vector<std::string>;

// LF, CRLF, a missing final newline, blank lines, a byte order mark, and nothing at all.
TEST(LineSplitter, UnderstandsEveryEnd) {
    EXPECT_EQ(split_in_pieces("a\nb\n", 100).lines, (Lines{"a", "b"}));
    EXPECT_EQ(split_in_pieces("a\r\nb\r\n", 100).lines, (Lines{"a", "b"}));
    EXPECT_EQ(split_in_pieces("a\nb", 100).lines, (Lines{"a", "b"}));
    EXPECT_EQ(split_in_pieces("a\r\nb\r", 100).lines, (Lines{"a", "b"}));
    EXPECT_EQ(split_in_pieces("a\n\n\r\nb\n", 100).lines, (Lines{"a", "", "", "b"}));
    EXPECT_EQ(split_in_pieces("\xEF\xBB\xBFHi\n\xEF\xBB\xBFx\n", 100).lines,
              (Lines{"Hi", "\xEF\xBB\xBFx"}));
    EXPECT_EQ(split_in_pieces("", 100).lines, Lines{});
    EXPECT_EQ(split_in_pieces("\n", 100).lines, Lines{""});
}

// Whole, byte by byte, and at every size between: the same lines and numbers.
TEST(LineSplitter, DoesNotDependOnTheCuts) {
    const std::string text =
        "\xEF\xBB\xBF"
        "first\r\n\nthird line\r\n\r\nfifth\nlast";
    const Split whole = split_in_pieces(text, text.size());
    EXPECT_EQ(whole.lines, (Lines{"first", "", "third line", "", "fifth", "last"}));
    EXPECT_EQ(whole.number, 6U);
    for (std::size_t piece = 1; piece < text.size(); ++piece) {
        EXPECT_EQ(split_in_pieces(text, piece), whole) << piece;
    }
}

// A line of 64 MiB is read; one byte more is refused, without being kept.
TEST(LineSplitter, BoundsALine) {
    const std::string piece(line_bytes_max / 4, 'x');
    LineSplitter fits;
    LineSplitter too_long;
    for (int i = 0; i < 4; ++i) {
        fits.feed(piece);
        too_long.feed(piece);
        EXPECT_FALSE(fits.next().has_value());
        EXPECT_FALSE(too_long.next().has_value());
    }
    fits.feed("\n");
    const auto line = fits.next();
    ASSERT_TRUE(line.has_value());
    EXPECT_EQ(line->size(), line_bytes_max);
    too_long.feed("x\n");
    EXPECT_FALSE(too_long.next().has_value());
    EXPECT_TRUE(too_long.too_long());
    EXPECT_EQ(too_long.pending(), line_bytes_max);
}

}  // namespace
}  // namespace driftless
