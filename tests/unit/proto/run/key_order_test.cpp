// The keys of a record may stand in any order: each is looked for where the one before it ended,
// and then among all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "proto/json/document.hpp"
#include "proto/run/record.hpp"
#include "tests/unit/made.hpp"
#include "tests/unit/schema_check.hpp"

namespace driftless {
namespace {

TEST(RecordKeys, InAnyOrder) {
    Record record;
    record.row = 17;
    record.session = "a";
    record.due_ns = 5;
    record.fired_ns = 9;
    record.outcome = Outcome::ok;
    record.tainted = {"late"};
    record.chunk_ns = {1, 2};
    record.shard = 3;
    const std::string line = line_of(record);
    JsonDocument document;
    const JsonValue root = document.parse(line).value();
    std::vector<std::string> members;
    for (JsonValue field = root.first(); field.present(); field = field.next()) {
        members.push_back("\"" + std::string(field.key()) + "\":" + std::string(field.raw()));
    }
    for (int turn = 0; turn < 3; ++turn) {
        turn == 0 ? std::reverse(members.begin(), members.end())
                  : std::swap(members[3], members[members.size() - 2]);
        std::string shuffled = "{";
        for (const std::string& member : members) {
            shuffled += (shuffled.size() > 1 ? "," : "") + member;
        }
        JsonDocument again;
        const Result<Record> read = read_record(again, shuffled + "}");
        ASSERT_TRUE(read);
        EXPECT_EQ(line_of(read.value()), line);
    }
}

// A line of a merged run has one key more, behind all others, and is read back with it.
TEST(RecordKeys, OfAShard) {
    Record record;
    record.shard = 4'294'967'295;
    const std::string line = line_of(record);
    EXPECT_TRUE(line.ends_with(",\"shard\":4294967295}"));
    JsonDocument document;
    EXPECT_EQ(read_record(document, line).value().shard, record.shard);
    JsonDocument schema_document;
    const std::string text = source_file("proto/run/record.schema.json");
    const JsonValue schema = schema_document.parse(text).value();
    EXPECT_EQ(schema_errors(schema, document.parse(line).value()), std::vector<std::string>());
}

}  // namespace
}  // namespace driftless
