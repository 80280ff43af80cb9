// Records come in the order of the file, all of them, whatever the batches and the threads; what
// cannot be read is named by its line.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "engine/history/run_lines.hpp"
#include "tests/unit/made.hpp"

namespace driftless {
namespace {

class RecordFeeds : public ::testing::Test {
  protected:
    void SetUp() override { path_ = ::testing::TempDir() + "feed-" + std::to_string(::getpid()); }
    void TearDown() override { ::unlink(path_.c_str()); }

    void write(const std::string& text) const {
        std::FILE* file = std::fopen(path_.c_str(), "w");
        ASSERT_NE(file, nullptr);
        EXPECT_EQ(std::fwrite(text.data(), 1, text.size(), file), text.size());
        EXPECT_EQ(std::fclose(file), 0);
    }
    RecordFeed open() const {
        std::string why;
        Result<RecordFeed> feed = RecordFeed::open(path_, why);
        EXPECT_TRUE(feed) << why;
        return std::move(feed).value();
    }
    std::string path_;
};

std::string line_of(std::uint32_t row, std::size_t chunks) {
    Record record;
    record.row = row;
    record.chunk_ns.assign(chunks, 123'456'789);
    return jsonl_of(record);
}

TEST_F(RecordFeeds, InTheOrderOfTheFile) {
    constexpr std::uint32_t rows = 20'000;  // many more batches than are held at once
    std::string text;
    for (std::uint32_t row = 0; row < rows; ++row) {
        text += line_of(row, row % 7 == 0 ? 50 : 1);
    }
    write(text + "{\"row\":");
    RecordFeed feed = open();
    std::uint32_t row = 0;
    while (const Record* const record = feed.next()) {
        ASSERT_EQ(record->row, row++);
        ASSERT_EQ(feed.number(), row);
    }
    EXPECT_EQ(row, rows);
    EXPECT_FALSE(feed.error());
    EXPECT_EQ(feed.bytes().whole, text.size());
    EXPECT_EQ(feed.bytes().torn, 7U);
    EXPECT_EQ(feed.next(), nullptr);
}

TEST_F(RecordFeeds, NothingToRead) {
    RecordFeed missing = open();
    EXPECT_EQ(missing.next(), nullptr);
    EXPECT_FALSE(missing.error());
    write("");
    RecordFeed empty = open();
    EXPECT_EQ(empty.next(), nullptr);
    EXPECT_FALSE(empty.error());
}

TEST_F(RecordFeeds, ALineThatIsNoRecord) {
    for (const std::uint32_t before : {0U, 1U, 5'000U}) {
        std::string text;
        for (std::uint32_t row = 0; row < before; ++row) {
            text += line_of(row, 1);
        }
        write(text + "{\"row\":1}\n" + line_of(before, 1));
        RecordFeed feed = open();
        std::uint32_t records = 0;
        while (feed.next() != nullptr) {
            ++records;
        }
        EXPECT_EQ(records, before);
        ASSERT_TRUE(feed.error());
        EXPECT_EQ(feed.error()->code, ErrorCode::missing);
        EXPECT_EQ(feed.number(), before + 1);
        EXPECT_EQ(feed.next(), nullptr);
    }
}

// A feed that is given up in the middle ends its threads.
TEST_F(RecordFeeds, GivenUp) {
    std::string text;
    for (std::uint32_t row = 0; row < 5'000; ++row) {
        text += line_of(row, 20);
    }
    write(text);
    for (int i = 0; i < 20; ++i) {
        RecordFeed feed = open();
        EXPECT_NE(feed.next(), nullptr);
    }
}

}  // namespace
}  // namespace driftless
