// MLPerf's agentic rows: a message each, a request for each row of a user or a tool.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/trace/formats.hpp"
#include "tests/unit/proto/trace/reading.hpp"
#include "tests/unit/proto/trace/round_trip.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

std::string message(int turn, const std::string& role, const std::string& rest,
                    const std::string& id = "c") {
    return R"({"conversation_id":")" + id + R"(","turn":)" + std::to_string(turn) + R"(,"role":")" +
           role + "\"," + rest + "}";
}

const std::string ask = R"("content":"q")";
const std::string tool_call =
    R"("tool_calls":[{"id":"f:0","type":"function","function":{"name":"f","arguments":{"a":1}}}])";
const std::string result = R"("tool_results":[{"tool_call_id":"f:0","content":"r"}])";

ReadTrace closed(const std::vector<std::string>& lines, std::uint32_t default_output = 0) {
    ReadOptions options = closed_sessions();
    options.default_output = default_output;
    return read(lines, options);
}

TEST(MlPerf, AsksWithAllThatWasSaid) {
    const ReadTrace got = closed(
        {R"({"_type":"dataset_metadata","x":1})",
         message(1, "user",
                 ask + R"(,"system":"s","tools":[{"type":"function"}],"delay_seconds":2)"),
         message(2, "assistant", tool_call + R"(,"reasoning_content":"think")"),
         message(3, "tool", result + R"(,"delay_seconds":0.25,"max_new_tokens":9,"top_p":0.5)"),
         message(4, "assistant", R"("content":"a")"), message(1, "user", ask, "d")});
    ASSERT_TRUE(got.usable) << got.first_error();
    const Trace& trace = got.trace;
    EXPECT_EQ(trace.format, "mlperf-agentic");
    EXPECT_EQ(trace.sessions, (std::vector<std::string>{"c", "d"}));
    ASSERT_EQ(trace.rows.size(), 3U);
    const TraceRow& first = trace.rows[1];
    const TraceRow& second = trace.rows[2];
    EXPECT_EQ(trace.rows[0].index, 2U) << "the other conversation, which starts at once";
    EXPECT_EQ(first.at_ns, 2'000'000'000);
    EXPECT_EQ(second.at_ns, 2'250'000'000);
    EXPECT_EQ(second.turn, 2U) << "of requests";
    ASSERT_EQ(trace.dependencies.size(), 1U);
    EXPECT_EQ(trace.dependencies[0].on, first.index);
    EXPECT_EQ(trace.dependencies[0].delay_ns, 250'000'000);
    EXPECT_EQ(first.input_length + first.output_length, 0U) << "unknown";
    EXPECT_EQ(trace.body_of(second),
              R"({"messages":[{"role":"system","content":"s"},{"role":"user","content":"q"},)"
              R"({"role":"assistant","content":null,"tool_calls":[{"id":"f:0","type":"function",)"
              R"("function":{"name":"f","arguments":{"a":1}}}],"reasoning_content":"think"},)"
              R"({"role":"tool","tool_call_id":"f:0","content":"r"}],)"
              R"("tools":[{"type":"function"}],)"
              R"("extra":{"max_completion_tokens":9,"top_p":0.5}})");
    EXPECT_EQ(trace.body_of(trace.rows[0]), R"({"messages":[{"role":"user","content":"q"}]})");
    EXPECT_EQ(canonical_round_trip(trace), "");
}

// The format records no lengths; the user may give one.
TEST(MlPerf, TakesADefaultOutput) {
    const ReadTrace got = closed({message(1, "user", ask)}, 40);
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.rows[0].output_length, 40U);
    ASSERT_EQ(got.trace.remarks.size(), 1U);
    EXPECT_EQ(std::string(got.trace.remarks[0].one), "row without an output length");
}

TEST(MlPerf, NeedsSessions) {
    EXPECT_TRUE(says(read({message(1, "user", ask)}).first_error(), "--sessions closed"));
}

struct Bad {
    std::vector<std::string> lines;
    std::uint64_t line;
    const char* said;  ///< behind file and line
};

TEST(MlPerf, NamesWhatIsWrong) {
    const std::string user = message(1, "user", ask);
    const std::string answer = message(2, "assistant", R"("content":"a")");
    const std::string caller = message(2, "assistant", tool_call);
    const Bad all[] = {
        {{user, message(3, "assistant", R"("content":"a")")}, 2, "turn \"3\" is not 2"},
        {{user, answer, answer}, 3, "turn \"2\" is not 3"},
        {{message(4, "user", ask)}, 1, "put a conversation in one file, from turn 1"},
        {{R"({"conversation_id":"c","turn":"one","role":"user"})"},
         1,
         "turn \"\\\"one\\\"\" is not 1"},
        {{R"({"conversation_id":"c","turn":null,"role":"user"})"}, 1, "turn is missing"},
        {{user, message(2, "user", ask)}, 2, "follows a user's row without an answer"},
        {{user, caller, message(3, "user", ask)}, 3, "follows tool calls without their results"},
        {{user, answer, message(3, "tool", result)}, 3, "follows an answer that called no tool"},
        {{user, caller, message(3, "tool", result), message(4, "tool", result)},
         4,
         "follows another row of tool results"},
        {{message(1, "tool", result)}, 1, "begins a conversation; only a user can"},
        {{user, message(2, "judge", ask)}, 2, "is not user, assistant or tool"},
        {{message(1, "user", R"("content":"")")}, 1, "content \"\\\"\\\"\" is not text"},
        {{user, message(2, "assistant", R"("content":null)")}, 2, "content is missing"},
        {{user, message(2, "assistant", R"("tool_calls":[])")}, 2, "tool_calls \"[]\" is empty"},
        {{user, message(2, "assistant", R"("tool_calls":[{"id":1}])")},
         2,
         "is not a function call"},
        {{user, caller, message(3, "tool", R"("tool_results":"r")")}, 3, "not a list of objects"},
        {{user, caller, message(3, "tool", R"("content":"r")")}, 3, "tool_results is missing"},
        {{user, caller, message(3, "tool", R"("tool_results":[{"tool_call_id":"f:0"}])")},
         3,
         "lacks tool_call_id or content"},
        {{message(1, "user", ask + R"(,"delay_seconds":-1)")},
         1,
         "delay_seconds \"-1\" is negative"},
        {{message(1, "user", ask + R"(,"max_new_tokens":0)")}, 1, "max_new_tokens \"0\""},
        {{message(1, "user", ask + R"(,"tools":{})")}, 1, "tools \"{}\" is not a list"},
        {{message(1, "user", ask + R"(,"system":7)")}, 1, "system \"7\" is not text"},
        {{user, answer, message(3, "user", ask + R"(,"system":"s")")},
         3,
         "put it on the row of turn 1"},
        {{message(1, "user", ask, "\\u00e9")}, 1, "is not printable ASCII"},
        {{user, message(1, "user", ask, "d"), answer}, 3, "rows of one conversation together"},
    };
    for (const Bad& one : all) {
        const ReadTrace got = closed(one.lines);
        ASSERT_EQ(got.errors.count, 1U) << one.said << ": " << got.first_error();
        EXPECT_EQ(got.errors.list[0].line, one.line) << one.said;
        EXPECT_TRUE(says(got.first_error(), one.said));
        EXPECT_TRUE(says(got.first_error(), "; ")) << "no remedy";
    }
}

// One error a conversation: what comes behind it means nothing. Other conversations are read.
TEST(MlPerf, GoesOnWithTheNextConversation) {
    const ReadTrace got =
        closed({message(1, "user", ask), message(5, "assistant", ask), message(6, "user", ask),
                message(1, "user", "\"content\":5", "d"), message(1, "user", ask, "e")});
    EXPECT_EQ(got.errors.count, 2U);
    EXPECT_EQ(got.trace.rows.size(), 2U);
}

// The same names in another file are other conversations.
TEST(MlPerf, BeginsAnewWithEachFile) {
    ReadOptions options = closed_sessions();
    Trace trace;
    InputErrors errors;
    TraceReader reader(options, trace, errors);
    for (const char* file : {"a.jsonl", "b.jsonl"}) {
        reader.begin_file(file);
        EXPECT_TRUE(reader.add_line(1, message(1, "user", ask)));
    }
    reader.begin_file("c.jsonl");
    EXPECT_TRUE(reader.add_line(1, message(2, "assistant", ask)));
    EXPECT_FALSE(reader.finish());
    ASSERT_EQ(errors.count, 1U);
    EXPECT_EQ(errors.list[0].file, "c.jsonl");
    EXPECT_EQ(trace.rows.size(), 2U);
    EXPECT_NE(trace.rows[0].session, trace.rows[1].session);
}

}  // namespace
}  // namespace driftless
