// What is written is what is read back, compressed as the name says, into new files only.
#include "engine/input/sink.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "engine/input/source.hpp"
#include "tests/unit/scratch_folder.hpp"

namespace driftless {
namespace {

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
        std::ifstream file(folder_ / name, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(file), {});
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
