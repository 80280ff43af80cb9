// Rows of messages that hold only what is new: AIPerf's delta rows in Mooncake traces, SGLang's
// turns; and how the canonical format carries them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/trace/formats.hpp"
#include "tests/unit/proto/trace/reading.hpp"
#include "tests/unit/proto/trace/round_trip.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

/// A row of the session with these messages, as role:words; members stand behind. One without any
/// has the length of its answer.
std::string row_of(const std::string& session, const std::vector<std::string>& messages,
                   const std::string& members) {
    std::string list;
    for (const std::string& one : messages) {
        const std::size_t colon = one.find(':');
        list += list.empty() ? "" : ",";
        list += R"({"role":")" + one.substr(0, colon) + R"(","content":")" + one.substr(colon + 1) +
                R"("})";
    }
    return R"({"session_id":")" + session + R"(","messages":[)" + list + "]" +
           (members.empty() ? R"(,"output_length":9)" : "," + members) + "}";
}

const std::string live = R"("assistant_responses":"live")";

std::uint64_t count_of(const Trace& trace, const std::string& part) {
    for (const Remark& remark : trace.remarks) {
        if (std::string(remark.many).find(part) != std::string::npos) {
            return remark.count;
        }
    }
    return 0;
}

constexpr const char* looks_fresh = "may have only new messages";

// The spellings of both of AIPerf's keys; turns wait for the answer and the delay.
TEST(Deltas, AreReadFromMooncakeRows) {
    for (const std::string mode :
         {R"("assistant_responses":"live")", R"("assistant_responses":"LIVE")",
          R"("message_mode":"delta")"}) {
        const ReadTrace got =
            read({row_of("a", {"system:s", "user:q1"}, mode + R"(,"output_length":50)"),
                  row_of("b", {"user:q2"}, mode),
                  row_of("a", {"tool:r"}, mode + R"(,"delay":1500.5,"output_length":8)")},
                 closed_sessions());
        ASSERT_TRUE(got.usable) << got.first_error();
        const Trace& trace = got.trace;
        EXPECT_TRUE(trace.deltas);
        EXPECT_TRUE(trace.recorded);
        ASSERT_EQ(trace.rows.size(), 3U);
        const TraceRow& last = trace.rows[2];
        EXPECT_EQ(trace.body_of(last), R"({"messages":[{"role":"tool","content":"r"}]})");
        EXPECT_EQ(last.at_ns, 1'500'500'000);
        EXPECT_EQ(last.turn, 2U);
        EXPECT_EQ(last.output_length, 8U);
        ASSERT_EQ(trace.dependencies_of(last).size(), 1U);
        EXPECT_EQ(trace.dependencies_of(last)[0].on, 0U);
        EXPECT_EQ(trace.dependencies_of(last)[0].delay_ns, 1'500'500'000);
        EXPECT_EQ(count_of(trace, "answers of the run go between them"), 3U);
        EXPECT_EQ(count_of(trace, looks_fresh), 0U);
        EXPECT_EQ(canonical_round_trip(trace), "");
    }
}

// History is what rows hold without the key, and by its own words.
TEST(Deltas, AreSaidByTheRow) {
    for (const std::string mode :
         {R"("assistant_responses":"recorded")", R"("assistant_responses":"Recorded")",
          R"("message_mode":"history")", R"("message_mode":null)"}) {
        const ReadTrace got = read({row_of("a", {"user:q"}, R"("timestamp":1,)" + mode)});
        ASSERT_TRUE(got.usable) << got.first_error();
        EXPECT_FALSE(got.trace.deltas);
        EXPECT_EQ(canonical_round_trip(got.trace), "");
    }
}

// Without arrival times they are refused under recorded sessions; with some they are not.
TEST(Deltas, NeedTimesOrClosedSessions) {
    const ReadTrace without =
        read({row_of("a", {"user:q"}, live), row_of("a", {"user:r"}, live + R"(,"delay":5)")});
    EXPECT_EQ(without.errors.count, 2U);
    EXPECT_TRUE(says(without.first_error(), "--sessions closed"));
    const ReadTrace with = read({row_of("a", {"user:q"}, live + R"(,"timestamp":10)"),
                                 row_of("a", {"user:r"}, live + R"(,"timestamp":30,"delay":5)")});
    ASSERT_TRUE(with.usable) << with.first_error();
    EXPECT_EQ(with.trace.rows[1].at_ns, 20'000'000);
    EXPECT_EQ(with.trace.dependencies_of(with.trace.rows[1])[0].delay_ns, 5'000'000);
}

// Tools hold inside their session until others come.
TEST(Deltas, InheritTools) {
    const auto tools = [](const std::string& name) {
        return R"("tools":[{"type":"function","function":{"name":")" + name + R"("}}])";
    };
    const ReadTrace got =
        read({row_of("a", {"user:1"}, live + "," + tools("x")), row_of("b", {"user:2"}, live),
              row_of("a", {"user:3"}, live + R"(,"tools":null)"),
              row_of("a", {"user:4"}, live + "," + tools("y")), row_of("a", {"user:5"}, live)},
             closed_sessions());
    ASSERT_TRUE(got.usable) << got.first_error();
    const char* expected[] = {"x", "", "x", "y", "y"};
    for (const TraceRow& row : got.trace.rows) {
        const std::string body(got.trace.body_of(row));
        const std::string name = expected[row.index];
        EXPECT_EQ(body.find("tools") == std::string::npos, name.empty()) << body;
        EXPECT_TRUE(name.empty() || body.ends_with("," + tools(name) + "}")) << body;
    }
    EXPECT_EQ(canonical_round_trip(got.trace), "");
    const ReadTrace history = read({row_of("a", {"user:1"}, R"("output_length":9,)" + tools("x")),
                                    row_of("a", {"user:1", "assistant:2", "user:3"}, "")},
                                   closed_sessions());
    ASSERT_TRUE(history.usable) << history.first_error();
    EXPECT_FALSE(says(history.trace.body_of(history.trace.rows[1]), "tools"));
}

// Rows of a session are of one kind, and so are all messages of a trace.
TEST(Deltas, DoNotMix) {
    const std::string delta = row_of("a", {"user:q"}, live);
    const auto refused = [&](const std::vector<std::string>& lines, const std::string& what) {
        const ReadTrace got = read(lines, closed_sessions());
        EXPECT_FALSE(got.usable);
        EXPECT_TRUE(says(got.first_error(), what));
        EXPECT_TRUE(says(got.first_error(),
                         "assistant_responses live in all rows of messages, or in none"));
    };
    refused({delta, row_of("a", {"user:q"}, "")}, "of its session that have only new messages");
    refused({row_of("a", {"user:q"}, ""), delta}, "session that have more than new messages");
    refused({delta, R"({"session_id":"a","input_length":5,"output_length":1})"},
            "of its session that have only new messages");
    refused({delta, row_of("b", {"user:q"}, "")}, "while other rows have only new messages");
    refused({row_of("b", {"user:q"}, ""), delta}, "while other rows have whole conversations");
    const ReadTrace beside = read(
        {delta, R"({"session_id":"b","text_input":"x"})",
         R"({"messages":[{"role":"user","content":"q"}],"timestamp":0,"message_mode":"delta"})"},
        closed_sessions());
    EXPECT_TRUE(beside.usable) << beside.first_error();
}

TEST(Deltas, RefuseWhatCannotBePutTogether) {
    const auto refused = [&](const std::string& line, const std::string& field,
                             const std::string& what) {
        const ReadTrace got = read({line}, closed_sessions());
        ASSERT_EQ(got.errors.count, 1U) << line;
        EXPECT_EQ(got.errors.list[0].field, field);
        EXPECT_TRUE(says(got.first_error(), what));
    };
    refused(row_of("a", {"user:q"}, live + R"(,"extra":{"messages":[]})"), "extra",
            "has messages, instead of the conversation");
    refused(row_of("a", {"user:q"}, live + R"(,"extra":{"input":""})"), "extra", "has input");
    refused(R"({"session_id":"a","text_input":"x",)" + live + "}", "assistant_responses",
            "a row without messages");
    refused(R"({"session_id":"a","payload":{"prompt":"x"},"message_mode":"delta"})", "message_mode",
            "a row without messages");
    refused(R"({"session_id":"a","input_length":1,"output_length":1,"message_mode":"delta"})",
            "message_mode", "a row without messages");
    refused(row_of("a", {"user:q"}, R"("message_mode":"deltas")"), "message_mode",
            "assistant_responses recorded");
    refused(row_of("a", {"user:q"}, R"("assistant_responses":5)"), "assistant_responses",
            "older traces message_mode");
}

// A session that does not say so and looks like it is counted once, and sent as it stands.
TEST(Deltas, AreSuspected) {
    const auto suspected = [](const std::vector<std::string>& lines) {
        const ReadTrace got = read(lines, closed_sessions());
        EXPECT_TRUE(got.usable) << got.first_error();
        EXPECT_FALSE(got.trace.deltas);
        return count_of(got.trace, looks_fresh);
    };
    EXPECT_EQ(suspected({row_of("a", {"user:q"}, ""), row_of("a", {"user:r"}, ""),
                         row_of("a", {"user:s"}, "")}),
              1U);
    EXPECT_EQ(suspected({row_of("a", {"user:q"}, ""), row_of("a", {"user:q", "user:r"}, "")}), 1U)
        << "no answer";
    EXPECT_EQ(suspected({row_of("a", {"user:q"}, ""), row_of("a", {"assistant:x", "user:r"}, "")}),
              1U)
        << "the first question is gone";
    EXPECT_EQ(suspected({row_of("a", {"user:q"}, ""),
                         row_of("a", {"user:q", "assistant:x", "user:r"}, ""),
                         row_of("b", {"user:q"}, "")}),
              0U);
    const ReadTrace odd = read({row_of("a", {"user:q"}, live), row_of("a", {"assistant:x"}, live)},
                               closed_sessions());
    EXPECT_EQ(count_of(odd.trace, "after the server's own"), 1U);
}

// To Mooncake and back; and canonical files of both kinds are not one trace.
TEST(Deltas, SurviveWriting) {
    const ReadTrace got = read({row_of("a", {"user:q"}, live + R"(,"timestamp":0)"),
                                row_of("a", {"user:r"}, live + R"(,"delay":5,"output_length":2)"),
                                R"({"timestamp":9,"text_input":"x"})"},
                               closed_sessions());
    ASSERT_TRUE(got.usable) << got.first_error();
    TraceWriter mooncake(got.trace, mooncake_target, all_rows(got.trace));
    const std::vector<std::string> lines = lines_of(mooncake);
    EXPECT_EQ(lines[1], R"({"timestamp":5,"assistant_responses":"live","messages":[{"role":"user",)"
                        R"("content":"r"}],"output_length":2,"session_id":"a","delay":5})");
    EXPECT_EQ(lines[2], R"({"timestamp":9,"text_input":"x"})");
    const ReadTrace again = read(lines);
    ASSERT_TRUE(again.usable) << again.first_error();
    EXPECT_EQ(difference(got.trace, again.trace), "");

    const std::string header = R"({"schema":"driftless.trace","version":1,"block_size":0})";
    const std::string row = R"({"at_ns":0,"recorded":{"messages":[{"role":"user"}]}})";
    const std::string fresh = header.substr(0, header.size() - 1) + R"(,"deltas":true})";
    EXPECT_TRUE(read({fresh, row}).trace.deltas);
    EXPECT_EQ(read({fresh, row, header, row}).errors.list[0].field, "deltas");
}

// SGLang's turns say how long their prompts were; conversations are named by their number.
TEST(Deltas, AreReadFromSglang) {
    const std::string turns =
        R"({"metadata":{"k":1},"conversations":[[{"messages":[{"role":"system","content":"s"},)"
        R"({"role":"user","content":"q"}],"prompt_tokens":73},{"messages":[],"prompt_tokens":80},)"
        R"({"messages":[{"role":"user","content":"r"}],"prompt_tokens":90}],[],)"
        R"([{"messages":[{"role":"user","content":"t"}]}]]})";
    EXPECT_TRUE(says(read({turns}).first_error(), "--sessions closed"));
    ReadOptions options = closed_sessions();
    options.default_output = 220;
    const ReadTrace got = read({turns}, options);
    ASSERT_TRUE(got.usable) << got.first_error();
    const Trace& trace = got.trace;
    EXPECT_EQ(trace.format, "sglang-agentic");
    EXPECT_TRUE(trace.deltas);
    ASSERT_EQ(trace.rows.size(), 3U);
    EXPECT_EQ(trace.rows[0].input_length, 73U);
    EXPECT_EQ(trace.rows[1].input_length, 90U);
    EXPECT_EQ(trace.rows[1].output_length, 220U);
    EXPECT_EQ(trace.rows[1].turn, 2U);
    EXPECT_EQ(trace.dependencies_of(trace.rows[1])[0].on, 0U);
    EXPECT_EQ(trace.rows[2].input_length, 0U);
    EXPECT_EQ(trace.sessions[trace.rows[2].session], "2");
    EXPECT_EQ(count_of(trace, "turns without messages"), 1U);
    EXPECT_EQ(canonical_round_trip(trace), "");
    const auto refused = [&](const std::string& conversations, const std::string& field) {
        options.format = "sglang-agentic";
        const ReadTrace bad = read({R"({"conversations":)" + conversations + "}"}, options);
        ASSERT_EQ(bad.errors.count, 1U) << conversations;
        EXPECT_EQ(bad.errors.list[0].field, field);
    };
    refused("5", "conversations");
    refused("[5]", "");
    refused("[[5]]", "conversations[0]");
    refused(R"([[{"messages":[5]}]])", "conversations[0].turns[0].messages");
    refused(R"([[{"messages":[{"role":"user"}],"prompt_tokens":-1}]])",
            "conversations[0].turns[0].prompt_tokens");
}

}  // namespace
}  // namespace driftless
