// What the end of a connection means for the exchange on it.

#include "engine/replay/read_answer.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

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
    const std::string request(100, 'x');
    lane.exchange.bytes = request;
    lane.exchange.accepted = 100 - unsent;
    lane.exchange.send_failed = send_errno != 0;
    lane.exchange.sys_errno = send_errno;
    Completion done{};
    done.result = result;
    read_answer(lane, done, ring, counts, {});
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

// How long the bytes of one read may have waited, by the record: fired at 100 us, read at 1,000 us.
std::int64_t waited_us(std::int64_t unread_since_us, std::int64_t kernel_us,
                       const HostSleep& sleep = {}) {
    EventRing ring(1 << 16, 4);
    ReceiveCounts counts;
    Lane lane;
    lane.state = LaneState::busy;
    lane.exchange.limits = {100, 100'000};
    lane.exchange.fired = Instant{100'000};
    Completion done{};
    done.bytes = "HTTP/1.1 200 OK\r\n";
    done.result = static_cast<std::int32_t>(done.bytes.size());
    done.stamp = Instant{1'000'000};
    done.unread_since = Instant{unread_since_us * 1000};
    done.kernel_ns = kernel_us * 1000;
    read_answer(lane, done, ring, counts, sleep);
    EXPECT_FALSE(lane.exchange.over);
    EXPECT_EQ(counts.delay_max_ns, lane.exchange.waited.ns);
    return lane.exchange.waited.ns / 1000;
}

TEST(AnswerWait, CountsFromTheLastLookThatFoundNothing) {
    EXPECT_EQ(waited_us(400, 0), 600);
    EXPECT_EQ(waited_us(400, 990), 600);  // the stamp is that of the last packet only
}

TEST(AnswerWait, CountsFromTheKernelsStampWhereTheKernelWasLateItself) {
    EXPECT_EQ(waited_us(400, 300), 700);
}

// What was not read when the host slept has waited for all of the sleep, whatever came later says.
TEST(AnswerWait, CountsASleepOfTheHost) {
    const HostSleep sleep{Instant{500'000}, milliseconds(7)};
    EXPECT_EQ(waited_us(400, 0, sleep), 7'600);
    EXPECT_EQ(waited_us(400, 300, sleep), 7'600);
    EXPECT_EQ(waited_us(501, 0, sleep), 499);
}

TEST(AnswerWait, NothingCameBeforeTheRequestLeft) {
    EXPECT_EQ(waited_us(50, 0), 900);
}

// An end that was seen late is a late stamp, too: a server may have given up on a client that
// stood.
TEST(AnswerWait, HoldsForAnEnd) {
    EventRing ring(1 << 16, 4);
    ReceiveCounts counts;
    Lane lane;
    lane.state = LaneState::busy;
    lane.exchange.fired = Instant{100'000};
    Completion done{};
    done.result = -ECONNRESET;
    done.stamp = Instant{1'000'000};
    done.unread_since = Instant{200'000};
    read_answer(lane, done, ring, counts, {});
    EXPECT_TRUE(lane.exchange.heard);
    EXPECT_EQ(lane.exchange.waited.ns, 800'000);
}

}  // namespace
}  // namespace driftless
