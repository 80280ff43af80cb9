// Records are cut as RFC 4180 says.

#include <gtest/gtest.h>

#include "proto/trace/csv.hpp"
#include "tests/unit/proto/trace/reading.hpp"

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

// Where a CSV header is of no known format, the error says what to write for --map.

CsvHeader header_of(std::string_view line) {
    CsvHeader header;
    EXPECT_TRUE(header.read(line)) << line;
    return header;
}

// Names that leave no doubt give a flag that can be copied, in the spelling of the header.
TEST(MapHint, FillsInObviousNames) {
    EXPECT_EQ(map_remedy(map_names(header_of("time,prompt_tokens,completion_tokens")), "s"),
              "use --map time=time,in=prompt_tokens,out=completion_tokens");
    EXPECT_EQ(map_remedy(map_names(header_of("user,TS,Output_Length,input_length")), ""),
              "use --map time=TS,in=input_length,out=Output_Length, and --time-unit s, ms, us or "
              "ns (dates and epochs need none)");
    EXPECT_EQ(map_remedy(map_names(header_of("when,input_tokens,out")), ""),
              "name the columns with --map time=COLUMN,in=input_tokens,out=out; there are when, "
              "input_tokens, out");
    EXPECT_EQ(map_remedy(map_names(header_of("a,b")), "s"),
              "name the columns with --map time=COLUMN,in=COLUMN,out=COLUMN; there are a, b");
}

// A file that begins with a row has no header, whatever the map says: the row would be lost.
TEST(MapHint, RefusesARowAsHeader) {
    EXPECT_TRUE(is_row_of_numbers(header_of("0.018,114,21")));
    EXPECT_TRUE(is_row_of_numbers(header_of("2023-11-16 18:15:46.68,374,4,9")));
    EXPECT_TRUE(is_row_of_numbers(header_of("1,2,")));
    EXPECT_FALSE(is_row_of_numbers(header_of("0,1,tokens")));
    const std::string why =
        "t.jsonl:1: \"0.018,114,21\" is a row of numbers where the CSV header belongs; add a first "
        "line with the names of the columns, such as time,in,out";
    ReadOptions options;
    EXPECT_EQ(read({"0.018,114,21", "1.5,4,3"}, options).first_error(), why);
    options.map = {{"time", "0.018"}, {"in", "114"}, {"out", "21"}};
    options.time_unit = "s";
    EXPECT_EQ(read({"0.018,114,21", "1.5,4,3"}, options).first_error(), why);
}

}  // namespace

}  // namespace driftless
