// Dynamo's two formats: the request trace in completion order, and the agentic one with its edges.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/trace/formats.hpp"
#include "tests/unit/proto/trace/reading.hpp"

namespace driftless {
namespace {

std::string ended(const std::string& id, std::int64_t received_ms, int input,
                  const std::string& ids, const std::string& more = "") {
    return R"({"timestamp":99,"event":{"schema":"dynamo.request.trace.v1","event_type":)"
           R"("request_end","agent_context":{"session_id":"s","trajectory_id":"t"},"request":{)"
           R"("request_id":")" +
           id + R"(","output_tokens":4,"input_tokens":)" + std::to_string(input) +
           R"(,"request_received_ms":)" + std::to_string(received_ms) + more +
           R"(,"replay":{"trace_block_size":64,"input_length":)" + std::to_string(input) +
           R"(,"input_sequence_hashes":[)" + ids + "]}}}}";
}

// Fixture 7: hashes above 2^63. Rows come in the order of completion and are sorted by arrival.
TEST(Dynamo, ReadsRequestTraces) {
    const ReadTrace got =
        read({R"({"timestamp":0,"event":{"marker":"start"}})",
              ended("b", 1732060800500, 130, "18446744073709551615, 5", R"(,"total_time_ms":100)"),
              R"({"timestamp":5,"event":{"schema":"dynamo.request.trace.v1",)"
              R"("event_type":"tool_start","tool":{}}})",
              ended("a", 1732060800000, 100, "18446744073709551615")});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.format, "dynamo");
    EXPECT_EQ(got.trace.block_size, 64U);
    EXPECT_EQ(got.trace.tail_rule, TailRule::floor);
    ASSERT_EQ(got.trace.rows.size(), 2U);
    EXPECT_EQ(got.trace.rows[0].input_length, 100U);
    EXPECT_EQ(got.trace.rows[1].at_ns, 500'000'000);
    EXPECT_EQ(got.trace.ids[0], 18446744073709551615ULL);
    EXPECT_EQ(got.trace.rows_unsorted, 0U) << "that is how the log is written";
    EXPECT_EQ(got.trace.sessions, (std::vector<std::string>{"t"}));
    ASSERT_EQ(got.trace.remarks.size(), 1U);
}

// Segments of one log are one namespace.
TEST(Dynamo, JoinsSegments) {
    Trace trace;
    InputErrors errors;
    TraceReader reader({}, trace, errors);
    reader.begin_file("log.000000.jsonl");
    EXPECT_TRUE(reader.add_line(1, ended("a", 1732060800000, 100, "7")));
    reader.begin_file("log.000001.jsonl");
    EXPECT_TRUE(reader.add_line(1, ended("b", 1732060801000, 100, "7")));
    ASSERT_TRUE(reader.finish());
    EXPECT_EQ(trace.rows[0].name_space, trace.rows[1].name_space);
    EXPECT_EQ(trace.rows[0].session, trace.rows[1].session);
    EXPECT_EQ(trace.rows[1].turn, 2U);
}

TEST(Dynamo, RefusesMixedBlockSizes) {
    std::string other = ended("b", 1732060800500, 100, "1");
    other.replace(other.find("\":64"), 4, "\":32");
    const ReadTrace got = read({ended("a", 1732060800000, 100, "7"), other});
    EXPECT_EQ(got.first_error(),
              "t.jsonl:2: event.request.trace_block_size \"32\" differs from 64; a trace has one "
              "block size; make --block-size agree with it");
}

const std::string header =
    R"({"schema":"dynamo.agentic_mooncake","version":2,"block_size":16,"hash_id_scope":"local"})";

std::string agentic(const std::string& id, const std::string& play, const std::string& more) {
    return R"({"request_id":")" + id + R"(","play_id":")" + play +
           R"(","session_id":"s","input_length":20,"output_length":3,"hash_ids":[1,2])" + more +
           "}";
}

// Plays have ids of their own; an edge moves a row behind the one that it names.
TEST(AgenticMooncake, ReadsDependencies) {
    const std::vector<std::string> lines = {
        header, agentic("a", "p", R"(,"not_before_ms":100)"),
        agentic("b", "p",
                R"(,"dependencies":[{"request_id":"a","trigger":"dispatch","delay_ms":7.5,)"
                R"("relation":"spawn"}])"),
        agentic("c", "q", R"(,"not_before_ms":null,"dependencies":[])"),
        agentic("d", "p",
                R"(,"not_before_ms":900,"dependencies":[{"request_id":"b","trigger":"completion",)"
                R"("delay_ms":1}])")};
    EXPECT_EQ(read(lines).errors.count, 1U) << "only under --sessions open";
    ReadOptions options;
    options.sessions = Sessions::open;
    const ReadTrace got = read(lines, options);
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.block_size, 16U);
    EXPECT_EQ(got.trace.tail_rule, TailRule::ceil);
    std::vector<std::int64_t> times_us;
    for (const TraceRow& row : got.trace.rows) {
        times_us.push_back(row.at_ns / 1000);
    }
    EXPECT_EQ(times_us, (std::vector<std::int64_t>{0, 100'000, 107'500, 900'000}));
    EXPECT_EQ(got.trace.rows[0].name_space, 1U);
    EXPECT_EQ(got.trace.rows[3].name_space, 0U);
    const auto edges = got.trace.dependencies_of(got.trace.rows[2]);
    ASSERT_EQ(edges.size(), 1U);
    EXPECT_EQ(edges[0].trigger, Trigger::dispatch);
}

TEST(AgenticMooncake, RefusesWhatItCannotFollow) {
    ReadOptions options;
    options.sessions = Sessions::open;
    const ReadTrace dangling =
        read({header, agentic("b", "p", R"(,"dependencies":[{"request_id":"zz","delay_ms":1}])")},
             options);
    EXPECT_EQ(dangling.errors.list[0].problem, "does not name a request of an earlier row");
    const ReadTrace version = read({R"({"schema":"dynamo.agentic_mooncake","version":1})"});
    EXPECT_EQ(version.errors.list[0].field, "version");
}

}  // namespace
}  // namespace driftless
