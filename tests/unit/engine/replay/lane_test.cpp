// A kernel stamp against what must be true of it: inside the bounds it stands, a little outside it
// is moved in, else it is unknown. Bytes of a connection are counted modulo 2^32.

#include "engine/replay/lane.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace driftless {

namespace {

TEST(KernelStamp, StandsInsideItsBounds) {
    EXPECT_EQ(believable_stamp_ns(1'000'000, {1'000'000}, {2'000'000}), 1'000'000);
    EXPECT_EQ(believable_stamp_ns(1'500'000, {1'000'000}, {2'000'000}), 1'500'000);
    EXPECT_EQ(believable_stamp_ns(2'000'000, {1'000'000}, {2'000'000}), 2'000'000);
}

TEST(KernelStamp, IsMovedInsideByTheToleranceAndNoFurther) {
    EXPECT_EQ(believable_stamp_ns(998'000, {1'000'000}, {2'000'000}), 1'000'000);
    EXPECT_EQ(believable_stamp_ns(997'999, {1'000'000}, {2'000'000}), 0);
    EXPECT_EQ(believable_stamp_ns(2'002'000, {1'000'000}, {2'000'000}), 2'000'000);
    EXPECT_EQ(believable_stamp_ns(2'002'001, {1'000'000}, {2'000'000}), 0);
}

TEST(KernelStamp, NoneStaysNone) {
    EXPECT_EQ(believable_stamp_ns(0, {-10}, {10}), 0);
}

// A connection that carries more than 4 GiB: the numbers wrap, inside a request and between two.
TEST(KernelStamp, RequestsAreToldApartAcrossTheWrap) {
    const std::uint32_t first = 0xFFFFFF00u;  // the last 256 bytes before the wrap
    EXPECT_TRUE(ends_in_request(0xFFFFFF00u, first, 1000));
    EXPECT_TRUE(ends_in_request(0xFFFFFFFFu, first, 1000));
    EXPECT_TRUE(ends_in_request(0, first, 1000));
    EXPECT_TRUE(ends_in_request(743, first, 1000));
    EXPECT_FALSE(ends_in_request(744, first, 1000));          // of the next request
    EXPECT_FALSE(ends_in_request(0xFFFFFEFFu, first, 1000));  // of the one before
    EXPECT_TRUE(ends_in_request(744, 744, 10));
    EXPECT_FALSE(ends_in_request(743, 744, 10));
}

// What the end of a connection means for the exchange on it.

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

// Counts as the kernel gives them for a connection, and what they say of one exchange.

TEST(ResendMeter, CountsWhatIsOfOneExchange) {
    ResendMeter meter({2, 2});
    ResendMeter::Spent spent = meter.take({2, 2});
    EXPECT_EQ(spent.segments, 0u);
    EXPECT_FALSE(spent.lost);
    spent = meter.take({4, 4});  // in vain, and the server said so in time
    EXPECT_EQ(spent.segments, 2u);
    EXPECT_FALSE(spent.lost);
    spent = meter.take({6, 5});
    EXPECT_EQ(spent.segments, 2u);
    EXPECT_TRUE(spent.lost);
}

// The word of an exchange that is over hid the loss of the next one: it came before that was sent,
// or in the middle of it.
TEST(ResendMeter, GivesALateWordToNoLaterExchange) {
    ResendMeter meter({0, 0});
    EXPECT_TRUE(meter.take({1, 0}).lost);  // the word is still under way
    const ResendMeter::Spent next = meter.take({2, 1});
    EXPECT_EQ(next.segments, 1u);
    EXPECT_TRUE(next.lost);
    EXPECT_FALSE(meter.take({2, 1}).lost);  // nothing was sent again
    EXPECT_FALSE(meter.take({3, 3}).lost);  // both words came, and that of its own
}

// A loss is owed its word for ever.
TEST(ResendMeter, ExcusesNothingBehindALoss) {
    ResendMeter meter({0, 0});
    EXPECT_TRUE(meter.take({1, 0}).lost);
    EXPECT_TRUE(meter.take({2, 1}).lost);
    EXPECT_TRUE(meter.take({3, 2}).lost);
}

// Copies that the network makes are said to be there twice, though nothing was sent again.
TEST(ResendMeter, SeesCopiesOfTheNetwork) {
    ResendMeter meter({0, 0});
    EXPECT_FALSE(meter.take({1, 1}).copied);
    const ResendMeter::Spent spent = meter.take({2, 3});
    EXPECT_TRUE(spent.copied);
    EXPECT_EQ(spent.segments, 1u);
    EXPECT_FALSE(spent.lost);  // by that word, which may be a copy's
}

}  // namespace

}  // namespace driftless
