// AIPerf's conversations of several turns: each turn a row of new messages, times in ms.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "proto/trace/formats.hpp"
#include "tests/unit/proto/trace/reading.hpp"
#include "tests/unit/proto/trace/round_trip.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {

namespace {

std::string session(const std::string& id, const std::string& turns) {
    return R"({"session_id":")" + id + R"(","turns":[)" + turns + "]}";
}

TEST(AiperfTurns, AreRowsOfNewMessages) {
    const ReadTrace got =
        read({session("s", R"({"text":"q1","delay":0},{"text":"q2","delay":2000.5,)"
                           R"("output_length":50,"extra":{"k":1}})"),
              R"({"turns":[{"texts":["a","b"]}],"type":"multi_turn"})",
              session("s", R"({"texts":[{"name":"n","contents":["x","y"]}]})")},
             closed_sessions());
    ASSERT_TRUE(got.usable) << got.first_error();
    const Trace& trace = got.trace;
    EXPECT_EQ(trace.format, "aiperf-multi-turn");
    EXPECT_TRUE(trace.deltas);
    EXPECT_EQ(trace.unknown_keys, 0U);
    ASSERT_EQ(trace.rows.size(), 4U);
    EXPECT_EQ(trace.body_of(trace.rows[0]), R"({"messages":[{"role":"user","content":"q1"}]})");
    EXPECT_EQ(trace.rows[2].at_ns, 2'000'500'000);
    EXPECT_EQ(trace.rows[2].output_length, 50U);
    EXPECT_EQ(trace.body_of(trace.rows[2]),
              R"({"messages":[{"role":"user","content":"q2"}],"extra":{"k":1}})");
    EXPECT_EQ(trace.dependencies_of(trace.rows[2])[0].delay_ns, 2'000'500'000);
    EXPECT_EQ(trace.body_of(trace.rows[1]),
              R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"},)"
              R"({"type":"text","text":"b"}]}]})");
    EXPECT_EQ(trace.sessions[trace.rows[1].session], "t.jsonl:2");
    EXPECT_EQ(trace.rows[3].turn, 3U) << "objects of one name are one session";
    EXPECT_EQ(canonical_round_trip(trace), "");
}

// A fixed schedule needs no closed sessions.
TEST(AiperfTurns, HaveTimesOrDelays) {
    const ReadTrace timed =
        read({session("s", R"({"text":"q1","timestamp":10},{"text":"q2","timestamp":1000})")});
    ASSERT_TRUE(timed.usable) << timed.first_error();
    EXPECT_EQ(timed.trace.rows[1].at_ns, 990'000'000);
    EXPECT_EQ(timed.trace.rows_laid_out, 0U);
    const ReadTrace delayed = read({session("s", R"({"text":"q1"},{"text":"q2","delay":5})")});
    EXPECT_FALSE(delayed.usable);
    EXPECT_EQ(delayed.errors.list[0].field, "turns[0].timestamp");
    EXPECT_TRUE(says(delayed.first_error(), "--sessions closed"));
}

// A first turn of a system that is text alone asks nothing; one with a time is a turn.
TEST(AiperfTurns, BeginWithASystemPrompt) {
    const ReadTrace got =
        read({session("s", R"({"role":"system","texts":["be","kind"]},{"text":"q"},)"
                           R"({"role":"system","text":"now be short"})"),
              session("t", R"({"role":"system","text":"x","delay":5})")},
             closed_sessions());
    ASSERT_TRUE(got.usable) << got.first_error();
    ASSERT_EQ(got.trace.rows.size(), 3U);
    const TraceRow& first = got.trace.rows[0];
    EXPECT_EQ(got.trace.body_of(first),
              R"({"messages":[{"role":"system","content":"be\nkind"},{"role":"user",)"
              R"("content":"q"}]})");
    EXPECT_EQ(first.turn, 1U);
    EXPECT_EQ(got.trace.body_of(got.trace.rows[1]),
              R"({"messages":[{"role":"system","content":"now be short"}]})");
}

TEST(AiperfTurns, CountWhatIsNotSent) {
    const ReadTrace got =
        read({session("s", R"({"text":"q","image":"a.png"})")}, closed_sessions());
    ASSERT_TRUE(got.usable) << got.first_error();
    ASSERT_EQ(got.trace.remarks.size(), 2U);
    EXPECT_STREQ(got.trace.remarks[0].one, "turn with images, audio or video, which are not sent");
}

TEST(AiperfTurns, AreRefused) {
    const auto refused = [](const std::string& turns, const std::string& field,
                            const std::string& what) {
        ReadOptions options = closed_sessions();
        options.format = "multi_turn";
        const ReadTrace got = read({R"({"session_id":"s","turns":)" + turns + "}"}, options);
        ASSERT_EQ(got.errors.count, 1U) << turns;
        EXPECT_EQ(got.errors.list[0].field, field);
        EXPECT_TRUE(says(got.first_error(), what));
    };
    refused("[]", "turns", "is empty");
    refused("5", "turns", "is not a list of objects");
    refused(R"([{"image":"a.png"}])", "turns[0].text",
            "is missing, and the rest of the turn cannot be sent");
    refused(R"([{"text":""}])", "turns[0].text", "is missing");
    refused(R"([{"texts":[]}])", "turns[0].text", "is missing");
    refused(R"([{"text":"a","texts":["b"]}])", "turns[0].texts", "is given together with text");
    refused(R"([{"text":["a"]}])", "turns[0].texts", "is not text");
    refused(R"([{"texts":[{"contents":[{}]}]}])", "turns[0].texts", "is not text");
    refused(R"([{"role":"assistant","text":"a"}])", "turns[0].role", "does not ask");
    refused(R"([{"text":"a","extra":[]}])", "turns[0].extra", "is not an object");
    refused(R"([{"text":"a","extra":{"messages":[]}}])", "turns[0].extra", "has messages");
    refused(R"([{"text":"a","delay":-1}])", "turns[0].delay", "is negative");
    refused(R"([{"role":"system","text":"a"}])", "turns", "no question");
    const ReadTrace graph =
        read({R"({"session_id":"s","turns":[{"messages":[],"forks":["t"]}]})"}, closed_sessions());
    EXPECT_TRUE(says(graph.first_error(), "with forks (dag_jsonl)"));
}

// ShareGPT's conversations and vLLM's: a row for each answered question, with all said before it.

/// Read as closed sessions, where the format is not named.
ReadTrace read_closed(const std::vector<std::string>& lines, const std::string& format = "") {
    ReadOptions options = closed_sessions();
    options.format = format;
    return read(lines, options);
}

/// A conversation of messages, each as speaker:words.
std::string talk(const std::string& id, const std::vector<std::string>& messages) {
    std::string list;
    for (const std::string& one : messages) {
        const std::size_t colon = one.find(':');
        list += list.empty() ? "" : ",";
        list += R"({"from":")" + one.substr(0, colon) + R"(","value":")" + one.substr(colon + 1) +
                R"("})";
    }
    return R"({"id":")" + id + R"(","conversations":[)" + list + "]}";
}

/// What a row says, as role:words with bars between.
std::string said(const Trace& trace, std::size_t row) {
    JsonDocument document;
    std::string text;
    const Result<JsonValue> request = document.parse(trace.body_of(trace.rows[row]));
    for (JsonValue one = request.value().find("messages").first(); one.present();
         one = one.next()) {
        text += text.empty() ? "" : "|";
        text += std::string(*one.find("role").as_string()) + ":" +
                std::string(*one.find("content").as_string());
    }
    return text;
}

std::map<std::string, std::uint64_t> remarks_of(const Trace& trace) {
    std::map<std::string, std::uint64_t> remarks;
    for (const Remark& remark : trace.remarks) {
        remarks[remark.one] = remark.count;
    }
    return remarks;
}

TEST(ShareGpt, IsReadAsTurns) {
    const ReadTrace got =
        read_closed({"[" + talk("a", {"system:s", "human:q1", "gpt:r1", "user:q2", "chatgpt:r2"}) +
                     "," + talk("b", {"human:q", "gpt:r"}) + "]"});
    ASSERT_TRUE(got.usable) << got.first_error();
    const Trace& trace = got.trace;
    EXPECT_EQ(trace.format, "sharegpt");
    EXPECT_FALSE(trace.deltas);
    ASSERT_EQ(trace.rows.size(), 3U);
    EXPECT_EQ(said(trace, 0), "system:s|user:q1");
    EXPECT_EQ(said(trace, 1), "system:s|user:q1|assistant:r1|user:q2");
    EXPECT_EQ(said(trace, 2), "user:q");
    EXPECT_EQ(trace.rows[1].turn, 2U);
    EXPECT_EQ(trace.rows[1].input_length, 0U);
    EXPECT_EQ(trace.rows[1].output_length, 0U);
    EXPECT_EQ(trace.dependencies_of(trace.rows[1])[0].on, 0U);
    EXPECT_EQ(trace.dependencies_of(trace.rows[1])[0].delay_ns, 0);
    EXPECT_TRUE(trace.dependencies_of(trace.rows[2]).empty());
    EXPECT_EQ(trace.sessions[trace.rows[2].session], "b");
    EXPECT_TRUE(trace.remarks.empty());
    EXPECT_EQ(canonical_round_trip(trace), "");
}

// What published files hold beside questions and answers: each is counted.
TEST(ShareGpt, CountsWhatItLeavesOut) {
    const ReadTrace got = read_closed(
        {talk("a", {"gpt:r0", "gpt:r1", "human:q", "gpt:", "gpt:r2", "gpt:r3", "human:x", "human:y",
                    "bing:r4", "human:z"}),
         talk("b", {"human:q"}), talk("b", {"human:q", "gpt:r"}), talk("b", {"human:q", "bard:r"}),
         R"({"conversations":[{"from":"human","value":"q"},{"from":"gpt","value":null},)"
         R"({"from":"gpt","value":"r"}],"system":"s"})"},
        "sharegpt");
    ASSERT_TRUE(got.usable) << got.first_error();
    const Trace& trace = got.trace;
    ASSERT_EQ(trace.rows.size(), 5U);
    EXPECT_EQ(said(trace, 0), "user:q");
    EXPECT_EQ(said(trace, 1), "user:q|assistant:r2\n\nr3|user:x\n\ny");
    EXPECT_EQ(said(trace, 4), "system:s|user:q");
    EXPECT_NE(trace.rows[2].session, trace.rows[3].session) << "two conversations of one name";
    EXPECT_EQ(trace.sessions[trace.rows[2].session], trace.sessions[trace.rows[3].session]);
    EXPECT_EQ(trace.sessions[trace.rows[4].session], "t.jsonl:5");
    const std::map<std::string, std::uint64_t> expected{
        {"answer before the first question of its conversation, left out", 2},
        {"empty message, left out", 2},
        {"message merged with the one before it, of the same speaker", 2},
        {"question without an answer, not sent", 2},
        {"conversation without an answered question, left out", 1}};
    EXPECT_EQ(remarks_of(trace), expected);
    EXPECT_EQ(canonical_round_trip(trace), "");
}

TEST(ShareGpt, RefusesWhatNobodySays) {
    const auto refused = [](const std::string& line, const std::string& field,
                            const std::string& what) {
        const ReadTrace got = read_closed({line}, "sharegpt");
        ASSERT_EQ(got.errors.count, 1U) << line;
        EXPECT_EQ(got.errors.list[0].field, field);
        EXPECT_TRUE(says(got.first_error(), what));
    };
    refused(talk("a", {"human:q", "function_call:f"}), "conversations[1].from", "speaker");
    refused(R"({"conversations":[{"value":"q"}]})", "conversations[0].role", "is missing");
    refused(R"({"conversations":[{"from":"human","value":5}]})", "conversations[0].value",
            "is not text");
    refused(R"({"conversations":[5]})", "conversations", "is not a list of objects");
    refused(R"({"conversations":5})", "conversations", "is not a list of messages");
    refused(R"({"id":"a"})", "conversations", "is missing");
    const std::string roles =
        R"({"conversations":[{"role":"user","content":"q"},{"role":"assistant","content":"r"}]})";
    EXPECT_TRUE(says(read_closed({roles}).first_error(), "--format sharegpt"));
    EXPECT_TRUE(read_closed({roles}, "sharegpt").usable);
    EXPECT_TRUE(says(read({talk("a", {"human:q", "gpt:r"})}).first_error(), "--dataset FILE"))
        << "no times";
}

TEST(VllmMultiTurn, IsReadAsTurns) {
    const std::string line =
        R"([{"id":"c1","messages":[{"role":"user","content":"q1"},{"role":"assistant",)"
        R"("content":"r1"},{"role":"user","content":"q2"},{"role":"assistant","content":"r2"}]}])";
    const ReadTrace got = read_closed({line});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.format, "vllm-multi-turn");
    ASSERT_EQ(got.trace.rows.size(), 2U);
    EXPECT_EQ(said(got.trace, 1), "user:q1|assistant:r1|user:q2");
    EXPECT_EQ(got.trace.sessions[0], "c1");
    EXPECT_EQ(canonical_round_trip(got.trace), "");
    EXPECT_TRUE(says(read({line}).first_error(), "--sessions closed"));
    EXPECT_FALSE(
        read_closed({R"({"id":"c","messages":[{"role":"user","content":"q"}],"n":1})"}).usable)
        << "a log of requests, perhaps";
    EXPECT_TRUE(
        says(read_closed({R"({"filetype":"generate_conversations","num_conversations":24})"})
                 .first_error(),
             "describes a generator"));
}

}  // namespace

}  // namespace driftless
