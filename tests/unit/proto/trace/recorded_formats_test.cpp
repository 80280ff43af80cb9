// Traces of recorded requests: LMCache's calls of agents, evalscope's logs of bodies.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/trace/formats.hpp"
#include "tests/unit/proto/trace/reading.hpp"
#include "tests/unit/proto/trace/round_trip.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

ReadOptions open_sessions() {
    ReadOptions options;
    options.sessions = Sessions::open;
    return options;
}

std::string call(const std::string& session, const std::string& rest) {
    return R"({"session_id":")" + session + R"(","input":[{"role":"user","content":"q"}],)" + rest +
           "}";
}

// The gap is from the answer before: laid out open, answers take no time.
TEST(LmCache, ReadsCallsOfSessions) {
    const ReadTrace got =
        read({call("a", R"("output_length":3,"pre_gap":0,"session_timestamp":2.5)"),
              call("b", R"("output_length":0,"pre_gap":9,"model":"m")"),
              call("a", R"("output_length":4,"pre_gap":0.25,"tools":null)")},
             open_sessions());
    ASSERT_TRUE(got.usable) << got.first_error();
    const Trace& trace = got.trace;
    EXPECT_EQ(trace.format, "lmcache");
    ASSERT_EQ(trace.rows.size(), 3U);
    EXPECT_EQ(trace.rows[0].index, 1U) << "a session without a start begins at 0";
    EXPECT_EQ(trace.rows[1].at_ns, 2'500'000'000);
    EXPECT_EQ(trace.rows[2].at_ns, 2'750'000'000);
    EXPECT_EQ(trace.rows[2].turn, 2U);
    EXPECT_EQ(trace.dependencies_of(trace.rows[2])[0].delay_ns, 250'000'000);
    EXPECT_EQ(trace.rows[0].output_length, 1U);
    EXPECT_EQ(trace.zero_outputs, 1U);
    EXPECT_EQ(trace.rows_laid_out, 1U) << "the second call of session a";
    EXPECT_EQ(trace.body_of(trace.rows[2]), R"({"messages":[{"role":"user","content":"q"}]})");
    EXPECT_EQ(canonical_round_trip(trace), "");
}

TEST(LmCache, RefusesWhatItCannotPlace) {
    EXPECT_TRUE(says(read({call("a", R"("output_length":3,"pre_gap":1)")}).first_error(),
                     "--sessions open"));
    const ReadTrace got =
        read({call("a", R"("output_length":3,"pre_gap":1)"),
              call("a", R"("output_length":3,"pre_gap":-1)"),
              R"({"session_id":"a","input":"q","pre_gap":1})", R"({"session_id":"a","pre_gap":1})",
              R"({"input":[{"role":"user"}],"pre_gap":1})"},
             open_sessions());
    ASSERT_EQ(got.errors.count, 4U);
    EXPECT_EQ(got.errors.list[0].field, "pre_gap");
    EXPECT_EQ(got.errors.list[1].field, "input");
    EXPECT_EQ(got.errors.list[2].field, "input");
    EXPECT_EQ(got.errors.list[3].field, "session_id");
    EXPECT_EQ(read({call("a", R"("output_length":3,"pre_gap":1,"session_timestamp":"soon")")},
                   open_sessions())
                  .errors.list[0]
                  .field,
              "session_timestamp");
}

// Numbers, numbers as text and wall clocks; bodies as objects and as text of their own.
TEST(WorkloadLog, ReadsBodies) {
    const ReadTrace got =
        read({R"({"body":{"messages":[{"role":"user","content":"a"}]},"timestamp":1732060801.5,)"
              R"("completion_tokens":3})",
              R"({"body":"{\"prompt\": \"b\",\n\"n\": 1}","timestamp":"1732060801.25"})",
              R"({"body":{"prompt":"c"},"timestamp":"2024-11-20T00:00:02Z","headers":{"k":"v"}})"});
    ASSERT_TRUE(got.usable) << got.first_error();
    const Trace& trace = got.trace;
    EXPECT_EQ(trace.format, "workload");
    EXPECT_EQ(trace.rows[0].index, 1U);
    EXPECT_EQ(trace.rows[0].output_length, 0U) << "unknown";
    EXPECT_EQ(trace.body_of(trace.rows[0]), R"({"payload":{"prompt": "b","n": 1}})");
    EXPECT_EQ(trace.rows[1].at_ns, 250'000'000);
    EXPECT_EQ(trace.rows[1].output_length, 3U);
    EXPECT_EQ(trace.rows[2].at_ns, 750'000'000);
    EXPECT_EQ(canonical_round_trip(trace), "");
}

// Lines of OpenAI's Batch have no times: a rate says when they are sent.
TEST(WorkloadLog, ReadsLinesOfABatch) {
    ReadOptions at_a_rate;
    at_a_rate.times_free = true;
    const std::string body = R"({"model":"m","messages":[{"role":"user","content":"a"}],)"
                             R"("max_tokens":5})";
    const std::string line =
        R"({"custom_id":"1","method":"POST","url":"/v1/chat/completions","body":)" + body + "}";
    const ReadTrace got = read({line, line}, at_a_rate);
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.format, "workload");
    EXPECT_EQ(got.trace.body_of(got.trace.rows[1]), R"({"payload":)" + body + "}");
    EXPECT_EQ(got.trace.unknown_keys, 0U);
    EXPECT_TRUE(says(read({line}).first_error(), "use replay --rate R"));
}

TEST(WorkloadLog, RefusesWhatIsNoBody) {
    const std::string good = R"({"body":{"prompt":"c"},"timestamp":1})";
    for (const char* body : {R"("{")", R"("[]")", R"("{}")", "{}", "5", "null"}) {
        const ReadTrace got = read({good, R"({"timestamp":2,"body":)" + std::string(body) + "}"});
        EXPECT_EQ(got.errors.count, 1U) << body;
        EXPECT_EQ(got.errors.list[0].line, 2U) << body;
    }
    EXPECT_EQ(read({good, R"({"body":{"prompt":"c"}})"}).errors.count, 1U) << "no time";
    EXPECT_EQ(read({good, R"({"timestamp":2})"}).first_error(),
              "t.jsonl:2: body is missing; give every row its request's body");
}

// To Mooncake and back: the words stay; a length beside them is named as lost.
TEST(RecordedRequests, SurviveMooncake) {
    const ReadTrace got = read({R"({"timestamp":0,"text_input":"a","input_length":3})",
                                R"({"timestamp":1,"payload":{"prompt":"b"},"extra":{"k":1},)"
                                R"("output_length":2})"});
    ASSERT_TRUE(got.usable) << got.first_error();
    TraceWriter writer(got.trace, mooncake_target, all_rows(got.trace));
    const std::vector<std::string> lines = lines_of(writer);
    EXPECT_EQ(lines[0], R"({"timestamp":0,"text_input":"a"})");
    EXPECT_EQ(lines[1], R"({"timestamp":1,"payload":{"prompt":"b"},"extra":{"k":1},)"
                        R"("output_length":2})");
    ASSERT_EQ(writer.losses().size(), 1U);
    EXPECT_EQ(writer.losses()[0], "1 length besides a prompt with text");
    const ReadTrace again = read(lines);
    ASSERT_TRUE(again.usable) << again.first_error();
    EXPECT_EQ(again.trace.body_bytes, got.trace.body_bytes);
}

}  // namespace
}  // namespace driftless
