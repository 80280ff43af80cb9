// AIPerf's conversations of several turns: each turn a row of new messages, times in ms.
#include "proto/trace/aiperf_turns.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/proto/trace/reading.hpp"
#include "tests/unit/proto/trace/round_trip.hpp"

namespace driftless {
namespace {

std::string session(const std::string& id, const std::string& turns) {
    return R"({"session_id":")" + id + R"(","turns":[)" + turns + "]}";
}

TEST(AiperfTurns, AreRowsOfNewMessages) {
    const Reading got = read({session("s", R"({"text":"q1","delay":0},{"text":"q2","delay":2000.5,)"
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
    const Reading timed =
        read({session("s", R"({"text":"q1","timestamp":10},{"text":"q2","timestamp":1000})")});
    ASSERT_TRUE(timed.usable) << timed.first_error();
    EXPECT_EQ(timed.trace.rows[1].at_ns, 990'000'000);
    EXPECT_EQ(timed.trace.rows_laid_out, 0U);
    const Reading delayed = read({session("s", R"({"text":"q1"},{"text":"q2","delay":5})")});
    EXPECT_FALSE(delayed.usable);
    EXPECT_EQ(delayed.errors.list[0].field, "turns[0].timestamp");
    EXPECT_NE(delayed.first_error().find("--sessions closed"), std::string::npos);
}

// A first turn of a system that is text alone asks nothing; one with a time is a turn.
TEST(AiperfTurns, BeginWithASystemPrompt) {
    const Reading got =
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
    const Reading got = read({session("s", R"({"text":"q","image":"a.png"})")}, closed_sessions());
    ASSERT_TRUE(got.usable) << got.first_error();
    ASSERT_EQ(got.trace.remarks.size(), 2U);
    EXPECT_STREQ(got.trace.remarks[0].one, "turn with images, audio or video, which are not sent");
}

TEST(AiperfTurns, AreRefused) {
    const auto refused = [](const std::string& turns, const std::string& field,
                            const std::string& what) {
        ReadOptions options = closed_sessions();
        options.format = "multi_turn";
        const Reading got = read({R"({"session_id":"s","turns":)" + turns + "}"}, options);
        ASSERT_EQ(got.errors.count, 1U) << turns;
        EXPECT_EQ(got.errors.list[0].field, field);
        EXPECT_NE(got.first_error().find(what), std::string::npos) << got.first_error();
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
    const Reading graph =
        read({R"({"session_id":"s","turns":[{"messages":[],"forks":["t"]}]})"}, closed_sessions());
    EXPECT_NE(graph.first_error().find("with forks (dag_jsonl)"), std::string::npos);
}

}  // namespace
}  // namespace driftless
