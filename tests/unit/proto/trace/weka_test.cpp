// Conversations of kv-cache-tester: laid out only when asked, ids of their own, sub-agents beside
// their parents, both rules for partial blocks.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/trace/formats.hpp"
#include "tests/unit/proto/trace/reading.hpp"
#include "tests/unit/texts.hpp"

namespace driftless {
namespace {

std::string request(const std::string& more) {
    return R"({"type":"n","model":"m","stop":"","input_types":[],"output_types":[],)" + more + "}";
}

std::string conversation(const std::string& id, const std::string& requests) {
    return R"({"id":")" + id +
           R"(","models":["m"],"block_size":64,"hash_id_scope":"local","requests":[)" + requests +
           "]}";
}

ReadTrace open(const std::vector<std::string>& lines, bool lenient = false) {
    ReadOptions options{.lenient = lenient, .sessions = Sessions::open};
    return read(lines, options);
}

// Fixture 4: whole blocks only, an output of 0, a sub-agent whose duration is null.
const std::string with_agent = conversation(
    "trace_1",
    request(R"("t":0.0,"in":130,"out":0,"hash_ids":[1,2],"api_time":5.5,"think_time":0.0)") + "," +
        R"({"t":10.25,"type":"subagent","agent_id":"agent_001","subagent_type":"Plan",)"
        R"("duration_ms":null,"status":"completed","requests":[)" +
        request(R"("t":0.0,"in":64,"out":3,"hash_ids":[7],"api_time":2)") + "," +
        request(R"("t":4.0,"in":128,"out":3,"hash_ids":[7,8],"api_time":1)") + "]}," +
        request(R"("t":20.0,"in":200,"out":9,"hash_ids":[1,2,3])"));

TEST(Weka, LaysSubAgentsOutBesideTheirParent) {
    const ReadTrace got = open({with_agent});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.format, "weka");
    EXPECT_EQ(got.trace.block_size, 64U);
    EXPECT_EQ(got.trace.tail_rule, TailRule::floor);
    EXPECT_EQ(got.trace.zero_outputs, 1U);
    EXPECT_EQ(got.trace.unknown_keys, 0U);
    EXPECT_EQ(got.trace.sessions, (std::vector<std::string>{"trace_1", "trace_1/agent_001"}));
    ASSERT_EQ(got.trace.rows.size(), 4U);
    std::vector<std::int64_t> times_ms;
    for (const TraceRow& row : got.trace.rows) {
        times_ms.push_back(row.at_ns / 1'000'000);
        EXPECT_EQ(row.name_space, 0U) << "numbered in one space with their parent";
    }
    EXPECT_EQ(times_ms, (std::vector<std::int64_t>{0, 10'250, 14'250, 20'000}));
    EXPECT_EQ(got.trace.rows[2].session, 1U);
    EXPECT_EQ(got.trace.rows[2].turn, 2U);
    EXPECT_EQ(got.trace.rows[3].turn, 2U);
}

// Who waits for whom, by recorded answers: spawn, sequence, join.
TEST(Weka, KnowsWhoWaitsForWhom) {
    const ReadTrace got = open({with_agent});
    ASSERT_TRUE(got.usable);
    const auto spawned = got.trace.dependencies_of(got.trace.rows[1]);
    ASSERT_EQ(spawned.size(), 1U);
    EXPECT_EQ(spawned[0].on, 0U);
    EXPECT_EQ(spawned[0].delay_ns, 4'750'000'000);
    const auto joined = got.trace.dependencies_of(got.trace.rows[3]);
    ASSERT_EQ(joined.size(), 2U);
    EXPECT_EQ(joined[0].on, 0U);
    EXPECT_EQ(joined[0].delay_ns, 14'500'000'000);
    EXPECT_EQ(joined[1].on, 2U);
    EXPECT_EQ(joined[1].delay_ns, 0) << "the parent's own gap counts";
    const ReadTrace overlap =
        open({conversation("a", request(R"("t":0,"in":64,"out":1,"hash_ids":[1],"api_time":9)") +
                                    "," + request(R"("t":3,"in":64,"out":1,"hash_ids":[1])"))});
    const auto parallel = overlap.trace.dependencies_of(overlap.trace.rows[1]);
    ASSERT_EQ(parallel.size(), 1U);
    EXPECT_EQ(parallel[0].trigger, Trigger::dispatch);
    EXPECT_EQ(parallel[0].delay_ns, 3'000'000'000);
}

// A sub-agent that ran on beside the next request of its parent is joined by the one after.
TEST(Weka, JoinsASubAgentWhenItHasEnded) {
    const std::string agent =
        R"({"t":1,"type":"subagent","agent_id":"x","status":"completed","requests":[)" +
        request(R"("t":0,"in":64,"out":3,"hash_ids":[7],"api_time":8)") + "]}";
    const auto turn = [](const std::string& t) {
        return request(R"("t":)" + t + R"(,"in":64,"out":1,"hash_ids":[1],"api_time":1)");
    };
    const ReadTrace got = open({conversation(
        "a", turn("0") + "," + agent + "," + turn("4") + "," + turn("9") + "," + turn("20"))});
    ASSERT_TRUE(got.usable) << got.first_error();
    std::vector<std::uint32_t> joins;
    for (const TraceRow& row : got.trace.rows) {
        const auto waits = got.trace.dependencies_of(row);
        if (row.session == 0 && waits.size() == 2) {
            EXPECT_EQ(waits[1].on, 1U);
            joins.push_back(row.index);
        }
    }
    EXPECT_EQ(joins, std::vector<std::uint32_t>{3U});
}

// An answer without a recorded end took as long for its tokens as the conversation's others: 0.5 s
// each. Where that leaves no room, the gap is 0 and the turn still waits for the end.
TEST(Weka, ReckonsEndsThatAreNotRecorded) {
    const ReadTrace got =
        open({conversation("a", request(R"("t":0,"in":64,"out":4,"hash_ids":[1],"api_time":2)") +
                                    "," + request(R"("t":10,"in":64,"out":6,"hash_ids":[1])") +
                                    "," + request(R"("t":20,"in":64,"out":60,"hash_ids":[1])") +
                                    "," + request(R"("t":30,"in":64,"out":1,"hash_ids":[1])"))});
    ASSERT_TRUE(got.usable) << got.first_error();
    const std::int64_t gaps_s[] = {8, 7, 0};
    ASSERT_EQ(got.trace.dependencies.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(got.trace.dependencies[i].trigger, Trigger::completion);
        EXPECT_EQ(got.trace.dependencies[i].delay_ns, gaps_s[i] * 1'000'000'000) << i;
    }
    ASSERT_EQ(got.trace.remarks.size(), 1U);
    EXPECT_EQ(got.trace.remarks[0].count, 3U);
}

// Not all that is not a time is one that was not recorded; and a gap that counts from the start of
// an answer is not as recorded.
TEST(Weka, RefusesTimesThatAreNone) {
    const auto of = [](const std::string& more) {
        return open(
            {conversation("a", request(R"("t":0,"in":64,"out":4,"hash_ids":[1],)" + more))});
    };
    for (const std::string name : {"api_time", "ttft"}) {
        for (const std::string value : {"-0.5", "1e300", "true", "[]", "\"x\"", "-4", "{}"}) {
            const ReadTrace got = of("\"" + name + "\":" + value);
            ASSERT_EQ(got.errors.count, 1U) << name << value;
            EXPECT_EQ(got.errors.list[0].field, "requests[0]." + name);
            EXPECT_EQ(got.errors.list[0].value, value);
            EXPECT_TRUE(says(got.first_error(), "null if it was not recorded"));
        }
    }
    for (const std::string without : {R"("api_time":null)", R"("think_time":0)"}) {
        const ReadTrace got = of(without);
        ASSERT_TRUE(got.usable) << got.first_error();
        ASSERT_EQ(got.trace.remarks.size(), 1U);
        EXPECT_EQ(got.trace.remarks[0].count, 1U);
    }
    EXPECT_TRUE(of(R"("api_time":0)").trace.remarks.empty());
}

TEST(Weka, KnowsTheTypesOfRequests) {
    const auto of = [](const std::string& type) {
        return open({conversation("a", R"({"t":0,"in":64,"out":4,"hash_ids":[1],"api_time":1)" +
                                           (type.empty() ? "" : ",\"type\":" + type) + "}")});
    };
    for (const std::string type : {"{}", "[\"n\"]", "5", "false"}) {
        const ReadTrace got = of(type);
        ASSERT_EQ(got.errors.count, 1U) << type;
        EXPECT_EQ(got.errors.list[0].field, "requests[0].type");
        EXPECT_EQ(got.errors.list[0].value, type);
    }
    for (const std::string type : {"", "null", "\"n\"", "\"s\""}) {
        EXPECT_TRUE(of(type).usable);
        EXPECT_TRUE(of(type).trace.remarks.empty()) << type;
    }
    const ReadTrace other = of("\"zzz\"");
    ASSERT_TRUE(other.usable);
    ASSERT_EQ(other.trace.remarks.size(), 1U);
    EXPECT_EQ(other.trace.remarks[0].count, 1U);
}

// Inner times that begin at or after the spawn count from the conversation's start.
TEST(Weka, KnowsTheClockOfASubAgent) {
    const ReadTrace got = open({conversation(
        "a", request(R"("t":0,"in":64,"out":1,"hash_ids":[1])") + "," +
                 R"({"t":10,"type":"subagent","agent_id":"x","status":"async_launched",)"
                 R"("requests":[)" +
                 request(R"("t":10.5,"in":64,"out":1,"hash_ids":[2])") + "]}")});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.rows[1].at_ns, 10'500'000'000);
}

// Fixture 4: the derivative names partial blocks too, from id 0, a conversation a line. Equal ids
// of two conversations share nothing, in one file or in two.
TEST(Weka, ReadsDerivatives) {
    const std::string one =
        conversation("a", request(R"("t":5,"in":418,"out":1,"hash_ids":[0,1,2,3,4,5,6])") + "," +
                              request(R"("t":7,"in":402,"out":1,"hash_ids":[0,1,2,3,4,5,7])"));
    const ReadTrace got = open({one, one});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.tail_rule, TailRule::ceil);
    EXPECT_EQ(got.trace.name_spaces, 2U);
    EXPECT_EQ(got.trace.rows[0].at_ns, 0) << "every conversation starts at 0";
    EXPECT_EQ(got.trace.rows[1].at_ns, 0);
    EXPECT_NE(got.trace.rows[0].name_space, got.trace.rows[1].name_space);
    EXPECT_EQ(got.trace.rows_unsorted, 0U);
}

// One conversation follows one rule; a count that follows neither names its request.
TEST(Weka, RefusesCountsOfNoRule) {
    const ReadTrace mixed =
        open({conversation("a", request(R"("t":0,"in":100,"out":1,"hash_ids":[1])") + "," +
                                    request(R"("t":1,"in":100,"out":1,"hash_ids":[1,2])"))});
    EXPECT_TRUE(says(mixed.first_error(), "follow no single rule: 1 requests"));
    const std::string wrong =
        conversation("a", request(R"("t":0,"in":100,"out":1,"hash_ids":[1,2,3])"));
    EXPECT_EQ(open({wrong}).errors.list[0].field, "requests[0].hash_ids");
    const ReadTrace fixed = open({wrong}, true);
    ASSERT_TRUE(fixed.usable);
    EXPECT_EQ(fixed.trace.surplus_ids, 2U);
}

// Without arrival times of its own, the format is refused with the way out, once.
TEST(Weka, AsksForSessions) {
    const ReadTrace got = read({with_agent, with_agent});
    EXPECT_EQ(got.errors.count, 1U);
    EXPECT_EQ(got.first_error(),
              "t.jsonl:1: has conversations, which have no arrival times; use --sessions closed to "
              "start each at time 0 with turns waiting for answers, or --sessions open to send "
              "turns by the recorded gaps");
}

// A file over several lines is one conversation, too.
TEST(Weka, ReadsPrettyFiles) {
    const ReadTrace got = open({"{", R"("id": "a", "block_size": 64,)", R"("requests": [)",
                                request(R"("t":0,"in":64,"out":1,"hash_ids":[1])"), "]", "}"});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(got.trace.rows.size(), 1U);
}

// Rows of a table have every member, mostly as nulls; sums of decimals are a little off.
TEST(Weka, TakesNullsForAbsentAndTimesForRounded) {
    const ReadTrace got = open({conversation(
        "a", R"({"t":0,"type":"n","in":65,"out":1,"hash_ids":[0],"requests":null,"agent_id":null,)"
             R"("subagent_type":null,"status":null,"api_time":null,"ttft":null},)"
             R"({"t":22.4000004,"type":"subagent","agent_id":"x","status":"completed","in":null,)"
             R"("hash_ids":null,"requests":[)" +
                 request(R"("t":22.4,"in":65,"out":1,"hash_ids":[7])") + "]}," +
                 R"({"t":30,"type":"subagent","agent_id":"y","requests":null},)" +
                 request(R"("t":31,"in":65,"out":1,"hash_ids":null)"))});
    ASSERT_TRUE(got.usable) << got.first_error();
    ASSERT_EQ(got.trace.rows.size(), 3U);
    EXPECT_EQ(got.trace.rows[1].at_ns, 22'400'000'000) << "from the conversation's start";
    EXPECT_EQ(got.trace.unknown_keys, 0U);
    EXPECT_EQ(got.trace.rows[2].ids_count, 0U);
}

TEST(Weka, RefusesASubAgentBeforeItsConversation) {
    const ReadTrace got =
        open({conversation("a", request(R"("t":10,"in":65,"out":1,"hash_ids":[1])") + "," +
                                    R"({"t":9,"type":"subagent","requests":[]})")});
    ASSERT_EQ(got.errors.count, 1U);
    EXPECT_EQ(got.first_error(),
              "t.jsonl:1: requests[1].t \"9\" is before its conversation's first request; start a "
              "sub-agent when its conversation has started, or later");
}

}  // namespace
}  // namespace driftless
