// The reader of all formats: detection, options, kept columns, blank lines, several files.
#include "proto/trace/read.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/proto/trace/reading.hpp"

namespace driftless {
namespace {

// Unknown keys are ignored and counted, kept ones are carried as JSON.
TEST(Reader, KeepsColumns) {
    const std::string more = R"({"timestamp":0,"input_length":1,"output_length":1,"hash_ids":[0],)"
                             R"("type":"a\"b","n":{"x":1}})";
    ReadOptions options;
    options.keep = {"n", "type", "timestamp"};
    const Reading got = read({more, row("0", 1, 1, "0")}, options);
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.kept_of(got.trace.rows[0]), R"({"n":{"x":1},"type":"a\"b","timestamp":0})");
    EXPECT_EQ(got.trace.kept_of(got.trace.rows[1]), R"({"n":null,"type":null,"timestamp":0})");
    EXPECT_EQ(got.trace.unknown_keys, 0U);
    const Reading plain = read({more});
    EXPECT_EQ(plain.trace.unknown_keys, 2U);
    EXPECT_EQ(plain.trace.kept_of(plain.trace.rows[0]), "");
    options.keep = {"tpye"};
    EXPECT_EQ(read({more}, options).first_error(),
              "--keep \"tpye\" is a column of no row; other columns are type, n");
}

// What is no Mooncake trace is named as what it looks like.
TEST(Reader, NamesForeignFormats) {
    const auto looks = [](const std::string& line, const std::string& what) {
        const Reading got = read({line});
        EXPECT_FALSE(got.usable);
        EXPECT_EQ(got.errors.count, 1U);
        EXPECT_NE(got.first_error().find(what), std::string::npos) << got.first_error();
        EXPECT_NE(got.first_error().find("this version reads mooncake"), std::string::npos);
    };
    looks(R"({"chat_id": 159, "parent_chat_id": -1, "timestamp": 61.114, "input_length": 521,
              "output_length": 132, "type": "text", "turn": 1, "hash_ids": [1089]})",
          "Qwen");
    looks(R"({"timestamp": 0, "input_length": 5, "output_length": 3, "hash_ids": {"sys": [1]}})",
          "RAGPulse");
    looks(R"({"session_id": "a", "timestamp": 0, "input_length": 5, "output_length": 3,
              "hash_ids": [1]})",
          "extended Mooncake");
    looks(R"({"id": "x", "block_size": 64, "requests": []})", "Weka");
    looks("TIMESTAMP,ContextTokens,GeneratedTokens", "Azure");
    looks("Timestamp,Model,Request tokens", "BurstGPT");
    looks("[{\"conversations\": []}]", "JSON array");
    looks("PAR1\x15\x04", "Parquet");
    looks(R"({"hello": "world"})", "no known format");
    looks("hello", "no JSON object");
}

// --format forces the reader; a name it does not know, or a unit, is refused at once.
TEST(Reader, TakesOptions) {
    ReadOptions options;
    options.format = "mooncake";
    const std::string extended =
        R"({"session_id":"a","timestamp":0,"input_length":5,"output_length":3,"hash_ids":[1]})";
    const Reading got = read({extended}, options);
    EXPECT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.unknown_keys, 1U);
    options.format = "moonshot";
    EXPECT_EQ(read({extended}, options).first_error(),
              "--format \"moonshot\" is no format that this version reads; it reads mooncake");
    ReadOptions unit;
    unit.time_unit = "minutes";
    EXPECT_EQ(read({extended}, unit).errors.list[0].field, "--time-unit");
    EXPECT_EQ(read({extended}, unit).errors.count, 1U);
}

// Blank lines are no rows and no errors; a trace without rows is refused.
TEST(Reader, SkipsBlankLines) {
    const Reading got = read({"", row("0", 1, 1, "0"), "  \t\r", row("5", 1, 1, "0")});
    ASSERT_TRUE(got.usable);
    EXPECT_EQ(got.trace.rows[1].line, 4U);
    EXPECT_EQ(read({"", " "}).first_error(), "t.jsonl: holds no row; a trace needs at least one");
}

// Several files are one trace; each is a namespace, and time may restart without counting as
// disorder.
TEST(Reader, JoinsFiles) {
    Trace trace;
    InputErrors errors;
    TraceReader reader({}, trace, errors);
    reader.begin_file("a");
    EXPECT_TRUE(reader.add_line(1, row("10", 1, 1, "0")));
    EXPECT_TRUE(reader.add_line(2, row("20", 2, 1, "0")));
    reader.begin_file("b");
    EXPECT_TRUE(reader.add_line(1, row("15", 3, 1, "0")));
    ASSERT_TRUE(reader.finish());
    EXPECT_EQ(trace.rows[0].name_space, 0U);
    EXPECT_EQ(trace.rows[1].name_space, 1U);
    EXPECT_EQ(trace.rows[1].index, 2U);
    EXPECT_EQ(trace.rows[1].line, 1U);
    EXPECT_EQ(trace.rows[2].at_ns, 10'000'000);
    EXPECT_EQ(trace.rows_unsorted, 0U);
}

}  // namespace
}  // namespace driftless
