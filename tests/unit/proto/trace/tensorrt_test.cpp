// Runs of agents as TensorRT-LLM records them: counts of messages, forks, tools.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/trace/formats.hpp"
#include "tests/unit/proto/trace/reading.hpp"
#include "tests/unit/proto/trace/round_trip.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

std::string message(const std::string& role, const std::string& rest,
                    const std::string& path = "[]") {
    return R"({"event_type":"message","branch_path":)" + path + R"(,"conversation_id":0,"role":")" +
           role + "\"" + rest + "}";
}

std::string answer(int prompt, int output, const std::string& rest = "",
                   const std::string& path = "[]") {
    return message("assistant",
                   R"(,"prompt_tokens":)" + std::to_string(prompt) + R"(,"completion_tokens":)" +
                       std::to_string(output) + rest,
                   path);
}

std::string event(const std::string& type, const std::string& rest,
                  const std::string& path = "[]") {
    return R"({"event_type":")" + type + R"(","branch_path":)" + path + rest + "}";
}

std::string run(const std::vector<std::string>& events, const std::string& id = "t") {
    std::string text = R"({"trace_id":")" + id + R"(","events":[)";
    for (const std::string& one : events) {
        text += (text.back() == '[' ? "" : ",") + one;
    }
    return text + "]}";
}

ReadTrace closed_events(const std::vector<std::string>& lines) {
    return read(lines, closed_sessions());
}

TEST(TensorRt, ReadsRequestsAndTools) {
    const ReadTrace got = closed_events(
        {run({message("system", R"(,"tokens":20)"), message("user", R"(,"tokens":12)"),
              answer(40, 9, R"(,"reasoning_tokens":4,"llm_duration_ms":2.5)"),
              event("tool_call", R"(,"tool_name":"x","duration_ms":1.25)"),
              event("drop_kv_cache", ""), event("cheer", ""), message("tool", R"(,"tokens":3)"),
              answer(50, 0), R"({"event_type":"message","branch_path":[],"role":"assistant"})"})});
    ASSERT_TRUE(got.usable) << got.first_error();
    const Trace& trace = got.trace;
    EXPECT_EQ(trace.format, "tensorrt-llm");
    EXPECT_EQ(trace.block_size, 16U);
    EXPECT_EQ(trace.tail_rule, TailRule::ceil);
    EXPECT_EQ(trace.sessions, (std::vector<std::string>{"t"}));
    ASSERT_EQ(trace.rows.size(), 2U);
    EXPECT_EQ(trace.rows[0].input_length, 40U);
    EXPECT_EQ(trace.rows[0].output_length, 9U);
    EXPECT_EQ(trace.rows[1].at_ns, 3'750'000) << "behind the recorded answer and the tool";
    EXPECT_EQ(trace.rows[1].turn, 2U);
    EXPECT_EQ(trace.zero_outputs, 1U);
    ASSERT_EQ(trace.dependencies.size(), 1U);
    EXPECT_EQ(trace.dependencies[0].delay_ns, 1'250'000);
    EXPECT_EQ(trace.ids_of(trace.rows[0]).size(), 3U);
    EXPECT_EQ(trace.ids_of(trace.rows[1]).size(), 4U);
    EXPECT_EQ(trace.ids_of(trace.rows[0])[1], trace.ids_of(trace.rows[1])[1]);
    EXPECT_NE(trace.ids_of(trace.rows[0])[2], trace.ids_of(trace.rows[1])[2]) << "it is partial";
    EXPECT_EQ(trace.remarks.size(), 3U) << "a drop, an unknown event, a message of nobody";
    EXPECT_EQ(canonical_round_trip(trace), "");
}

// Older runs: other names, no places, the branches of a fork inside it.
TEST(TensorRt, ReadsOlderRuns) {
    const ReadTrace got = closed_events(
        {run({message("user", R"(,"tokenize_count":10)"),
              event("parallel_start", R"(,"num_branches":2,"children":[)" + answer(10, 5) + "," +
                                          event("tool_call", R"(,"duration_ms":7)") + "]"),
              answer(20, 1)})});
    ASSERT_TRUE(got.usable) << got.first_error();
    ASSERT_EQ(got.trace.rows.size(), 2U);
    ASSERT_EQ(got.trace.dependencies.size(), 1U);
    EXPECT_EQ(got.trace.dependencies[0].on, 0U);
    EXPECT_TRUE(got.trace.remarks.empty());
}

// A tool that took no recorded time is no tool that took none.
TEST(TensorRt, CountsToolsWithoutTimes) {
    const ReadTrace got =
        closed_events({run({message("user", R"(,"tokenize_count":10)"), answer(10, 5),
                            event("tool_call", ""), answer(20, 1)})});
    ASSERT_TRUE(got.usable) << got.first_error();
    ASSERT_EQ(got.trace.remarks.size(), 1U);
    EXPECT_EQ(got.trace.remarks[0].count, 1U);
}

// Without a server's count a prompt is as long as its messages; without any, it is refused.
TEST(TensorRt, AddsUpWhatIsNotCounted) {
    const ReadTrace got =
        closed_events({run({message("user", R"(,"tokens":10)"),
                            message("assistant", R"(,"completion_tokens":5)"), answer(0, 2)})});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.rows[0].input_length, 10U);
    EXPECT_EQ(got.trace.rows[1].input_length, 15U);
    EXPECT_EQ(got.trace.remarks[0].count, 2U);
    EXPECT_TRUE(says(closed_events({run({answer(0, 2)})}).first_error(),
                     "prompt_tokens \"0\" is not a whole"));
}

// System prompts of one id share, whatever run they are of; all else is of its run.
TEST(TensorRt, SharesSystemPromptsOfOneId) {
    const auto one = [](const std::string& id, const std::string& system) {
        return run({message("system", R"(,"tokens":32,"system_prompt_id":")" + system + "\""),
                    message("user", R"(,"tokens":32)"), answer(64, 1)},
                   id);
    };
    const ReadTrace got = closed_events({one("a", "x"), one("b", "x"), one("c", "y")});
    ASSERT_TRUE(got.usable) << got.first_error();
    const auto ids = [&](std::size_t row) { return got.trace.ids_of(got.trace.rows[row]); };
    EXPECT_EQ(got.trace.name_spaces, 1U);
    EXPECT_EQ(ids(0)[1], ids(1)[1]);
    EXPECT_NE(ids(0)[2], ids(1)[2]);
    EXPECT_NE(ids(0)[0], ids(2)[0]);
}

// A folder holds each run twice, in short and in full.
TEST(TensorRt, ReadsARunOnce) {
    const std::string brief = run({message("user", R"(,"tokens":10)"), answer(10, 5)});
    const std::string full =
        run({message("user", R"(,"tokens":10,"content":"q")"), answer(10, 5, R"(,"content":"a")")});
    const ReadTrace got = closed_events({full, brief});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.rows.size(), 1U);
    ASSERT_EQ(got.trace.remarks.size(), 1U);
    EXPECT_EQ(got.trace.unknown_keys, 0U);
    EXPECT_EQ(closed_events({brief, run({answer(11, 5)})}).first_error(),
              "t.jsonl:2: trace_id \"\\\"t\\\"\" also names another run; give every run its own");
}

struct Bad {
    std::vector<std::string> events;
    const char* said;
};

TEST(TensorRt, NamesWhatIsWrong) {
    const std::string fork = event("parallel_start", R"(,"num_branches":2)");
    const Bad all[] = {
        {{R"({"branch_path":[],"event_type":7})"}, "events[0].event_type \"7\" is not the name"},
        {{answer(1, 1), R"({"branch_path":[]})"}, "events[1].event_type is missing"},
        {{answer(1, 1, "", "[0]")}, "events[0].branch_path \"[0]\" names a branch that no fork"},
        {{fork, answer(1, 1, "", "[2]")}, "events[1].branch_path \"[2]\" names a branch that no"},
        {{fork, answer(1, 1, "", "[0,0]")}, "names a branch that no fork has opened"},
        {{fork, fork}, "events[1].branch_path \"[]\" names a branch that is already forked"},
        {{event("parallel_end", "")}, "names a branch without an open fork"},
        {{event("parallel_start", "", "[3]")}, "names a branch that no fork has opened"},
        {{answer(1, 1, "", "\"0\"")}, "is not a list of branch numbers"},
        {{answer(1, 1, "", "[-1]")}, "is not a list of branch numbers"},
        {{event("tool_call", R"(,"duration_ms":-5)")}, "duration_ms \"-5\" is negative"},
        {{event("tool_call", R"(,"duration_ms":"long")")}, "is not a decimal number"},
        {{message("user", R"(,"tokens":-1)")}, "tokens \"-1\" is not a whole number of tokens"},
        {{message("user", R"(,"tokens":999999999999)")}, "is not a whole number of tokens"},
        {{message("user", R"(,"message_index":"one")")}, "message_index \"\\\"one\\\"\" is not a"},
        {{message("judge", "")}, "role \"\\\"judge\\\"\" is not system, user"},
        {{R"({"event_type":"message","role":"user","conversation_id":1.5})"}, "conversation_id"},
        {{message("assistant", R"(,"prompt_tokens":5)")}, "completion_tokens is missing"},
        {{answer(5, 5, R"(,"reasoning_tokens":-2)")}, "reasoning_tokens \"-2\" is not"},
        {{event("parallel_start", R"(,"num_branches":1.5)")}, "num_branches \"1.5\" is not a"},
        {{event("parallel_start", R"(,"children":[5])")}, "children \"[5]\" is not a list of obj"},
        {{"5"}, "events \"[5]\" is not a list of objects"},
    };
    const std::string good = run({answer(1, 1)}, "good");
    for (const Bad& one : all) {
        const ReadTrace got = closed_events({good, run(one.events)});
        ASSERT_EQ(got.errors.count, 1U) << one.said << ": " << got.first_error();
        EXPECT_EQ(got.errors.list[0].line, 2U) << one.said;
        EXPECT_TRUE(says(got.first_error(), one.said));
        EXPECT_TRUE(says(got.first_error(), "; ")) << "no remedy";
    }
    EXPECT_TRUE(says(read({good}).first_error(), "--sessions closed"));
}

}  // namespace
}  // namespace driftless
