// Lines come out the same however the bytes were cut, and each way of ending one is understood.

#include "engine/plan/files.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/scratch_folder.hpp"

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

// What is written is what is read back, compressed as the name says, into new files only.

class Sink : public testing::Test {
  protected:
    static std::string read_all(const std::string& path, std::string& compression) {
        Result<InputSource> source = InputSource::open(path);
        EXPECT_TRUE(source);
        std::string all;
        for (;;) {  // ends with the file
            const Result<std::string_view> piece = source.value().read();
            if (!piece || piece.value().empty()) {
                compression = source.value().compression();
                return all;
            }
            all += piece.value();
        }
    }

    static void write(const std::string& path, std::string_view bytes) {
        Result<OutputSink> sink = OutputSink::create(path);
        ASSERT_TRUE(sink);
        ASSERT_TRUE(sink.value().write(bytes.substr(0, bytes.size() / 3)));
        ASSERT_TRUE(sink.value().write(bytes.substr(bytes.size() / 3)));
        ASSERT_TRUE(sink.value().finish());
    }

    const ScratchFolder folder_;
};

TEST_F(Sink, CompressesAsTheNameSays) {
    std::string text;
    for (int i = 0; i < 50'000; ++i) {
        text += "line " + std::to_string(i) + "\n";
    }
    const std::pair<const char*, const char*> names[] = {{"t.jsonl", "none"},
                                                         {"t.jsonl.gz", "gzip"},
                                                         {"t.jsonl.bz2", "bzip2"},
                                                         {"t.jsonl.xz", "xz"},
                                                         {"t.jsonl.zst", "zstd"}};
    for (const auto& [name, compression] : names) {
        write(folder_ / name, text);
        std::string found;
        EXPECT_TRUE(read_all(folder_ / name, found) == text) << name;
        EXPECT_EQ(found, compression);
    }
    EXPECT_EQ(std::filesystem::file_size(folder_ / "t.jsonl"), text.size()) << "no padding";
}

// The same bytes in, the same file out: nothing of the clock gets in.
TEST_F(Sink, IsTheSameEachTime) {
    const auto bytes = [&](const char* name) {
        write(folder_ / name, "some text");
        return read_bytes(folder_ / name);
    };
    const std::string first = bytes("a.gz");
    ASSERT_GT(first.size(), 8U);
    EXPECT_EQ(first.substr(4, 4), std::string(4, '\0')) << "RFC 1952: no time";
    EXPECT_EQ(first, bytes("b.gz"));
}

TEST_F(Sink, NeverOverwrites) {
    write(folder_ / "t", "first");
    EXPECT_EQ(OutputSink::create(folder_ / "t").error().code, ErrorCode::exists);
    std::string compression;
    EXPECT_EQ(read_all(folder_ / "t", compression), "first");
    EXPECT_EQ(OutputSink::create(folder_ / "no/t").error().code, ErrorCode::not_found);
}

// A file that was not finished does not stay.
TEST_F(Sink, LeavesNoHalfFile) {
    {
        Result<OutputSink> sink = OutputSink::create(folder_ / "t.zst");
        ASSERT_TRUE(sink);
        ASSERT_TRUE(sink.value().write("half"));
    }
    EXPECT_FALSE(std::filesystem::exists(folder_ / "t.zst"));
}

}  // namespace

}  // namespace driftless
