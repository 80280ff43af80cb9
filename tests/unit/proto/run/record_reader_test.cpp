// A line that its own keys contradict was not written by a run, and is refused by the key.

#include "proto/run/record_reader.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/json/document.hpp"
#include "proto/run/record.hpp"
#include "tests/unit/made.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

/// The key for which the record is refused; empty: it is taken.
std::string refused(const Record& record) {
    JsonDocument document;
    const Result<Record> back = read_record(document, jsonl_of(record));
    return back ? std::string() : std::string(back.error().doing);
}

Record answered() {
    Record record;
    record.due_ns = 100;
    record.fired_ns = 107;
    record.drift_ns = 7;
    record.outcome = Outcome::ok;
    record.status = 200;
    return record;
}

TEST(RecordRead, RefusesEndsThatCannotBe) {
    Record record = answered();
    EXPECT_EQ(refused(record), "");
    record.status = 500;
    EXPECT_EQ(refused(record), "status");
    record.outcome = Outcome::http_5xx;
    EXPECT_EQ(refused(record), "");
    record.status = 200;
    EXPECT_EQ(refused(record), "status");
    record.outcome = Outcome::http_3xx;
    EXPECT_EQ(refused(record), "status");
    record.status = 429;
    record.outcome = Outcome::http_429;
    EXPECT_EQ(refused(record), "");
}

TEST(RecordRead, RefusesRowsThatCannotHaveLeft) {
    Record record = answered();
    record.outcome = Outcome::not_sent;
    EXPECT_EQ(refused(record), "fired_ns");
    for (const Outcome whole : {Outcome::ok, Outcome::short_output, Outcome::long_output}) {
        Record unsent = answered();
        unsent.outcome = whole;
        unsent.fired_ns.reset();
        EXPECT_EQ(refused(unsent), "fired_ns");
    }
    Record lacking;  // a connection that never stood
    lacking.outcome = Outcome::connect_failed;
    EXPECT_EQ(refused(lacking), "");
}

TEST(RecordRead, RefusesSpansThatAreNotThoseOfTheStamps) {
    Record record = answered();
    record.drift_ns = 8;
    EXPECT_EQ(refused(record), "drift_ns");
}

// What orders a line is found wherever it stands, and nothing else is taken for it.

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
    const std::string line = line_of(record);
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
    const std::string line = line_of(Record());
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

// A line just as it is written is read without a document of its own, and nothing else is: what is
// taken so is what JsonDocument reads of the same line.

bool is_taken(const std::string& line) {
    JsonDocument pieces;
    Record record;
    WrittenFields fields(pieces, line);
    read_origin(fields, record);
    read_times(fields, record);
    read_tokens(fields, record);
    read_end(fields, record);
    EXPECT_TRUE(!fields.ends() || line_of(record) == line) << line;
    return fields.ends();
}

/// As the record says it, or why there is none. A blank before the line makes JsonDocument read it.
std::string outcome_of(const std::string& line) {
    JsonDocument document;
    const Result<Record> record = read_record(document, line);
    return record ? line_of(record.value())
                  : std::to_string(static_cast<int>(record.error().code)) + record.error().doing;
}

Record ok_record() {
    Record record;
    record.row = 17;
    record.session = "a";
    record.url = "http://127.0.0.1:8000/v1/completions";
    record.api = "openai-completions";
    record.connection = 5;
    record.connection_state = ConnectionState::reused;
    record.due_ns = 1'000'000'000;
    record.armed_ns = -200'000'000;
    record.fired_ns = 1'000'000'750;
    record.late_cause = LateCause::wake;
    record.tainted = {"late", "read_late"};
    record.tpot_ns = 3333333.3333333335;
    record.chunk_ns = {2'999'250, -1, 0};
    record.chunk_tokens = {1, 3, 0};
    record.chunk_tokens_known = true;
    record.chunk_kinds = "r1c2";
    record.tokens_source = TokensSource::usage;
    record.outcome = Outcome::ok;
    record.status = 200;
    record.headers = {{"X-Pod", "p"}, {"x-none", std::nullopt}};
    record.output_digest = 0x00ABCDEF01234567ull;
    record.bytes_sent = 999'999'999'999'999'999ull;
    return record;
}

/// Texts and objects that JsonDocument must look at.
Record rich_record() {
    Record record = ok_record();
    record.session = "chat \"7\" \\";
    record.tree = "\xE4\xBC\x9A\xE8\xAF\x9D";
    record.kept = R"({"type":"}\"{","n":[1.50,{"a":null}]})";
    record.error = std::string("line\nbreak \0 \xF0\x9F\x98\x80", 17);
    record.headers = {{"a\"b", "\xC3\xA4"}};
    record.worker = "{}";
    record.shard = 4;
    return record;
}

TEST(WrittenFields, TakesWhatIsWritten) {
    std::vector<Record> records{Record(), ok_record(), rich_record()};
    records.push_back(ok_record());
    records.back().has_chunks = false;
    records.push_back(ok_record());
    records.back().side = Side::b;
    records.back().chunk_tokens_known = false;
    for (const double number : {0.0, 1e300, 5e-324, -2.5, 1e21, 123456789012345680.0}) {
        records.push_back(ok_record());
        records.back().tpot_ns = number;
    }
    for (const Record& record : records) {
        EXPECT_TRUE(is_taken(line_of(record))) << line_of(record);
        EXPECT_EQ(outcome_of(line_of(record)), line_of(record));
    }
}

// Into a record that held another one: nothing of that stays.
TEST(WrittenFields, UsesMemoryAgain) {
    JsonDocument document;
    Record record;
    for (const Record& next : {rich_record(), Record(), ok_record(), rich_record(), Record()}) {
        for (const char* blank : {"", " "}) {
            ASSERT_TRUE(read_record_into(document, blank + line_of(next), record));
            EXPECT_EQ(line_of(record), line_of(next));
        }
    }
}

TEST(WrittenFields, LeavesAllElse) {
    const std::string line = line_of(ok_record());
    for (const auto& [from, to] : std::initializer_list<std::pair<const char*, const char*>>{
             {"{\"row\"", "{ \"row\""},
             {"\"row\":17", "\"row\":017"},
             {"\"row\":17", "\"row\":-0"},
             {"\"row\":17", "\"row\":17.0"},
             {"\"row\":17", "\"row\":4294967296"},
             {"\"bytes_sent\":999999999999999999", "\"bytes_sent\":1000000000000000000"},
             {"\"session\":\"a\"", "\"session\":\"a\"\"b\""},
             {"\"session\":\"a\"", "\"session\":\"\t\""},
             {"\"session\":\"a\"", "\"session\":\"\xFF\""},
             {"\"kept\":null", "\"kept\":[]"},
             {"\"kept\":null", "\"kept\":{\"a\":}"},
             {"\"kept\":null", "\"kept\":{\"a\""},
             {"3333333.3333333335", "3333333."},
             {"3333333.3333333335", "inf"},
             {"3333333.3333333335", "1e999"},
             {"\"wake\"", "\"wakes\""},
             {"00abcdef01234567", "00abcdef0123456"},
             {"[2999250,-1,0]", "[2999250,-1,0,]"},
             {"[2999250,-1,0]", "[2999250,null]"},
             {"\"request_delay_ns\":null}", "\"request_delay_ns\":null,\"later\":1}"},
             {"\"request_delay_ns\":null}", "\"request_delay_ns\":null}}"}}) {
        std::string other = line;
        ASSERT_TRUE(says(other, from)) << from;
        other.replace(other.find(from), std::string(from).size(), to);
        EXPECT_FALSE(is_taken(other)) << to;
    }
}

// Whatever happens to one byte, both readers come to the same end; cut anywhere, a line is never
// read beyond its end (the sanitizers look).
TEST(WrittenFields, AgreesWithJsonDocument) {
    constexpr std::string_view bytes(
        "\"\\{}[]:, \n\0"
        "-+.019eEnta\x80\xC3",
        25);
    for (const Record& record : {ok_record(), rich_record()}) {
        const std::string line = line_of(record);
        for (std::size_t at = 0; at < line.size(); ++at) {
            std::vector<std::string> others{line.substr(0, at), line.substr(0, at) + "}",
                                            line.substr(0, at) + line.substr(at + 1)};
            for (std::size_t i = at % 5; i < bytes.size(); i += 5) {
                others.push_back(line);
                others.back()[at] = bytes[i];
                others.push_back(line.substr(0, at) + bytes[i] + line.substr(at));
            }
            for (const std::string& other : others) {
                ASSERT_EQ(outcome_of(other), outcome_of(" " + other)) << other;
            }
        }
    }
}

}  // namespace

}  // namespace driftless
