#include <gtest/gtest.h>

#include <string>

#include "cmd/mock/core.hpp"

namespace driftless::mock {
namespace {

// What is ready leaves before what is produced.
TEST(MockOutgoing, SendsWhatIsReadyFirst) {
    Outgoing outgoing;
    outgoing.ready() += "head ";
    EXPECT_TRUE(outgoing.is_waiting());
    std::string out;
    outgoing.begin(out) += "body";
    outgoing.finish(out);
    EXPECT_EQ(out, "head body");
    EXPECT_FALSE(outgoing.is_waiting());
}

// A slow answer leaves byte by byte up to the limit, and then as it comes.
TEST(MockOutgoing, SlowsTheFirstBytesDown) {
    Outgoing outgoing;
    outgoing.begin_answer(true);
    outgoing.ready() += std::string(slow_bytes + 5, 'x');
    for (std::uint32_t i = 0; i < slow_bytes; ++i) {
        std::string out;
        (void)outgoing.begin(out);
        outgoing.finish(out);
        ASSERT_EQ(out, "x") << i;
    }
    std::string out;
    outgoing.begin(out) += "y";
    outgoing.finish(out);
    EXPECT_EQ(out, "xxxxxy");
    EXPECT_FALSE(outgoing.is_waiting());
}

// The last answer is the one that reaches the limit; without a limit none is.
TEST(MockKeepAlive, KnowsTheLastAnswer) {
    CoreOptions options;
    KeepAlive keep_alive(options);
    keep_alive.open(Instant{0});
    EXPECT_FALSE(keep_alive.is_last());
    options.keep_alive_requests = 2;
    EXPECT_FALSE(keep_alive.is_last());
    keep_alive.count_answer();
    EXPECT_TRUE(keep_alive.is_last());
    keep_alive.open(Instant{0});
    EXPECT_FALSE(keep_alive.is_last());
}

// The time that a connection may stand begins with each answer's end, and ends with a request.
TEST(MockKeepAlive, CountsTheTimeBetweenRequests) {
    CoreOptions options;
    KeepAlive keep_alive(options);
    keep_alive.open(Instant{5});
    EXPECT_EQ(keep_alive.idle_ends(), never);
    options.keep_alive_timeout = seconds(2);
    keep_alive.begin_idle(Instant{5});
    EXPECT_EQ(keep_alive.idle_ends(), Instant{5} + seconds(2));
    keep_alive.end_idle();
    EXPECT_EQ(keep_alive.idle_ends(), never);
    Reply reply;
    keep_alive.announce(reply);
    EXPECT_EQ(reply.timeout_s, 2u);
    options.announce_keep_alive = false;
    Reply silent;
    keep_alive.announce(silent);
    EXPECT_EQ(silent.timeout_s, 0u);
}

}  // namespace
}  // namespace driftless::mock
