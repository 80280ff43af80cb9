// Slots and generations: a user_data leads to its operation as long as that is in flight, and a
// send that finds its socket full goes on until it has an answer.
#include "engine/io/op_slots.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <cerrno>
#include <map>
#include <vector>

#include "proto/core/hash.hpp"

namespace driftless {
namespace {

Op& send(Op& op) {
    op.spec.kind = OpKind::send;
    return op;
}

TEST(OpSlots, LeadToTheOperationWhileItIsInFlight) {
    OpSlots slots;
    slots.open(2);
    Op first;
    Op second;
    EXPECT_EQ(slots.user_data_of(first), OpSlots::nobody);
    slots.take(first);
    slots.take(second);
    EXPECT_EQ(slots.in_flight(), 2U);
    EXPECT_TRUE(first.in_flight());
    const std::uint64_t before = slots.user_data_of(first);
    EXPECT_EQ(&slots.op_of(before), &first);
    EXPECT_EQ(&slots.op_of(slots.user_data_of(second)), &second);
    slots.free(first);
    EXPECT_FALSE(first.in_flight());
    EXPECT_EQ(slots.user_data_of(first), OpSlots::nobody);
    slots.take(first);
    EXPECT_NE(slots.user_data_of(first), before) << "the same slot, another generation";
    EXPECT_EQ(slots.find(before), nullptr);
    EXPECT_FALSE(slots.is_cancelled(first));
    slots.note_cancel(first);
    EXPECT_TRUE(slots.is_cancelled(first));
    slots.note_quiet(first, Instant{7});
    slots.note_quiet(first, Instant{9});
    EXPECT_EQ(slots.quiet_since(first), Instant{7});
    slots.free(first);
    slots.take(first);
    EXPECT_FALSE(slots.is_cancelled(first)) << "that was the operation before";
    EXPECT_EQ(slots.quiet_since(first), never);
    slots.free(first);
    slots.free(second);
    EXPECT_EQ(slots.in_flight(), 0U);
}

// Whatever order they come and go in: no two in flight share a user_data, none is 0 or `nobody`,
// and none that was given away comes again.
TEST(OpSlots, NeverGiveAUserDataTwice) {
    constexpr std::size_t ops_max = 8;
    OpSlots slots;
    slots.open(ops_max);
    Op ops[ops_max];
    std::map<std::uint64_t, const Op*> given;
    Random random(3);
    for (int step = 0; step < 10'000; ++step) {
        Op& op = ops[random.below(ops_max)];
        if (op.in_flight()) {
            EXPECT_EQ(&slots.op_of(slots.user_data_of(op)), &op);
            slots.free(op);
            continue;
        }
        slots.take(op);
        const std::uint64_t user_data = slots.user_data_of(op);
        ASSERT_NE(user_data, 0U);
        ASSERT_NE(user_data, OpSlots::nobody);
        ASSERT_TRUE(given.emplace(user_data, &op).second) << user_data;
    }
    for (Op& op : ops) {
        if (op.in_flight()) {
            slots.free(op);
        }
    }
}

TEST(OpSlots, BeginGenerationsAtOneAgain) {
    EXPECT_EQ(OpSlots::generation_after(1), 2U);
    EXPECT_EQ(OpSlots::generation_after(UINT32_MAX - 1), UINT32_MAX);
    EXPECT_EQ(OpSlots::generation_after(UINT32_MAX), 1U);
}

// The two results of a full socket, one after the other: it waits, then it is tried again.
TEST(OpSlots, SendsThatFindNoRoomWaitForIt) {
    OpSlots slots;
    slots.open(1);
    Op op;
    slots.take(send(op));
    EXPECT_FALSE(slots.waits_for_room(op));
    EXPECT_TRUE(slots.send_goes_on(op, -EAGAIN, microseconds(5)));
    EXPECT_TRUE(slots.waits_for_room(op));
    EXPECT_EQ(slots.behind(op).ns, 0) << "it had no room";
    EXPECT_TRUE(slots.send_goes_on(op, POLLOUT, microseconds(5)));
    EXPECT_FALSE(slots.waits_for_room(op));
    EXPECT_EQ(slots.behind(op).ns, 5'000) << "it had room before we saw it";
    EXPECT_TRUE(slots.send_goes_on(op, -EAGAIN, microseconds(7)));
    EXPECT_TRUE(slots.send_goes_on(op, POLLOUT, microseconds(7)));
    EXPECT_EQ(slots.behind(op).ns, 12'000);
    EXPECT_FALSE(slots.send_goes_on(op, 100, microseconds(9)));
    EXPECT_EQ(slots.behind(op).ns, 12'000);
    slots.free(op);
    slots.take(op);
    EXPECT_EQ(slots.behind(op).ns, 0) << "of the send before";
    slots.free(op);
}

// What ends a send, and what does not: an interruption is tried again, an error of the socket that
// ended the wait is reported by the next try, a cancel ends the wait itself.
TEST(OpSlots, SendsGoOnUntilTheyHaveAnAnswer) {
    struct Case {
        bool waits;
        std::int32_t result;
        bool goes_on;
    };
    for (const Case& one :
         {Case{false, 1, false}, Case{false, 0, false}, Case{false, -EPIPE, false},
          Case{false, -EINTR, true}, Case{false, -ECANCELED, false}, Case{true, POLLERR, true},
          Case{true, -EBADF, true}, Case{true, -EINTR, true}, Case{true, -ECANCELED, false}}) {
        OpSlots slots;
        slots.open(1);
        Op op;
        slots.take(send(op));
        if (one.waits) {
            EXPECT_TRUE(slots.send_goes_on(op, -EAGAIN, Duration{0}));
        }
        EXPECT_EQ(slots.send_goes_on(op, one.result, Duration{0}), one.goes_on)
            << one.waits << " " << one.result;
        EXPECT_FALSE(slots.waits_for_room(op));
        slots.free(op);
    }
}

}  // namespace
}  // namespace driftless
