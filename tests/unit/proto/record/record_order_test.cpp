// What orders a line is found wherever it stands, and nothing else is taken for it.
#include "proto/record/record_order.hpp"

#include <gtest/gtest.h>

#include <string>

namespace driftless {
namespace {

Result<RecordOrder> read_order(std::string_view line) {
    return RecordOrders().read(line);
}

RecordOrder order_of(std::string_view line) {
    const Result<RecordOrder> read = read_order(line);
    EXPECT_TRUE(read) << line;
    return read ? read.value() : RecordOrder();
}

TEST(RecordOrders, TheOrderOfAWrittenLine) {
    Record record;
    record.row = 4'294'967'295;
    record.pass = 3;
    record.attempt = 2;
    record.side = Side::b;
    record.due_ns = -7;
    record.kept = R"({"due_ns":1,"row":"\"}","a":[{"pass":9}]})";
    record.session = R"("row":5,{)";
    std::string line;
    append_jsonl(line, record);
    line.pop_back();
    const RecordOrder order = order_of(line);
    EXPECT_EQ(order.row, record.row);
    EXPECT_EQ(order.pass, 3U);
    EXPECT_EQ(order.attempt, 2U);
    EXPECT_EQ(order.side, Side::b);
    EXPECT_EQ(order.due_ns, -7);
}

TEST(RecordOrders, OfOlderSchemasAndOtherWriters) {
    const RecordOrder order = order_of(R"( { "due_ns" : 5 , "x":{"row":2}, "row" : 1 } )");
    EXPECT_EQ(order.row, 1U);
    EXPECT_EQ(order.due_ns, 5);
    EXPECT_EQ(order.pass, 0U);
    EXPECT_EQ(order.side, Side::none);
    // Of equal names the first.
    EXPECT_EQ(order_of(R"({"row":1,"row":2,"due_ns":3})").row, 1U);
}

TEST(RecordOrders, WhatHasNoOrder) {
    for (const std::string_view line :
         {"", "x", "[]", "{", "{}", R"({"row":1})", R"({"due_ns":1})", R"({"row":1,"due_ns":1.5})",
          R"({"row":-1,"due_ns":1})", R"({"row":4294967296,"due_ns":1})",
          R"({"row":"1","due_ns":1})", R"({"row":1,"side":"c","due_ns":1})", R"({"row":1,"due_ns)",
          R"({"kept":"\",row":1,"due_ns":1})", R"({"row":null,"due_ns":1})"}) {
        EXPECT_FALSE(read_order(line)) << line;
    }
}

// Cut anywhere, a line is never read beyond its end (the sanitizers look).
TEST(RecordOrders, CutAnywhere) {
    const std::string line = R"({"row":1,"kept":{"a":"\\\"","b":[1,{}]},"due_ns":12})";
    for (std::size_t bytes = 0; bytes < line.size(); ++bytes) {
        const std::string part = line.substr(0, bytes);
        EXPECT_FALSE(read_order(part)) << part;
    }
    EXPECT_TRUE(read_order(line));
}

// A line as a run writes it is not looked at behind its instant; one that is written otherwise is
// read whole, and what is wrong has its name.
TEST(RecordOrders, SaysWhatIsWrong) {
    std::string line;
    append_jsonl(line, Record());
    line.pop_back();
    const std::size_t behind = line.find("\"parent_end_ns\"");
    EXPECT_TRUE(read_order(line.substr(0, behind) + "}"));
    EXPECT_EQ(read_order(" " + line.substr(0, behind) + "}").error().code, ErrorCode::bad_json);
    const auto error_with = [&line](std::string_view from, std::string_view to) {
        std::string changed = line;
        changed.replace(changed.find(from), from.size(), to);
        const Result<RecordOrder> order = read_order(changed);
        EXPECT_FALSE(order) << to;
        return order ? std::string() : std::string(order.error().doing);
    };
    EXPECT_EQ(error_with("\"row\":0,", ""), "row");
    EXPECT_EQ(error_with("\"due_ns\":0,", ""), "due_ns");
    EXPECT_EQ(error_with("\"row\":0", "\"row\":null"), "row");
    EXPECT_EQ(error_with("\"due_ns\":0", "\"due_ns\":0.5"), "due_ns");
    EXPECT_EQ(error_with("\"pass\":0", "\"pass\":-1"), "pass");
    EXPECT_EQ(error_with("\"attempt\":0", "\"attempt\":\"0\""), "attempt");
    EXPECT_EQ(error_with("\"side\":null", "\"side\":\"none\""), "side");
    EXPECT_EQ(error_with("{\"row\"", "[\"row\""), "read a record");
}

}  // namespace
}  // namespace driftless
