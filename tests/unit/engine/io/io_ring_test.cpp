// The ring, the slots of operations, and their stamps.

#include "engine/io/io_ring.hpp"

#include <fcntl.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "engine/io/driver.hpp"
#include "proto/core/hash.hpp"
#include "tests/test.hpp"

namespace driftless {

// The clocks of this host: what is read now lies between two looks, also by way of the other clock.

namespace {

std::int64_t realtime_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

TEST(HostClocks, NeverGoBackAndTellStampsOfTheKernel) {
    HostClocks clocks;
    EXPECT_EQ(clocks.to_monotonic_ns(0), 0) << "no stamp";
    // Somebody may take the CPU, or set the clock, between the looks: once it does not.
    bool between = false;
    for (int tries = 0; tries < 100 && !between; ++tries) {
        const std::int64_t error_ns = clocks.sample().error_ns;
        const std::int64_t before_ns = HostClocks::now().ns;
        const std::int64_t told_ns = clocks.to_monotonic_ns(realtime_ns());
        const std::int64_t after_ns = HostClocks::now().ns;
        between = told_ns >= before_ns - error_ns && told_ns <= after_ns + error_ns;
    }
    EXPECT_TRUE(between);
    HostClocks steady;
    Instant now = HostClocks::now();
    std::int64_t suspended_ns = steady.suspended_ns();
    EXPECT_GE(suspended_ns, 0);
    for (int i = 0; i < 10'000; ++i) {
        const Instant later = HostClocks::now();
        ASSERT_GE(later.ns, now.ns);
        now = later;
        const std::int64_t more_ns = steady.suspended_ns();
        ASSERT_GE(more_ns, suspended_ns);
        suspended_ns = more_ns;
    }
}

// A ring by itself: entries go in when they are asked to, completions become visible only when the
// ring is entered for them, and a wait ends at its instant.

class AnIoRing : public testing::Test {
  protected:
    void SetUp() override {
        const Result<void> opened = ring_.open(4, 16);
        if (!opened) {
            GTEST_SKIP() << "io_uring is not available: errno " << opened.error().sys_errno;
        }
    }
    void prepare_nop(std::uint64_t user_data) {
        io_uring_sqe& entry = ring_.next_entry();
        io_uring_prep_nop(&entry);
        entry.user_data = user_data;
    }

    IoRing ring_;
};

TEST_F(AnIoRing, GivesCompletionsInOrder) {
    const std::uint32_t begin = ring_.head();
    prepare_nop(5);
    prepare_nop(6);
    EXPECT_TRUE(ring_.has_entries());
    EXPECT_EQ(ring_.publish(), 2U) << "published, not taken";
    EXPECT_EQ(ring_.enters(), 0U);
    EXPECT_TRUE(ring_.flush());
    EXPECT_EQ(ring_.enters(), 1U);
    EXPECT_FALSE(ring_.has_entries());
    ASSERT_GE(ring_.enter(2, IORING_ENTER_GETEVENTS), 0);
    ASSERT_TRUE(ring_.has_completions());
    EXPECT_EQ(ring_.tail() - begin, 2U);
    EXPECT_EQ(ring_.take().user_data, 5U);
    EXPECT_EQ(ring_.head() - begin, 1U);
    EXPECT_EQ(ring_.take().user_data, 6U);
    EXPECT_FALSE(ring_.has_completions() || ring_.kernel_has_work() || ring_.overflowed());
}

// With nothing to hand over there is no system call.
TEST_F(AnIoRing, EntersForEntriesAlone) {
    EXPECT_TRUE(ring_.flush());
    EXPECT_EQ(ring_.enters(), 0U);
    // More entries than the ring has places: those before are handed over first.
    for (std::uint64_t i = 0; i < 10; ++i) {
        prepare_nop(i);
    }
    EXPECT_EQ(ring_.enters(), 2U);
    ASSERT_GE(ring_.enter(10, IORING_ENTER_GETEVENTS), 0);
    for (std::uint64_t i = 0; i < 10; ++i) {
        ASSERT_TRUE(ring_.has_completions());
        EXPECT_EQ(ring_.take().user_data, i);
    }
}

// Also one that has passed already: it ends at once.
TEST_F(AnIoRing, WaitsUntilAnInstant) {
    const Instant begun = HostClocks::now();
    const Instant until = begun + milliseconds(3);
    EXPECT_EQ(ring_.enter(1, IORING_ENTER_GETEVENTS, &until), -ETIME);
    EXPECT_GE(HostClocks::now().ns, until.ns);
    EXPECT_EQ(ring_.enter(1, IORING_ENTER_GETEVENTS, &begun), -ETIME);
}

TEST(IoRing, ClosesOnce) {
    IoRing ring;
    EXPECT_FALSE(ring.is_open());
    const Result<void> opened = ring.open(4, 16);
    if (!opened) {
        GTEST_SKIP() << "io_uring is not available: errno " << opened.error().sys_errno;
    }
    EXPECT_TRUE(ring.is_open());
    ring.close();
    EXPECT_FALSE(ring.is_open());
    ring.close();
}

// What the kernel is asked for by each kind of operation, and what the buffer of a receive with
// stamps holds.

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
        EXPECT_EQ(std::tuple(entry.opcode, entry.fd, entry.addr),
                  std::tuple(IORING_OP_SEND, 7, reinterpret_cast<std::uint64_t>(bytes.data())));
        EXPECT_EQ(entry.len, bytes.size());
        EXPECT_EQ(entry.msg_flags,
                  static_cast<unsigned>(MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0)));
    }
    io_uring_sqe entry;
    OpEntries::fill_wait_for_room(entry, Socket{7});
    EXPECT_EQ(std::tuple(entry.opcode, entry.fd, entry.poll32_events),
              std::tuple(IORING_OP_POLL_ADD, 7, static_cast<unsigned>(POLLOUT)));
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
    EXPECT_EQ(std::tuple(cancel.opcode, cancel.addr), std::tuple(IORING_OP_ASYNC_CANCEL, 0x1234U));
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

    EXPECT_TRUE(read_stamped(Buffer(1, "").filled()).bytes.empty()) << "the end of a stream";
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
    const auto at = [](std::int64_t us) { return Instant{us * 1000}; };
    EXPECT_FALSE(slots.waits_for_room(op));
    EXPECT_TRUE(slots.send_goes_on(op, -EAGAIN, at(5), at(0)) && slots.waits_for_room(op));
    EXPECT_EQ(slots.behind(op).ns, 0) << "it had no room";
    EXPECT_TRUE(slots.send_goes_on(op, POLLOUT, at(15), at(10)));
    EXPECT_FALSE(slots.waits_for_room(op));
    EXPECT_EQ(slots.behind(op).ns, 5'000) << "it had room before we saw it";
    EXPECT_TRUE(slots.send_goes_on(op, -EAGAIN, at(20), at(10)));
    EXPECT_TRUE(slots.send_goes_on(op, POLLOUT, at(27), at(10)));
    EXPECT_EQ(slots.behind(op).ns, 12'000) << "no longer than since it was found full";
    EXPECT_FALSE(slots.send_goes_on(op, 100, at(40), at(30)));
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
            EXPECT_TRUE(slots.send_goes_on(op, -EAGAIN, {}, {}));
        }
        EXPECT_EQ(slots.send_goes_on(op, one.result, {}, {}), one.goes_on)
            << one.waits << " " << one.result;
        EXPECT_FALSE(slots.waits_for_room(op));
        slots.free(op);
    }
}

// Laps of a small ring of transmit stamps: none is lost or read twice, whatever places the kernel
// passes over.

constexpr std::uint64_t command = 5;

/// A connection over loopback, with transmit stamps on its client's side.
class Connection {
  public:
    Connection() {
        const Address any = resolve("127.0.0.1", 0).value().front();
        const Socket listening = make_listening_socket(any, 1).value();
        const Address address = local_address_of(listening).value();
        client_ = make_stream_socket(address).value();
        (void)::fcntl(client_.number, F_SETFL, 0);  // waits
        connected_ = ::connect(client_.number, address.raw(), address.length) == 0;
        server_ = ::accept(listening.number, nullptr, nullptr);
        ::close(listening.number);
        const int on = 1;
        (void)::setsockopt(client_.number, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    ~Connection() {
        ::close(client_.number);
        ::close(server_);
    }
    Socket client() const { return client_; }
    bool stands() const { return connected_ && server_ >= 0; }
    bool send_byte() {
        char got = 0;
        return ::send(client_.number, "x", 1, 0) == 1 && ::recv(server_, &got, 1, 0) == 1;
    }

  private:
    Socket client_;
    int server_ = -1;
    bool connected_ = false;
};

TEST(TransmitStamps, LapsOfTheRingLoseAndRepeatNothing) {
    constexpr std::uint32_t entries = 64;
    constexpr std::uint32_t bytes = 100 * entries;
    TransmitStamps stamps;
    stamps.open(16, true, entries);
    if (stamps.way() != TransmitStamps::Way::ring) {
        GTEST_SKIP() << "this kernel has no transmit stamps by io_uring";
    }
    Connection connection;
    ASSERT_TRUE(connection.stands());
    ASSERT_TRUE(switch_on_stamps(connection.client(), {true, false}).transmit);
    stamps.arm(command, connection.client());
    Random random(7);
    std::uint32_t sent = 0;
    std::uint32_t stamped = 0;
    while (sent < bytes) {
        for (std::uint64_t batch = 1 + random.below(4); batch > 0; --batch, ++sent) {
            ASSERT_TRUE(connection.send_byte());
        }
        for (int looks = 0; stamped < sent && looks < 1000; ++looks) {
            stamps.look(Instant{}, 16, 0);
            TransmitStamps::Entry entry;
            while (stamps.next(entry)) {
                ASSERT_EQ(entry.user_data, command);
                ASSERT_TRUE(entry.more) << entry.result;
                ASSERT_NE(entry.realtime_ns, 0);
                ASSERT_GE(entry.key + 1, stamped) << "an old stamp came again";
                stamped = entry.key + 1;
            }
        }
        ASSERT_EQ(stamped, sent);
    }
    RecordProperty("passed_over", std::to_string(stamps.passed_over()));
}

// A socket that wants a stamp is asked now, and again each millisecond; one that wants none is not.
TEST(TransmitStamps, ErrorQueuesAreAskedUntilTheyTell) {
    TransmitStamps stamps;
    stamps.open(16, false);
    ASSERT_EQ(stamps.way(), TransmitStamps::Way::error_queue);
    Connection connection;
    ASSERT_TRUE(connection.stands());
    ASSERT_TRUE(switch_on_stamps(connection.client(), {true, false}).transmit);
    TransmitStamps::Entry entry;
    Instant now;
    stamps.expect(command, now);  // nobody has armed it
    EXPECT_FALSE(stamps.waiting(now));
    stamps.arm(command, connection.client());
    EXPECT_FALSE(stamps.waiting(now));
    stamps.expect(command, now);
    EXPECT_TRUE(stamps.waiting(now));
    stamps.look(now, 16, 0);  // nothing was sent
    EXPECT_FALSE(stamps.next(entry) || stamps.waiting(now));
    now = now + TransmitStamps::pause;
    EXPECT_TRUE(stamps.waiting(now));
    ASSERT_TRUE(connection.send_byte());
    bool reported = false;
    for (std::uint32_t tries = 1; tries < TransmitStamps::tries_max && !reported; ++tries) {
        stamps.look(now, 0, command);  // this one alone
        reported = stamps.next(entry);
        now = now + TransmitStamps::pause;
    }
    ASSERT_TRUE(reported);
    EXPECT_TRUE(entry.more);
    EXPECT_EQ(entry.key, 0U);
    EXPECT_NE(entry.realtime_ns, 0);
    stamps.look(now, 16, 0);
    EXPECT_FALSE(stamps.waiting(now)) << "it has what it wanted";
}

// Both ways tell a cancel that its target has ended already, whoever had its slot since.
class BothWays : public testing::TestWithParam<bool> {
  protected:
    void SetUp() override {
        stamps_.open(16, GetParam());
        if (GetParam() && stamps_.way() != TransmitStamps::Way::ring) {
            GTEST_SKIP() << "this kernel has no transmit stamps by io_uring";
        }
    }
    /// The entry that comes next, within a bound of looks.
    TransmitStamps::Entry next() {
        TransmitStamps::Entry entry;
        for (int looks = 0; looks < 1000 && !stamps_.next(entry); ++looks) {
            stamps_.look(Instant{}, 16, 0);
        }
        return entry;
    }

    TransmitStamps stamps_;
};

TEST_P(BothWays, CancelsFindTheirTargetOrSayThatItHasEnded) {
    constexpr std::uint64_t cancel = 6;
    constexpr std::uint64_t generation = std::uint64_t{1} << 32;
    Connection connection;
    ASSERT_TRUE(connection.stands());
    ASSERT_TRUE(switch_on_stamps(connection.client(), {true, false}).transmit);
    stamps_.arm(command, connection.client());
    for (const std::uint64_t ended : {OpSlots::nobody, command + generation}) {
        stamps_.cancel(ended, cancel);
        const TransmitStamps::Entry entry = next();
        EXPECT_EQ(std::tuple(entry.user_data, entry.result), std::tuple(cancel, -ENOENT));
        EXPECT_FALSE(entry.more);
    }
    stamps_.cancel(command, cancel);
    std::map<std::uint64_t, std::int32_t> results;
    for (int ends = 0; ends < 2; ++ends) {
        const TransmitStamps::Entry entry = next();
        EXPECT_FALSE(entry.more);
        results[entry.user_data] = entry.result;
    }
    const std::map<std::uint64_t, std::int32_t> expected{{command, -ECANCELED}, {cancel, 0}};
    EXPECT_EQ(results, expected);
    stamps_.cancel(command, cancel);
    EXPECT_EQ(next().result, -ENOENT) << "it has ended by now";
}

INSTANTIATE_TEST_SUITE_P(TransmitStamps, BothWays, testing::Values(true, false),
                         [](const auto& way) { return way.param ? "ByRing" : "ByErrorQueue"; });

}  // namespace

}  // namespace driftless
