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
    EXPECT_EQ(field("a\n"), "\"a\n\"");
    EXPECT_EQ(field("a\r"), "\"a\r\"");
    EXPECT_EQ(field("\"\""), "\"\"\"\"\"\"");
    EXPECT_EQ(field(" a;b\t'c'"), " a;b\t'c'");
}

// Names and messages come from servers: a spreadsheet computes none of them.
TEST(CsvField, HoldsNoFormula) {
    EXPECT_EQ(field("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
    EXPECT_EQ(field("=1,2"), "\"'=1,2\"");
    for (const char* text : {"@SUM(0)", "+1+1", "-1+1", "-", "\ta", "\uFF1D1", "\uFF0B1"}) {
        EXPECT_EQ(field(text), std::string("'") + text);
    }
    for (const char* text : {"-1", "-1.5e-3", "-0", "a=b", "1-2", "'=1"}) {
        EXPECT_EQ(field(text), text);
    }
}

}  // namespace
}  // namespace driftless
