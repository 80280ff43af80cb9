// What the kernel is asked for by each kind of operation, and what the buffer of a receive with
// stamps holds.

#include <gtest/gtest.h>
#include <linux/errqueue.h>
#include <poll.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "engine/io/driver.hpp"
#include "engine/io/io_ring.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

namespace {

io_uring_sqe entry_of(const OpSpec& spec, std::uint64_t target = 0) {
    static OpEntries entries;
    io_uring_sqe entry;
    std::memset(&entry, 0xFF, sizeof(entry));  // as an earlier entry has left it
    entries.fill(entry, spec, target);
    return entry;
}

// A send never waits in the kernel, and never raises SIGPIPE.
TEST(OpEntries, SendsTakeWhatThereIsRoomFor) {
    const std::string bytes = "GET / HTTP/1.1\r\n";
    for (const bool more : {false, true}) {
        const io_uring_sqe entry = entry_of(
            {.kind = OpKind::send, .socket = Socket{7}, .bytes = bytes, .more_follows = more});
        EXPECT_EQ(entry.opcode, IORING_OP_SEND);
        EXPECT_EQ(entry.fd, 7);
        EXPECT_EQ(entry.addr, reinterpret_cast<std::uint64_t>(bytes.data()));
        EXPECT_EQ(entry.len, bytes.size());
        EXPECT_EQ(entry.msg_flags,
                  static_cast<unsigned>(MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0)));
    }
    io_uring_sqe entry;
    OpEntries::fill_wait_for_room(entry, Socket{7});
    EXPECT_EQ(entry.opcode, IORING_OP_POLL_ADD);
    EXPECT_EQ(entry.fd, 7);
    EXPECT_EQ(entry.poll32_events, static_cast<unsigned>(POLLOUT));
}

// Receives are multishot and take their buffers from the group; those with stamps come as messages.
TEST(OpEntries, ReceivesTakeBuffersOfTheGroup) {
    for (const bool stamps : {false, true}) {
        const io_uring_sqe entry =
            entry_of({.kind = OpKind::receive, .socket = Socket{7}, .kernel_stamps = stamps});
        EXPECT_EQ(entry.opcode, stamps ? IORING_OP_RECVMSG : IORING_OP_RECV);
        EXPECT_EQ(entry.fd, 7);
        EXPECT_NE(entry.ioprio & IORING_RECV_MULTISHOT, 0);
        EXPECT_NE(entry.flags & IOSQE_BUFFER_SELECT, 0);
        EXPECT_EQ(entry.buf_group, OpEntries::buffer_group);
        if (stamps) {
            const auto& message = *reinterpret_cast<const msghdr*>(entry.addr);
            EXPECT_EQ(message.msg_controllen, receive_control_bytes);
            EXPECT_EQ(message.msg_namelen, 0U);
        }
    }
}

TEST(OpEntries, OthersNameWhatTheyAreAbout) {
    const Address address = resolve("127.0.0.1", 80).value().front();
    const io_uring_sqe connect =
        entry_of({.kind = OpKind::connect, .socket = Socket{7}, .address = &address});
    EXPECT_EQ(connect.opcode, IORING_OP_CONNECT);
    EXPECT_EQ(connect.addr, reinterpret_cast<std::uint64_t>(address.raw()));
    EXPECT_EQ(connect.off, address.length);

    const io_uring_sqe accept = entry_of({.kind = OpKind::accept, .socket = Socket{7}});
    EXPECT_EQ(accept.opcode, IORING_OP_ACCEPT);
    EXPECT_NE(accept.ioprio & IORING_ACCEPT_MULTISHOT, 0);
    EXPECT_EQ(accept.accept_flags, static_cast<unsigned>(SOCK_CLOEXEC));

    Op target;
    const io_uring_sqe cancel = entry_of({.kind = OpKind::cancel, .target = &target}, 0x1234);
    EXPECT_EQ(cancel.opcode, IORING_OP_ASYNC_CANCEL);
    EXPECT_EQ(cancel.addr, 0x1234U);
}

/// A buffer as the kernel fills it: a header, the control message, the payload.
class Buffer {
  public:
    Buffer(std::int64_t stamp_ns, const std::string& payload) {
        io_uring_recvmsg_out out{};
        cmsghdr control{};
        scm_timestamping stamps{};
        control.cmsg_level = SOL_SOCKET;
        control.cmsg_type = SO_TIMESTAMPING;
        control.cmsg_len = CMSG_LEN(sizeof(stamps));
        stamps.ts[0].tv_sec = stamp_ns / 1'000'000'000;
        stamps.ts[0].tv_nsec = stamp_ns % 1'000'000'000;
        out.controllen = stamp_ns == 0 ? 0 : static_cast<std::uint32_t>(control.cmsg_len);
        out.payloadlen = static_cast<std::uint32_t>(payload.size());
        bytes_.resize(sizeof(out) + receive_control_bytes);
        std::memcpy(bytes_.data(), &out, sizeof(out));
        std::memcpy(bytes_.data() + sizeof(out), &control, sizeof(control));
        std::memcpy(bytes_.data() + sizeof(out) + CMSG_LEN(0), &stamps, sizeof(stamps));
        bytes_.insert(bytes_.end(), payload.begin(), payload.end());
    }
    std::string_view filled() const { return {bytes_.data(), bytes_.size()}; }

  private:
    std::vector<char> bytes_;
};

TEST(OpEntries, BuffersOfReceivesWithStampsHoldBoth) {
    const Buffer stamped(1'700'000'000'123'456'789, "data: {}\n\n");
    EXPECT_EQ(read_stamped(stamped.filled()).bytes, "data: {}\n\n");
    EXPECT_EQ(read_stamped(stamped.filled()).realtime_ns, 1'700'000'000'123'456'789);

    const Buffer plain(0, "x");
    EXPECT_EQ(read_stamped(plain.filled()).bytes, "x");
    EXPECT_EQ(read_stamped(plain.filled()).realtime_ns, 0) << "the kernel gave no stamp";

    const Buffer end(1, "");
    EXPECT_TRUE(read_stamped(end.filled()).bytes.empty()) << "the end of a stream";
}

// Slots and generations: a user_data leads to its operation as long as that is in flight, and a
// send that finds its socket full goes on until it has an answer.

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
