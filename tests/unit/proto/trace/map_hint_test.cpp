// Where a CSV header is of no known format, the error says what to write for --map.
#include "proto/trace/map_hint.hpp"

#include <gtest/gtest.h>

#include "tests/unit/proto/trace/reading.hpp"

namespace driftless {
namespace {

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
