// Records are cut as RFC 4180 says.
#include "proto/trace/csv.hpp"

#include <gtest/gtest.h>

namespace driftless {
namespace {

using Cells = std::vector<std::string>;

Cells split(std::string_view record, char separator = ',') {
    CsvCells cells;
    EXPECT_TRUE(cells.split(record, separator)) << record;
    Cells all;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        all.emplace_back(cells[i]);
    }
    return all;
}

TEST(Csv, SplitsRecords) {
    EXPECT_EQ(split("a,b,c"), (Cells{"a", "b", "c"}));
    EXPECT_EQ(split("a,,c,"), (Cells{"a", "", "c", ""}));
    EXPECT_EQ(split(" a , b c "), (Cells{"a", "b c"}));
    EXPECT_EQ(split(""), (Cells{""}));
    EXPECT_EQ(split("a;b,c", ';'), (Cells{"a", "b,c"}));
}

TEST(Csv, SplitsQuotedCells) {
    EXPECT_EQ(split(R"("a,b",c)"), (Cells{"a,b", "c"}));
    EXPECT_EQ(split(R"("say ""hi""","""")"), (Cells{R"(say "hi")", "\""}));
    EXPECT_EQ(split("\"two\nlines\",x"), (Cells{"two\nlines", "x"}));
    EXPECT_EQ(split(R"("",b)"), (Cells{"", "b"}));
    EXPECT_EQ(split(R"(a"b,c)"), (Cells{"a\"b", "c"})) << "a quote inside a plain cell is text";
}

// A record whose quote is open goes on in the next line; text behind a quote is an error.
TEST(Csv, SaysWhatIsWrong) {
    CsvCells cells;
    EXPECT_EQ(cells.split(R"(a,"b)", ',').error().code, ErrorCode::truncated);
    EXPECT_EQ(cells.split(R"(a,"b"")", ',').error().code, ErrorCode::truncated);
    EXPECT_EQ(cells.split(R"("a"b,c)", ',').error().code, ErrorCode::invalid);
}

TEST(Csv, FindsColumnsByName) {
    CsvHeader header;
    ASSERT_TRUE(header.read("Timestamp,Request tokens,\"Log Type\""));
    CsvCells cells;
    ASSERT_TRUE(cells.split("5,472,API log", header.separator()));
    const CsvRow row(header, cells);
    EXPECT_EQ(row.find("Log Type"), "API log");
    EXPECT_EQ(row.find("Model"), std::nullopt);
    ASSERT_TRUE(header.read("a\tb"));
    EXPECT_EQ(header.separator(), '\t');
    EXPECT_FALSE(header.read("alone"));
    EXPECT_FALSE(header.read("a,\"b"));
}

// The index that pandas writes has no name, nor has what stands behind Excel's last comma.
TEST(Csv, NamesColumnsWithoutAName) {
    CsvHeader header;
    ASSERT_TRUE(header.read(",a,,b,"));
    EXPECT_EQ(header.names(), (Cells{"Unnamed: 0", "a", "Unnamed: 2", "b", "Unnamed: 4"}));
    EXPECT_EQ(header.named_size(), 4U);
    EXPECT_TRUE(header.is_name(0, ""));
    EXPECT_TRUE(header.is_name(1, "A"));
    EXPECT_FALSE(header.is_name(1, ""));
    EXPECT_FALSE(header.read(",hello,"));
    EXPECT_FALSE(header.read(",,"));
}

}  // namespace
}  // namespace driftless
