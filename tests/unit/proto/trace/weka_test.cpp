// Traces of agents: Weka, ISB-1, TensorRT-LLM.

#include "proto/trace/formats.hpp"
#include "tests/unit/made.hpp"
#include "tests/unit/proto/trace/reading.hpp"
#include "tests/unit/proto/trace/round_trip.hpp"

namespace driftless {

// Conversations of kv-cache-tester: laid out only when asked, ids of their own, sub-agents beside
// their parents, both rules for partial blocks.

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
    return read(lines, ReadOptions{.lenient = lenient, .sessions = Sessions::open});
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

TEST(Weka, LaysSubAgentsOutAndKnowsWhoWaits) {
    const Trace trace = open({with_agent}).sound();
    EXPECT_EQ(std::tuple(trace.format, trace.block_size), std::tuple("weka", 64U));
    EXPECT_EQ(std::tuple(trace.tail_rule, trace.zero_outputs), std::tuple(TailRule::floor, 1U));
    EXPECT_EQ(trace.unknown_keys, 0U);
    EXPECT_EQ(trace.sessions, (std::vector<std::string>{"trace_1", "trace_1/agent_001"}));
    ASSERT_EQ(trace.rows.size(), 4U);
    EXPECT_EQ(members_of(trace.rows, &TraceRow::at_ns),
              (std::vector<std::int64_t>{0, 10'250'000'000, 14'250'000'000, 20'000'000'000}));
    EXPECT_EQ(members_of(trace.rows, &TraceRow::name_space), std::vector<std::uint32_t>(4, 0))
        << "numbered in one space with their parent";
    EXPECT_EQ(std::tuple(trace.rows[2].session, trace.rows[2].turn), std::tuple(1U, 2U));
    EXPECT_EQ(trace.rows[3].turn, 2U);
    // Who waits for whom, by recorded answers: spawn, sequence, join.
    const auto spawned = trace.dependencies_of(trace.rows[1]);
    ASSERT_EQ(spawned.size(), 1U);
    EXPECT_EQ(std::tuple(spawned[0].on, spawned[0].delay_ns), std::tuple(0U, 4'750'000'000));
    const auto joined = trace.dependencies_of(trace.rows[3]);
    ASSERT_EQ(joined.size(), 2U);
    EXPECT_EQ(std::tuple(joined[0].on, joined[0].delay_ns), std::tuple(0U, 14'500'000'000));
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
TEST(Weka, JoinsSubAgentsAndReckonsEnds) {
    const std::string agent =
        R"({"t":1,"type":"subagent","agent_id":"x","status":"completed","requests":[)" +
        request(R"("t":0,"in":64,"out":3,"hash_ids":[7],"api_time":8)") + "]}";
    const auto turn = [](const std::string& t) {
        return request(R"("t":)" + t + R"(,"in":64,"out":1,"hash_ids":[1],"api_time":1)");
    };
    const Trace trace = open({conversation("a", turn("0") + "," + agent + "," + turn("4") + "," +
                                                    turn("9") + "," + turn("20"))})
                            .sound();
    std::vector<std::uint32_t> joins;
    for (const TraceRow& row : trace.rows) {
        const auto waits = trace.dependencies_of(row);
        if (row.session == 0 && waits.size() == 2) {
            EXPECT_EQ(waits[1].on, 1U);
            joins.push_back(row.index);
        }
    }
    EXPECT_EQ(joins, std::vector<std::uint32_t>{3U});
    // An answer without a recorded end took as long for its tokens as the conversation's others:
    // 0.5 s each. Where that leaves no room, the gap is 0 and the turn still waits for the end.
    const Trace other_trace =
        open({conversation("a", request(R"("t":0,"in":64,"out":4,"hash_ids":[1],"api_time":2)") +
                                    "," + request(R"("t":10,"in":64,"out":6,"hash_ids":[1])") +
                                    "," + request(R"("t":20,"in":64,"out":60,"hash_ids":[1])") +
                                    "," + request(R"("t":30,"in":64,"out":1,"hash_ids":[1])"))})
            .sound();
    const std::int64_t gaps_s[] = {8, 7, 0};
    ASSERT_EQ(other_trace.dependencies.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(other_trace.dependencies[i].trigger, Trigger::completion);
        EXPECT_EQ(other_trace.dependencies[i].delay_ns, gaps_s[i] * 1'000'000'000) << i;
    }
    ASSERT_EQ(other_trace.remarks.size(), 1U);
    EXPECT_EQ(other_trace.remarks[0].count, 3U);
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
        const Trace trace = of(without).sound();
        ASSERT_EQ(trace.remarks.size(), 1U);
        EXPECT_EQ(trace.remarks[0].count, 1U);
    }
    EXPECT_TRUE(of(R"("api_time":0)").trace.remarks.empty());
}

TEST(Weka, KnowsTheTypesOfRequestsAndTheirClock) {
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
    const Trace other = of("\"zzz\"").sound();
    ASSERT_EQ(other.remarks.size(), 1U);
    EXPECT_EQ(other.remarks[0].count, 1U);
    // Inner times that begin at or after the spawn count from the conversation's start.
    const Trace trace =
        open({conversation(
                 "a", request(R"("t":0,"in":64,"out":1,"hash_ids":[1])") + "," +
                          R"({"t":10,"type":"subagent","agent_id":"x","status":"async_launched",)"
                          R"("requests":[)" +
                          request(R"("t":10.5,"in":64,"out":1,"hash_ids":[2])") + "]}")})
            .sound();
    EXPECT_EQ(trace.rows[1].at_ns, 10'500'000'000);
}

// Fixture 4: the derivative names partial blocks too, from id 0, a conversation a line. Equal ids
// of two conversations share nothing, in one file or in two.
TEST(Weka, ReadsDerivativesAndRefusesCountsOfNoRule) {
    const std::string one =
        conversation("a", request(R"("t":5,"in":418,"out":1,"hash_ids":[0,1,2,3,4,5,6])") + "," +
                              request(R"("t":7,"in":402,"out":1,"hash_ids":[0,1,2,3,4,5,7])"));
    const Trace trace = open({one, one}).sound();
    EXPECT_EQ(std::tuple(trace.tail_rule, trace.name_spaces), std::tuple(TailRule::ceil, 2U));
    EXPECT_EQ(trace.rows[0].at_ns, 0) << "every conversation starts at 0";
    EXPECT_EQ(trace.rows[1].at_ns, 0);
    EXPECT_NE(trace.rows[0].name_space, trace.rows[1].name_space);
    EXPECT_EQ(trace.rows_unsorted, 0U);
    // One conversation follows one rule; a count that follows neither names its request.
    const ReadTrace mixed =
        open({conversation("a", request(R"("t":0,"in":100,"out":1,"hash_ids":[1])") + "," +
                                    request(R"("t":1,"in":100,"out":1,"hash_ids":[1,2])"))});
    EXPECT_TRUE(says(mixed.first_error(), "follow no single rule: 1 requests"));
    const std::string wrong =
        conversation("a", request(R"("t":0,"in":100,"out":1,"hash_ids":[1,2,3])"));
    EXPECT_EQ(open({wrong}).errors.list[0].field, "requests[0].hash_ids");
    EXPECT_EQ(open({wrong}, true).sound().surplus_ids, 2U);
    // Without arrival times of its own, the format is refused with the way out, once.
    const ReadTrace got = read({with_agent, with_agent});
    EXPECT_EQ(got.errors.count, 1U);
    EXPECT_EQ(got.first_error(),
              "t.jsonl:1: has conversations, which have no arrival times; use --sessions closed to "
              "start each at time 0 with turns waiting for answers, or --sessions open to send "
              "turns by the recorded gaps");
    // A file over several lines is one conversation, too.
    const Trace other_trace = open({"{", R"("id": "a", "block_size": 64,)", R"("requests": [)",
                                    request(R"("t":0,"in":64,"out":1,"hash_ids":[1])"), "]", "}"})
                                  .sound();
    EXPECT_EQ(other_trace.rows.size(), 1U);
}

// Rows of a table have every member, mostly as nulls; sums of decimals are a little off.
TEST(Weka, TakesNullsAndRoundedTimesInOrder) {
    const Trace trace =
        open(
            {conversation(
                "a",
                R"({"t":0,"type":"n","in":65,"out":1,"hash_ids":[0],"requests":null,"agent_id":null,)"
                R"("subagent_type":null,"status":null,"api_time":null,"ttft":null},)"
                R"({"t":22.4000004,"type":"subagent","agent_id":"x","status":"completed","in":null,)"
                R"("hash_ids":null,"requests":[)" +
                    request(R"("t":22.4,"in":65,"out":1,"hash_ids":[7])") + "]}," +
                    R"({"t":30,"type":"subagent","agent_id":"y","requests":null},)" +
                    request(R"("t":31,"in":65,"out":1,"hash_ids":null)"))})
            .sound();
    ASSERT_EQ(trace.rows.size(), 3U);
    EXPECT_EQ(trace.rows[1].at_ns, 22'400'000'000) << "from the conversation's start";
    EXPECT_EQ(std::tuple(trace.unknown_keys, trace.rows[2].ids_count), std::tuple(0U, 0U));
    const ReadTrace got =
        open({conversation("a", request(R"("t":10,"in":65,"out":1,"hash_ids":[1])") + "," +
                                    R"({"t":9,"type":"subagent","requests":[]})")});
    ASSERT_EQ(got.errors.count, 1U);
    EXPECT_EQ(got.first_error(),
              "t.jsonl:1: requests[1].t \"9\" is before its conversation's first request; start a "
              "sub-agent when its conversation has started, or later");
}

// Conversations of kv-cache-tester under closed sessions: agents that were recorded in one line
// wait for their own answers, and their parents for them.

// A request that starts at t and takes so many seconds.
std::string request(int t, int seconds, const std::string& ids) {
    const auto blocks = 1 + std::count(ids.begin(), ids.end(), ',');
    return R"({"t":)" + std::to_string(t) + R"(,"type":"n","model":"m","in":)" +
           std::to_string(64 * blocks) + R"(,"out":500,"hash_ids":[)" + ids + R"(],"api_time":)" +
           std::to_string(seconds) + "}";
}

std::string conversation(const std::vector<std::string>& requests) {
    std::string all;
    for (const std::string& one : requests) {
        all += (all.empty() ? "" : ",") + one;
    }
    return R"({"id":"a","block_size":64,"hash_id_scope":"local","requests":[)" + all + "]}";
}

ReadTrace closed(const std::vector<std::string>& requests, FlatAgents agents = FlatAgents::chains) {
    ReadOptions options = closed_sessions();
    options.flat_agents = agents;
    return read({conversation(requests)}, options);
}

std::string sessions_of(const Trace& trace) {
    std::string sessions;
    for (const TraceRow& row : trace.rows) {
        sessions += trace.sessions[row.session] + "#" + std::to_string(row.turn) + " ";
    }
    return sessions;
}

// Two workers beside the main agent; the second one ends behind the main agent's next request.
const std::vector<std::string> fan_out = {
    request(0, 1, "1,2,3"),         request(2, 5, "1,2,50,51"),     request(3, 1, "1,2,60,61"),
    request(9, 1, "1,2,3,4,5"),     request(10, 4, "1,2,50,51,52"), request(12, 1, "1,2,3,4,5,6"),
    request(20, 1, "1,2,3,4,5,6,7")};

TEST(WekaAgents, WaitForTheirOwnAnswersInsideSubAgentsToo) {
    const Trace trace = closed(fan_out).sound();
    EXPECT_EQ(sessions_of(trace), "a#1 a::fa:000#1 a::fa:001#1 a#2 a::fa:000#2 a#3 a#4 ");
    EXPECT_EQ(edges_of(trace), "1:0+1 2:0+2 3:0+8 3:2+0 4:1+3 5:3+2 6:5+7 6:4+0");
    ASSERT_EQ(trace.remarks.size(), 1U);
    EXPECT_EQ(trace.remarks[0].count, 2U);
    // In line, a request that began before the one before had ended waits for its start.
    const ReadTrace got = closed(fan_out, FlatAgents::keep);
    EXPECT_EQ(got.trace.sessions, std::vector<std::string>{"a"});
    EXPECT_TRUE(got.trace.remarks.empty());
    EXPECT_EQ(edges_of(got.trace), "1:0+1 2:1>1 3:2+5 4:3+0 5:4>2 6:5+7");
    // By recorded instants nobody waits: all stay in one session.
    EXPECT_EQ(read({conversation(fan_out)}, ReadOptions{.sessions = Sessions::open})
                  .trace.sessions.size(),
              1U);
    // Those inside a sub-agent hang on its main chain; the parent waits for all that nobody joined.
    const std::string agent =
        R"({"t":2,"type":"subagent","agent_id":"x","status":"completed","requests":[)" +
        request(0, 1, "7,8") + "," + request(2, 5, "7,8,9") + "," + request(3, 9, "7,8,20") + "]}";
    const Trace other_trace =
        closed({request(0, 1, "1"), agent, request(13, 1, "1,2"), request(14, 1, "1,2,3")}).sound();
    EXPECT_EQ(sessions_of(other_trace), "a#1 a/x#1 a/x#2 a/x::fa:000#1 a#2 a#3 ");
    EXPECT_EQ(edges_of(other_trace), "1:0+1 2:1+1 3:2>1 4:0+12 5:4+0 5:2+0 5:3+0");
}

// A sub-agent's sub-agents are joined by it, or by nobody; one that sends nothing hands on its own.
TEST(WekaAgents, SpawnSubAgentsAndNeverWaitForLaterRows) {
    const auto agent = [](int t, const std::string& id, const std::string& status,
                          const std::string& requests) {
        return R"({"t":)" + std::to_string(t) + R"(,"type":"subagent","agent_id":")" + id +
               R"(","status":")" + status + R"(","requests":[)" + requests + "]}";
    };
    // x counts from its spawn at 2, z (inside y, which sends nothing) from its own at 4.
    const std::string z = agent(4, "z", "completed", request(0, 1, "30"));
    const std::string late = agent(3, "w", "async_launched", request(3, 50, "40"));
    const std::string x = agent(2, "x", "completed",
                                request(0, 1, "7") + "," + agent(2, "y", "completed", z) + "," +
                                    late + "," + request(9, 1, "7,8"));
    const Trace trace = closed({request(0, 1, "1"), x, request(20, 1, "1,2")}).sound();
    EXPECT_EQ(sessions_of(trace), "a#1 a/x#1 a/x/w#1 a/x/y/z#1 a/x#2 a#2 ");
    const auto start_s = [](const TraceRow& row) { return row.at_ns / 1'000'000'000; };
    EXPECT_EQ(members_of(trace.rows, start_s), (std::vector<std::int64_t>{0, 2, 5, 6, 11, 20}));
    EXPECT_EQ(edges_of(trace), "1:0+1 2:1+3 3:1+2 4:1+8 4:2+0 5:0+19 5:4+0");
    // A file that is not in the order of its times has no row that waits for a later one.
    const Trace other_trace =
        closed({request(9, 1, "1,2"), request(1, 1, "1,3"), request(5, 1, "1,2,4"),
                request(0, 30, "1,3,5"), request(2, 1, "1,2,4,6")})
            .sound();
    for (const Dependency& one : other_trace.dependencies) {
        EXPECT_LT(one.on, one.row);
    }
}

// ISB-1 bundles: the first cell of each conversation, its messages as the bundles' client sends.

std::string bundle(const std::string& adapter, const std::string& cells) {
    return R"({"schema_version":"0.1.0","adapter_id":"inferencex_)" + adapter + R"(","exports":[)" +
           cells + "]}";
}

/// A cell of a conversation with one turn for each of these lists of messages.
std::string cell(const std::string& trace, const std::string& session,
                 const std::vector<std::string>& turns) {
    std::string list;
    for (const std::string& messages : turns) {
        list += list.empty() ? "" : ",";
        list += R"({"messages":[)" + messages +
                R"(],"expected_output_tokens":8,"wait_before_ms":)" +
                (list.empty() ? "0" : "1500") + "}";
    }
    return R"({"trace_id":")" + trace +
           R"(","support_status":"supported","session":{"session_id":)" + session +
           R"(,"turns":[)" + list + "]}}";
}

const std::string hello = R"({"role":"user","content":"hi"})";

TEST(Isb1, ReadsSessions) {
    const Trace trace = read({bundle("multiturn", cell("t1", R"("s1")", {hello, hello}) + "," +
                                                      cell("t2", "null", {hello}))},
                             closed_sessions())
                            .sound();
    EXPECT_EQ(trace.format, "isb1");
    EXPECT_FALSE(trace.deltas);
    EXPECT_EQ(trace.unknown_keys, 0U);
    ASSERT_EQ(trace.rows.size(), 3U);
    EXPECT_EQ(trace.sessions, (std::vector<std::string>{"s1", "t2"}));
    EXPECT_EQ(trace.rows[2].at_ns, 1'500'000'000);
    EXPECT_EQ(trace.rows[2].output_length, 8U);
    EXPECT_EQ(trace.dependencies_of(trace.rows[2])[0].delay_ns, 1'500'000'000);
    EXPECT_EQ(trace.body_of(trace.rows[2]), R"({"messages":[)" + hello + "]}");
    EXPECT_EQ(trace.rows_laid_out, 1U);
    EXPECT_EQ(canonical_round_trip(trace), "");
}

// Offsets are recorded starts: what stands between two of them is the wait.
TEST(Isb1, ReadsEventsOfAConversationOnce) {
    const auto event = [](const std::string& ms) {
        return R"({"arrival_time_offset_ms":)" + ms + R"(,"input_messages":[)" + hello +
               R"(],"target_output_tokens":16})";
    };
    const Trace trace =
        read({bundle("trace_replay",
                     R"({"trace_id":"t1","trace_metadata":{"session_id":"s1"},"events":[)" +
                         event("5") + "," + event("30") + "," + event("20") + "]}")},
             closed_sessions())
            .sound();
    ASSERT_EQ(trace.rows.size(), 3U);
    EXPECT_EQ(std::tuple(trace.sessions[0], trace.rows[1].at_ns), std::tuple("s1", 25'000'000));
    EXPECT_EQ(trace.dependencies_of(trace.rows[1])[0].delay_ns, 25'000'000);
    EXPECT_EQ(trace.rows[2].at_ns, 25'000'000) << "time does not go back";
    EXPECT_EQ(trace.dependencies_of(trace.rows[2])[0].delay_ns, 0);
    EXPECT_EQ(std::tuple(trace.rows_laid_out, trace.rows[2].output_length), std::tuple(0U, 16U));
    // One cell a stack and GPU: the first is read, also where cells stand in lines of their own.
    const std::string one = cell("t1", R"("s1")", {hello});
    const std::string other = cell("t1", R"("s1")", {hello, hello});
    const Trace other_trace = read({bundle("multiturn", one + "," + one + "," + other),
                                    bundle("multiturn", one), bundle("multiturn", other)},
                                   closed_sessions())
                                  .sound();
    EXPECT_EQ(other_trace.rows.size(), 1U);
    ASSERT_EQ(other_trace.remarks.size(), 2U);
    EXPECT_EQ(other_trace.remarks[0].count, 2U);
    EXPECT_EQ(other_trace.remarks[1].count, 2U);
    EXPECT_TRUE(says(std::string(other_trace.remarks[1].many), "other versions"));
}

TEST(Isb1, SendsBlocksAsItsClientDoes) {
    const auto content = [](const std::string& message) {
        const ReadTrace got =
            read({bundle("multiturn", cell("t", R"("s")", {message}))}, closed_sessions());
        EXPECT_TRUE(got.usable) << got.first_error();
        std::string body(got.trace.body_of(got.trace.rows[0]));
        return body.substr(13, body.size() - 15);
    };
    const auto blocks = [&](const std::string& role, const std::string& list) {
        return content(R"({"role":")" + role + R"(","content_blocks":[)" + list + "]}");
    };
    EXPECT_EQ(blocks("assistant", R"({"type":"text","text":" a\n"})"),
              R"({"role":"assistant","content":"a"})");
    EXPECT_EQ(blocks("user", R"({"type":"code","text":"x=1"},{"text":"b"},{"type":"text"})"),
              R"({"role":"user","content":[{"type":"text","text":"[CODE]\nx=1"},)"
              R"({"type":"text","text":"b"}]})");
    EXPECT_EQ(blocks("tool", R"({"type":"log","text":"failed"})"),
              R"({"role":"user","content":[{"type":"text","text":"[TOOL RESULT]"},)"
              R"({"type":"text","text":"[LOG]\nfailed"}]})");
    EXPECT_EQ(blocks("retrieval", R"({"type":"text","text":""})"),
              R"({"role":"user","content":"[RETRIEVAL RESULT]"})");
    EXPECT_EQ(blocks("user", R"({"type":"document","text":"d","uri":"u"},)"
                             R"({"type":"document","asset_path":"p"},{"type":"table","text":"t"})"),
              R"({"role":"user","content":[{"type":"text","text":"[DOCUMENT: u]\nd"},)"
              R"({"type":"text","text":"[DOCUMENT: p]"},{"type":"text","text":"[TABLE]\nt"}]})");
    EXPECT_EQ(blocks("user", R"({"type":"image","uri":"http://i"})"),
              R"({"role":"user","content":[{"type":"image_url","image_url":{"url":"http://i"}}]})");
    EXPECT_EQ(blocks("user", R"({"type":"image"},{"type":"image","text":"cat"},{"type":"odd"})"),
              R"({"role":"user","content":[{"type":"text","text":"[IMAGE: image]"},)"
              R"({"type":"text","text":"[IMAGE: cat]"},{"type":"text","text":"[ODD]"}]})");
    EXPECT_EQ(content(R"({"role":"execution","content":"ok"})"),
              R"({"role":"user","content":"[EXECUTION RESULT]\nok"})");
    EXPECT_EQ(content(R"({"content":[{"type":"text","text":"a"}]})"),
              R"({"role":"user","content":"a"})");
    EXPECT_EQ(content(R"({"role":"tool","content":[{"text":" a "},{"type":"image_url"},{}]})"),
              R"({"role":"user","content":"[TOOL RESULT]\na\n\n[IMAGE: image]"})");
    EXPECT_EQ(content(R"({"role":"critic","content":"no"})"), R"({"role":"user","content":"no"})");
    EXPECT_EQ(content(R"({"role":"user"})"), R"({"role":"user","content":""})");
}

// What is not words is not sent as words, in silence.
TEST(Isb1, RefusesMessagesThatAreNone) {
    const auto of = [](const std::string& message) {
        return read({bundle("multiturn", cell("t", R"("s")", {message}))}, closed_sessions());
    };
    const auto refused = [&](const std::string& message, const std::string& field,
                             const std::string& value) {
        const ReadTrace got = of(message);
        ASSERT_EQ(got.errors.count, 1U) << message;
        EXPECT_EQ(got.errors.list[0].field, "exports[0].turns[0].messages[0]." + field);
        EXPECT_EQ(got.errors.list[0].value, value);
    };
    for (const std::string role : {"5", "null", "\"\"", "[]"}) {
        refused(R"({"role":)" + role + R"(,"content":"hi"})", "role", role);
    }
    for (const std::string content : {"1.5", "true", "{}"}) {
        refused(R"({"role":"user","content":)" + content + "}", "content", content);
    }
    refused(R"({"role":"user","content":[5]})", "content", "[5]");
    refused(R"({"content_blocks":[{"text":"a"},{"text":7}]})", "content_blocks[1].text", "7");
    refused(R"({"content_blocks":[{"type":7,"text":"a"}]})", "content_blocks[0].type", "7");
    for (const std::string none : {R"("content":null)", R"("content":"")", R"("role":"user")",
                                   R"("content_blocks":[{"type":"text"}])"}) {
        const Trace trace = of("{" + none + "}").sound();
        ASSERT_EQ(trace.remarks.size(), 1U) << none;
        EXPECT_TRUE(says(std::string(trace.remarks[0].one), "sent empty"));
    }
    EXPECT_TRUE(of(hello).trace.remarks.empty());
}

TEST(Isb1, RefusesWhatItCannotPlace) {
    const auto refused = [](const std::string& line, const std::string& field,
                            const std::string& what) {
        ReadOptions options = closed_sessions();
        options.format = "isb1";
        expect_refused(read({line}, options), field, what);
    };
    const std::string beside = R"({"trace_id":"t1","prefix_ref":"p1"})";
    const std::string within = R"({"trace_id":"t2","events":[{"input_messages":[{}]}]})";
    refused(bundle("trace_replay", beside), "prefix_ref", "isb1_to_kvcache_tester.py");
    refused(bundle("trace_replay", beside + "," + within), "prefix_ref", "cells also have events");
    refused(bundle("other", within), "adapter_id", "is not a supported kind of bundle");
    refused(R"({"exports":[]})", "adapter_id", "is missing");
    refused(bundle("multiturn", "5"), "exports", "is not a list of objects");
    refused(bundle("multiturn", R"({"session":{"turns":[{}]}})"), "exports[0].trace_id",
            "is missing, and so is session_id");
    refused(bundle("multiturn", R"({"trace_id":"t"})"), "exports[0].turns", "is missing");
    refused(bundle("trace_replay", R"({"trace_id":"t","events":[]})"), "exports[0].events",
            "is empty");
    refused(bundle("multiturn", R"({"trace_id":"t","session":{"turns":[{}]}})"),
            "exports[0].turns[0].messages", "is missing");
    refused(bundle("multiturn", cell("t", R"("s")", {R"({"content_blocks":[5]})"})),
            "exports[0].turns[0].messages[0].content_blocks", "is not a list of objects");
    EXPECT_TRUE(says(read({bundle("multiturn", cell("t", R"("s")", {hello}))}).first_error(),
                     "--sessions closed"));
}

// Runs of agents as TensorRT-LLM records them: counts of messages, forks, tools.

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
    const Trace trace =
        closed_events(
            {run({message("system", R"(,"tokens":20)"), message("user", R"(,"tokens":12)"),
                  answer(40, 9, R"(,"reasoning_tokens":4,"llm_duration_ms":2.5)"),
                  event("tool_call", R"(,"tool_name":"x","duration_ms":1.25)"),
                  event("drop_kv_cache", ""), event("cheer", ""), message("tool", R"(,"tokens":3)"),
                  answer(50, 0),
                  R"({"event_type":"message","branch_path":[],"role":"assistant"})"})})
            .sound();
    EXPECT_EQ(std::tuple(trace.format, trace.block_size), std::tuple("tensorrt-llm", 16U));
    EXPECT_EQ(trace.tail_rule, TailRule::ceil);
    EXPECT_EQ(trace.sessions, (std::vector<std::string>{"t"}));
    ASSERT_EQ(trace.rows.size(), 2U);
    EXPECT_EQ(trace.rows[0].input_length, 40U);
    EXPECT_EQ(trace.rows[0].output_length, 9U);
    EXPECT_EQ(trace.rows[1].at_ns, 3'750'000) << "behind the recorded answer and the tool";
    EXPECT_EQ(std::tuple(trace.rows[1].turn, trace.zero_outputs), std::tuple(2U, 1U));
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
TEST(TensorRt, ReadsOlderRunsAndToolsWithoutTimes) {
    const Trace trace =
        closed_events({run({message("user", R"(,"tokenize_count":10)"),
                            event("parallel_start",
                                  R"(,"num_branches":2,"children":[)" + answer(10, 5) + "," +
                                      event("tool_call", R"(,"duration_ms":7)") + "]"),
                            answer(20, 1)})})
            .sound();
    ASSERT_EQ(trace.rows.size(), 2U);
    ASSERT_EQ(trace.dependencies.size(), 1U);
    EXPECT_EQ(trace.dependencies[0].on, 0U);
    EXPECT_TRUE(trace.remarks.empty());
    // A tool that took no recorded time is no tool that took none.
    const Trace tools = closed_events({run({message("user", R"(,"tokenize_count":10)"),
                                            answer(10, 5), event("tool_call", ""), answer(20, 1)})})
                            .sound();
    ASSERT_EQ(tools.remarks.size(), 1U);
    EXPECT_EQ(tools.remarks[0].count, 1U);
    // Without a server's count a prompt is as long as its messages; without any, it is refused.
    const Trace other_trace =
        closed_events({run({message("user", R"(,"tokens":10)"),
                            message("assistant", R"(,"completion_tokens":5)"), answer(0, 2)})})
            .sound();
    EXPECT_EQ(other_trace.rows[0].input_length, 10U);
    EXPECT_EQ(other_trace.rows[1].input_length, 15U);
    EXPECT_EQ(other_trace.remarks[0].count, 2U);
    EXPECT_TRUE(says(closed_events({run({answer(0, 2)})}).first_error(),
                     "prompt_tokens \"0\" is not a whole"));
}

// System prompts of one id share, whatever run they are of; all else is of its run.
TEST(TensorRt, SharesSystemPromptsAndReadsARunOnce) {
    const auto one = [](const std::string& id, const std::string& system) {
        return run({message("system", R"(,"tokens":32,"system_prompt_id":")" + system + "\""),
                    message("user", R"(,"tokens":32)"), answer(64, 1)},
                   id);
    };
    const Trace trace = closed_events({one("a", "x"), one("b", "x"), one("c", "y")}).sound();
    const auto ids = [&](std::size_t row) { return trace.ids_of(trace.rows[row]); };
    EXPECT_EQ(trace.name_spaces, 1U);
    EXPECT_EQ(ids(0)[1], ids(1)[1]);
    EXPECT_NE(ids(0)[2], ids(1)[2]);
    EXPECT_NE(ids(0)[0], ids(2)[0]);
    // A folder holds each run twice, in short and in full.
    const std::string brief = run({message("user", R"(,"tokens":10)"), answer(10, 5)});
    const std::string full =
        run({message("user", R"(,"tokens":10,"content":"q")"), answer(10, 5, R"(,"content":"a")")});
    const Trace once = closed_events({full, brief}).sound();
    EXPECT_EQ(once.rows.size(), 1U);
    ASSERT_EQ(once.remarks.size(), 1U);
    EXPECT_EQ(once.unknown_keys, 0U);
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
