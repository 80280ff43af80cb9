// Conversations of kv-cache-tester under closed sessions: agents that were recorded in one line
// wait for their own answers, and their parents for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "proto/trace/formats.hpp"
#include "tests/unit/proto/trace/reading.hpp"

namespace driftless {
namespace {

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

using Edges = std::vector<std::tuple<std::uint32_t, std::uint32_t, bool, std::int64_t>>;

// Row, what it waits for, whether for its end, and the gap in seconds.
Edges edges_of(const Trace& trace) {
    Edges edges;
    for (const Dependency& one : trace.dependencies) {
        edges.emplace_back(one.row, one.on, one.trigger == Trigger::completion,
                           one.delay_ns / 1'000'000'000);
    }
    return edges;
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

TEST(WekaAgents, WaitForTheirOwnAnswers) {
    const ReadTrace got = closed(fan_out);
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(sessions_of(got.trace), "a#1 a::fa:000#1 a::fa:001#1 a#2 a::fa:000#2 a#3 a#4 ");
    EXPECT_EQ(edges_of(got.trace), (Edges{{1, 0, true, 1},
                                          {2, 0, true, 2},
                                          {3, 0, true, 8},
                                          {3, 2, true, 0},
                                          {4, 1, true, 3},
                                          {5, 3, true, 2},
                                          {6, 5, true, 7},
                                          {6, 4, true, 0}}));
    ASSERT_EQ(got.trace.remarks.size(), 1U);
    EXPECT_EQ(got.trace.remarks[0].count, 2U);
}

// In line, a request that began before the one before had ended waits for its start.
TEST(WekaAgents, MayStayInLine) {
    const ReadTrace got = closed(fan_out, FlatAgents::keep);
    EXPECT_EQ(got.trace.sessions, std::vector<std::string>{"a"});
    EXPECT_TRUE(got.trace.remarks.empty());
    EXPECT_EQ(edges_of(got.trace), (Edges{{1, 0, true, 1},
                                          {2, 1, false, 1},
                                          {3, 2, true, 5},
                                          {4, 3, true, 0},
                                          {5, 4, false, 2},
                                          {6, 5, true, 7}}));
}

// By recorded instants nobody waits: all stay in one session.
TEST(WekaAgents, AreApartWhereSessionsAreClosed) {
    ReadOptions options;
    options.sessions = Sessions::open;
    EXPECT_EQ(read({conversation(fan_out)}, options).trace.sessions.size(), 1U);
}

// Those inside a sub-agent hang on its main chain; the parent waits for all that nobody joined.
TEST(WekaAgents, AreFoundInsideSubAgents) {
    const std::string agent =
        R"({"t":2,"type":"subagent","agent_id":"x","status":"completed","requests":[)" +
        request(0, 1, "7,8") + "," + request(2, 5, "7,8,9") + "," + request(3, 9, "7,8,20") + "]}";
    const ReadTrace got =
        closed({request(0, 1, "1"), agent, request(13, 1, "1,2"), request(14, 1, "1,2,3")});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(sessions_of(got.trace), "a#1 a/x#1 a/x#2 a/x::fa:000#1 a#2 a#3 ");
    EXPECT_EQ(edges_of(got.trace), (Edges{{1, 0, true, 1},
                                          {2, 1, true, 1},
                                          {3, 2, false, 1},
                                          {4, 0, true, 12},
                                          {5, 4, true, 0},
                                          {5, 2, true, 0},
                                          {5, 3, true, 0}}));
}

// A sub-agent's sub-agents are joined by it, or by nobody; one that sends nothing hands on its own.
TEST(WekaAgents, SpawnSubAgentsOfTheirOwn) {
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
    const ReadTrace got = closed({request(0, 1, "1"), x, request(20, 1, "1,2")});
    ASSERT_TRUE(got.usable) << got.first_error();
    EXPECT_EQ(sessions_of(got.trace), "a#1 a/x#1 a/x/w#1 a/x/y/z#1 a/x#2 a#2 ");
    std::vector<std::int64_t> starts;
    for (const TraceRow& row : got.trace.rows) {
        starts.push_back(row.at_ns / 1'000'000'000);
    }
    EXPECT_EQ(starts, (std::vector<std::int64_t>{0, 2, 5, 6, 11, 20}));
    EXPECT_EQ(edges_of(got.trace), (Edges{{1, 0, true, 1},
                                          {2, 1, true, 3},
                                          {3, 1, true, 2},
                                          {4, 1, true, 8},
                                          {4, 2, true, 0},
                                          {5, 0, true, 19},
                                          {5, 4, true, 0}}));
}

// A file that is not in the order of its times has no row that waits for a later one.
TEST(WekaAgents, NeverWaitForLaterRows) {
    const ReadTrace got =
        closed({request(9, 1, "1,2"), request(1, 1, "1,3"), request(5, 1, "1,2,4"),
                request(0, 30, "1,3,5"), request(2, 1, "1,2,4,6")});
    ASSERT_TRUE(got.usable) << got.first_error();
    for (const Dependency& one : got.trace.dependencies) {
        EXPECT_LT(one.on, one.row);
    }
}

}  // namespace
}  // namespace driftless
