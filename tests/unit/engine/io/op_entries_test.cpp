// What the kernel is asked for by each kind of operation, and what the buffer of a receive with
// stamps holds.
#include "engine/io/op_entries.hpp"

#include <gtest/gtest.h>
#include <linux/errqueue.h>
#include <poll.h>

#include <cstring>
#include <string>
#include <vector>

#include "engine/io/kernel_stamps.hpp"

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

}  // namespace
}  // namespace driftless
