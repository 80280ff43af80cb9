// A line just as it is written is read without a document of its own, and nothing else is: what is
// taken so is what JsonDocument reads of the same line.
#include "proto/record/written_fields.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/json/document.hpp"
#include "proto/record/read_into.hpp"

namespace driftless {
namespace {

std::string line_of(const Record& record) {
    std::string line;
    append_jsonl(line, record);
    return line.substr(0, line.size() - 1);
}

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
        ASSERT_NE(other.find(from), other.npos) << from;
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
