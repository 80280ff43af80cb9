// What the end of a connection means for the exchange on it.

#include "engine/replay/answer.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace driftless {
namespace {

struct Ending {
    Outcome outcome;
    std::int32_t sys_errno;
    bool operator==(const Ending&) const = default;
};

// The receive ends with `result` while `unsent` bytes of the request are still ours.
Ending end_of(std::int32_t result, std::size_t unsent, std::int32_t send_errno) {
    EventRing ring(1 << 16, 4);
    ReceiveCounts counts;
    Lane lane;
    lane.state = LaneState::busy;
    lane.exchange.request_bytes = 100;
    lane.exchange.accepted = 100 - unsent;
    lane.exchange.send_failed = send_errno != 0;
    lane.exchange.sys_errno = send_errno;
    Completion done{};
    done.result = result;
    read_answer(lane, done, ring, counts);
    EXPECT_TRUE(lane.exchange.over);
    EXPECT_TRUE(lane.broken);
    return {lane.exchange.outcome, lane.exchange.sys_errno};
}

TEST(AnswerEnd, ResetWhileSending) {
    EXPECT_EQ(end_of(-ECONNRESET, 10, 0), (Ending{Outcome::send_failed, ECONNRESET}));
    EXPECT_EQ(end_of(-ECONNRESET, 0, 0), (Ending{Outcome::truncated, ECONNRESET}));
    EXPECT_EQ(end_of(0, 10, 0), (Ending{Outcome::send_failed, 0}));
}

// The kernel gives a socket's error once: the failed send had it, the receive sees an end.
TEST(AnswerEnd, TheErrorOfTheSendIsKept) {
    EXPECT_EQ(end_of(0, 10, EPIPE), (Ending{Outcome::send_failed, EPIPE}));
    EXPECT_EQ(end_of(-ECONNRESET, 10, EPIPE), (Ending{Outcome::send_failed, ECONNRESET}));
}

}  // namespace
}  // namespace driftless
