// CSV fields are quoted where RFC 4180 asks for it, and nowhere else.
#include "proto/export/csv.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

std::string field(std::string_view text) {
    std::string out;
    append_csv_field(out, text);
    return out;
}

// The examples of RFC 4180, sections 2.5 to 2.7, and each character that needs quotes alone.
TEST(CsvField, QuotesWhatNeedsIt) {
    EXPECT_EQ(field("aaa"), "aaa");
    EXPECT_EQ(field(""), "");
    EXPECT_EQ(field("b \r\nbb"), "\"b \r\nbb\"");
    EXPECT_EQ(field("b\"bb"), "\"b\"\"bb\"");
    EXPECT_EQ(field(","), "\",\"");
    EXPECT_EQ(field("\n"), "\"\n\"");
    EXPECT_EQ(field("\r"), "\"\r\"");
    EXPECT_EQ(field("\"\""), "\"\"\"\"\"\"");
    EXPECT_EQ(field(" a;b\t'c'"), " a;b\t'c'");
}

}  // namespace
}  // namespace driftless
