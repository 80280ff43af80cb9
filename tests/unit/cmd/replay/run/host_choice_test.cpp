// What bounds the connections of a run is told with the number that is needed, at the limit and
// beside it.
#include "cmd/replay/run/host_choice.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace driftless {
namespace {

TEST(ConnectionRoom, FilesBound) {
    const ConnectionRoom room{1064, 0};  // 64 are kept for files, rings and streams
    EXPECT_EQ(connections_most(room), 1000u);
    EXPECT_EQ(why_too_many(999, "x", room), "");
    EXPECT_EQ(why_too_many(1000, "x", room), "");
    const std::string why = why_too_many(1001, "1001 rows are due", room);
    EXPECT_TRUE(why.starts_with("1001 rows are due at once")) << why;
    EXPECT_NE(why.find("limit of 1064 open files"), std::string::npos) << why;
    EXPECT_NE(why.find("ulimit -n 1065"), std::string::npos) << why;
    EXPECT_NE(why.find("--max-inflight 1000"), std::string::npos) << why;
}

TEST(ConnectionRoom, PortsBound) {
    const ConnectionRoom room{1 << 20, 28'232};
    EXPECT_EQ(connections_most(room), 28'232u);
    EXPECT_EQ(why_too_many(28'232, "x", room), "");
    const std::string why = why_too_many(28'233, "x", room);
    EXPECT_NE(why.find("28232 ports"), std::string::npos) << why;
    EXPECT_NE(why.find("ip_local_port_range"), std::string::npos) << why;
}

TEST(ConnectionRoom, NeverNone) {
    EXPECT_EQ(connections_most({10, 0}), 1u);
    EXPECT_EQ(connections_most({1 << 20, 0}), 65'536u);
    EXPECT_NE(why_too_many(65'537, "x", {1 << 20, 0}).find("65536"), std::string::npos);
    EXPECT_TRUE(why_too_many(9, "x", {files_reserved + 1, 0, 2})
                    .ends_with("or use --engines 1 and hold rows back with --max-inflight 1"));
}

Plan due_at(const std::vector<std::int64_t>& instants) {
    Plan plan;
    for (const std::int64_t due_ns : instants) {
        plan.rows.push_back({due_ns});
    }
    return plan;
}

TEST(OpenRequests, AreThePlansRowsOrThoseOfAllUsers) {
    UserRules users;
    EXPECT_EQ(requests_most(due_at({0, 1, 2}), users), 3u);
    users.users = 7;
    EXPECT_EQ(requests_most(due_at({0, 1, 2}), users), 3u);
    users.recycle = true;
    EXPECT_EQ(requests_most(due_at({0, 1, 2}), users), 21u);
}

TEST(ReceiveBuffers, AreEightAConnection) {
    EXPECT_EQ(receive_buffers_for(1), receive_buffers_min);
    EXPECT_EQ(receive_buffers_for(32), 256u);
    EXPECT_EQ(receive_buffers_for(33), 512u);
    EXPECT_EQ(receive_buffers_for(511), receive_buffers_max);
    EXPECT_EQ(receive_buffers_for(65'536), receive_buffers_max);
    HostFlags flags;
    EXPECT_EQ(ring_options(flags, 33).buffers, 512u);
    flags.receive_buffers = 4;
    EXPECT_EQ(ring_options(flags, 33).buffers, 4u);
}

TEST(FreshPorts, AStretchLeavesOutItsEnd) {
    EXPECT_EQ(rows_within(due_at({}), 10), 0u);
    EXPECT_EQ(rows_within(due_at({0, 0, 0}), 10), 3u);
    EXPECT_EQ(rows_within(due_at({0, 9}), 10), 2u);
    EXPECT_EQ(rows_within(due_at({0, 10}), 10), 1u);
    EXPECT_EQ(rows_within(due_at({0, 5, 9, 14, 14, 30}), 10), 4u);  // from 5 to 14
}

TEST(FreshPorts, AreCountedOverTheTimeThatTheyAreKept) {
    EXPECT_EQ(ports_run_out(28'232, port_kept_ns, 28'232), "");
    const std::string text = ports_run_out(28'233, port_kept_ns, 28'232);
    EXPECT_NE(text.find("28233 rows are due within 60 s"), std::string::npos) << text;
    EXPECT_NE(text.find("the kernel has 28232"), std::string::npos) << text;
    EXPECT_NE(text.find("tcp_tw_reuse to 1"), std::string::npos) << text;
    EXPECT_EQ(ports_run_out(9, port_reused_ns, 8).find("tcp_tw_reuse"), std::string::npos);
}

}  // namespace
}  // namespace driftless
