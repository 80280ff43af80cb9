// Sockets, the kernel's stamps, and a kernel that refuses.

#include "engine/io/sockets.hpp"

#include <arpa/inet.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>

#include "engine/io/epoll.hpp"
#include "engine/io/io_ring.hpp"
#include "engine/io/uring.hpp"
#include "engine/machines/calibration_floor.hpp"
#include "tests/unit/engine/io/turned.hpp"
#include "tests/unit/refusing_kernel.hpp"

namespace driftless {

namespace {

Address address_of(const std::string& host, std::uint16_t port) {
    return resolve(host, port).value().front();
}

/// Listens on a port of its own, and takes `backlog` connections at most, for nobody accepts.
class Listener {
  public:
    explicit Listener(int backlog)
        : socket_(make_listening_socket(address_of("127.0.0.1", 0), backlog).value()) {}
    ~Listener() {
        ::close(socket_.number);
        for (const int client : clients_) {
            ::close(client);
        }
    }
    Address address() const { return local_address_of(socket_).value(); }
    /// From here on a connect to it never ends.
    void fill() {
        const Address to = address();
        for (int i = 0; i < 4; ++i) {
            const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
            (void)::connect(client, to.raw(), to.length);
            clients_.push_back(client);
        }
    }

  private:
    Socket socket_;
    std::vector<int> clients_;
};

/// A port that nobody listens on.
Address closed_port() {
    return Listener(1).address();
}

std::string text_of(const std::optional<Address>& address) {
    return address ? address->to_text() : "none";
}

TEST(Reachable, FamiliesTakeTurns) {
    std::vector<Address> addresses;
    for (const char* host :
         {"2001:db8::1", "2001:db8::2", "2001:db8::3", "192.0.2.1", "192.0.2.2"}) {
        addresses.push_back(address_of(host, 80));
    }
    std::string order;
    for (const Address& address : by_turns(addresses)) {
        order += address.to_text() + " ";
    }
    EXPECT_EQ(order,
              "[2001:db8::1]:80 192.0.2.1:80 [2001:db8::2]:80 192.0.2.2:80 [2001:db8::3]:80 ");
    EXPECT_TRUE(by_turns({}).empty());
}

TEST(Reachable, RefusedOnesAreLeftAtOnce) {
    const Listener listener(8);
    const auto began = std::chrono::steady_clock::now();
    const auto found = first_reachable(
        {closed_port(), address_of("::1", 1), closed_port(), listener.address()}, seconds(5));
    EXPECT_EQ(text_of(found), listener.address().to_text());
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(2));
}

TEST(Reachable, SilentOnesAreNotWaitedFor) {
    Listener silent(0);
    silent.fill();
    const Listener listener(8);
    const auto began = std::chrono::steady_clock::now();
    const auto found = first_reachable({silent.address(), listener.address()}, seconds(30));
    EXPECT_EQ(text_of(found), listener.address().to_text());
    const auto took = std::chrono::steady_clock::now() - began;
    EXPECT_GE(took, std::chrono::nanoseconds(attempt_delay.ns));
    EXPECT_LT(took, std::chrono::seconds(20));
}

// The patience is each one's, not that of all together.
TEST(Reachable, TheLastHasAsMuchTimeAsTheFirst) {
    Listener silent(0);
    silent.fill();
    const Listener listener(8);
    EXPECT_EQ(text_of(first_reachable({silent.address(), listener.address()}, milliseconds(50))),
              listener.address().to_text());
}

TEST(Reachable, NobodyIsWaitedForBeyondThePatience) {
    Listener silent(0);
    silent.fill();
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(text_of(first_reachable({silent.address()}, milliseconds(50))), "none");
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
    EXPECT_EQ(text_of(first_reachable({closed_port(), closed_port()}, seconds(60))), "none");
    EXPECT_EQ(text_of(first_reachable({}, seconds(60))), "none");
}

// More bytes than any buffer of the pair holds: none blocks, and what is not read is thrown away.
TEST(WarmPair, NeverFillsUp) {
    WarmPair pair;
    EXPECT_FALSE(pair.is_open());
    const Result<void> opened = pair.open();
    ASSERT_TRUE(opened) << opened.error().doing;
    EXPECT_TRUE(pair.is_open());
    constexpr std::uint64_t sends = 20'000;
    for (std::uint64_t i = 0; i < sends; ++i) {
        pair.send();
    }
    EXPECT_EQ(pair.sends(), sends);
    EXPECT_LT(pair.unread(), sends / 4);  // some may have been on their way the last time
}

// Kernel stamps over real loopback sockets, by the ring and by the error queues: each send is
// stamped once, keyed by its last byte, between our looks at the clock before and after it; so is
// each receive. A Unix socket has none, and says so.

struct Heard {
    std::vector<Completion> stamps;
    std::vector<Completion> receives;
    std::string bytes;
    int last_result = 0;
    std::int64_t total = 0;
};

void on_stamp(Op& op, const Completion& done) {
    Heard& heard = *static_cast<Heard*>(op.owner);
    heard.last_result = done.result;
    if (done.more) {
        heard.stamps.push_back(done);
    }
}

void on_receive(Op& op, const Completion& done) {
    Heard& heard = *static_cast<Heard*>(op.owner);
    heard.last_result = done.result;
    heard.bytes.append(done.bytes);
    if (done.result > 0) {
        heard.receives.push_back(done);
        heard.receives.back().bytes = {};
    }
}

void on_result(Op& op, const Completion& done) {
    Heard& heard = *static_cast<Heard*>(op.owner);
    heard.last_result = done.result;
    heard.total += done.result;
}

struct StampWay {
    const char* name;
    DriverKind driver;
    bool ring;  ///< transmit stamps come by it
};

/// A connected pair of sockets of one driver, with stamps on both.
class Stamps : public ::testing::TestWithParam<StampWay> {
  protected:
    void SetUp() override {
        auto made = make_driver({.ops_max = 64,
                                 .submit_entries = 16,
                                 .buffers = 64,
                                 .stamps = {true, true},
                                 .stamp_ring = GetParam().ring,
                                 .kind = GetParam().driver});
        if (!made) {
            GTEST_SKIP() << "io_uring is not available: errno " << made.error().sys_errno;
        }
        driver_ = std::move(made).value();
        if (GetParam().ring && feature("transmit_stamps") != "io_uring") {
            GTEST_SKIP() << "this kernel has no transmit stamps by io_uring (Linux 6.17)";
        }
    }

    std::string feature(const std::string& name) {
        for (const auto& [key, value] : driver_->facts().features) {
            if (key == name) {
                return value;
            }
        }
        return "";
    }

    bool turn_until_idle(std::uint32_t left) {
        for (int turns = 0; turns < 100'000 && driver_->in_flight() > left; ++turns) {
            (void)driver_->collect_stamps(16, nullptr);
            (void)driver_->turn({driver_->now() + milliseconds(1), 16, Wait::sleep, true});
        }
        return driver_->in_flight() == left;
    }

    void connect_pair(const Address& address) {
        const auto listener = driver_->listen(address, 8).value();
        const auto local = driver_->local_address(listener).value();
        Op accept;
        Heard accepted;
        submit(*driver_, accept, {.kind = OpKind::accept, .socket = listener}, on_result,
               &accepted);
        client_ = driver_->open_socket(local).value();
        Op connect;
        Heard connected;
        submit(*driver_, connect, {.kind = OpKind::connect, .socket = client_, .address = &local},
               on_result, &connected);
        turn_while(*driver_, [&] { return (connect.in_flight() || accepted.total == 0); });
        ASSERT_EQ(connected.last_result, 0);
        peer_ = Socket{accepted.last_result};
        cancel(accept);
        ASSERT_TRUE(turn_until_idle(0));
        driver_->close(listener);
    }

    void cancel(Op& target) {
        submit(*driver_, cancel_, {.kind = OpKind::cancel, .target = &target}, on_result,
               &cancelled_);
        driver_->flush();
        for (int turns = 0; turns < 1000 && (cancel_.in_flight() || target.in_flight()); ++turns) {
            (void)driver_->collect_stamps(16, nullptr);
            (void)driver_->turn({driver_->now() + milliseconds(1), 16, Wait::sleep, true});
        }
    }

    void watch(Op& op, OpKind kind, Socket socket, Heard& heard) {
        submit(*driver_, op,
               {.kind = kind, .socket = socket, .kernel_stamps = kind == OpKind::receive},
               kind == OpKind::receive ? on_receive : on_stamp, &heard);
    }

    void send(const std::string& bytes, const Op& stamps) {
        Op op;
        Heard sent;
        submit(*driver_, op,
               {.kind = OpKind::send, .socket = client_, .bytes = bytes, .stamps = &stamps},
               on_result, &sent);
        driver_->flush();
        turn_while(*driver_, [&] { return op.in_flight(); });
        ASSERT_EQ(sent.total, static_cast<std::int64_t>(bytes.size()));
    }

    void close_pair() {
        driver_->shutdown(client_);
        driver_->shutdown(peer_);
        ASSERT_TRUE(turn_until_idle(0));
        driver_->close(client_);
        driver_->close(peer_);
    }

    std::unique_ptr<Driver> driver_;
    Socket client_;
    Socket peer_;
    Op cancel_;
    Heard cancelled_;
};

TEST_P(Stamps, EachSendAndEachReceiveHasOne) {
    connect_pair(resolve("127.0.0.1", 0).value()[0]);
    const StampSupport support = driver_->switch_on_stamps(client_);
    ASSERT_TRUE(support.transmit && support.receive);
    ASSERT_TRUE(driver_->switch_on_stamps(peer_).receive);
    Op stamps;
    Op receive;
    Heard sent;
    Heard got;
    watch(stamps, OpKind::stamps, client_, sent);
    watch(receive, OpKind::receive, peer_, got);

    std::uint32_t bytes = 0;
    // The kernel begins to stamp receives some time after somebody has asked, and may be about to
    // end it because somebody else has gone: it stamps once it has done so for 20 ms.
    Instant since = driver_->now();
    for (int tries = 0; tries < 100'000 && driver_->now() - since < milliseconds(20); ++tries) {
        send("x", stamps);
        ++bytes;
        turn_while(*driver_, [&] { return got.bytes.size() < bytes; });
        for (int looks = 0; looks < 1000 && sent.stamps.size() < bytes; ++looks) {
            (void)driver_->collect_stamps(16, &stamps);
        }
        since = got.receives.back().kernel_ns != 0 ? since : driver_->now();
    }
    sent.stamps.clear();
    constexpr std::int64_t error_ns = 2'000;  // of the two clocks against each other
    for (std::size_t i = 1; i <= 20; ++i) {
        const std::string message(i * 700, 'x');
        bytes += static_cast<std::uint32_t>(message.size());
        const Instant before = driver_->now();
        send(message, stamps);
        const Instant after = driver_->now();
        for (int looks = 0; looks < 1000 && sent.stamps.size() < i; ++looks) {
            (void)driver_->collect_stamps(16, &stamps);
        }
        ASSERT_EQ(sent.stamps.size(), i);
        EXPECT_EQ(sent.stamps.back().key, bytes - 1);
        EXPECT_GE(sent.stamps.back().kernel_ns, before.ns - error_ns);
        EXPECT_LE(sent.stamps.back().kernel_ns, after.ns + error_ns);
        turn_while(*driver_, [&] { return got.bytes.size() < bytes; });
        ASSERT_EQ(got.bytes.size(), bytes);
        const Completion& read = got.receives.back();
        EXPECT_GE(read.kernel_ns, before.ns - error_ns);
        EXPECT_LE(read.kernel_ns, read.stamp.ns + error_ns);
    }
    EXPECT_EQ(got.bytes, std::string(bytes, 'x'));
    cancel(stamps);
    EXPECT_FALSE(stamps.in_flight());
    EXPECT_EQ(sent.last_result, -ECANCELED);
    cancel(stamps);
    EXPECT_EQ(cancelled_.last_result, -ENOENT) << "it has ended already";
    close_pair();
    EXPECT_EQ(got.last_result, 0);
}

// The kernel may join an end of stream to the bytes before it, and stamps them both with when the
// end came: such a stamp says nothing of the bytes.
TEST_P(Stamps, AnEndBehindBytesTakesTheirStamp) {
    connect_pair(resolve("127.0.0.1", 0).value()[0]);
    ASSERT_TRUE(driver_->switch_on_stamps(peer_).receive);
    Op receive;
    Heard got;
    watch(receive, OpKind::receive, peer_, got);
    driver_->flush();
    ASSERT_EQ(::send(client_.number, "alone", 5, 0), 5);
    turn_while(*driver_, [&] { return got.bytes.size() < 5; });
    ASSERT_EQ(got.receives.size(), 1u);
    EXPECT_TRUE(got.receives[0].stamps_last_byte);
    ASSERT_EQ(::send(client_.number, "ended", 5, 0), 5);
    ASSERT_EQ(::shutdown(client_.number, SHUT_WR), 0);
    turn_while(*driver_, [&] { return receive.in_flight(); });
    ASSERT_EQ(got.bytes, "aloneended");
    EXPECT_FALSE(got.receives[1].stamps_last_byte);
    close_pair();
}

// What is not asked for does not come: a receive without stamps tells bytes only.
TEST_P(Stamps, ReceivesWithoutThemAreAsBefore) {
    connect_pair(resolve("127.0.0.1", 0).value()[0]);
    Op receive;
    Op none;
    Heard got;
    watch(receive, OpKind::receive, peer_, got);
    cancel(receive);
    receive.spec.kernel_stamps = false;
    driver_->submit(receive);
    send("hello", none);
    turn_while(*driver_, [&] { return got.bytes.size() < 5; });
    EXPECT_EQ(got.bytes, "hello");
    ASSERT_EQ(got.receives.size(), 1u);
    EXPECT_EQ(got.receives[0].kernel_ns, 0);
    close_pair();
}

TEST_P(Stamps, UnixSocketsHaveNone) {
    auto address = unix_address("@driftless-stamps-" + std::string(GetParam().name)).value();
    const auto socket = driver_->open_socket(address).value();
    const StampSupport support = driver_->switch_on_stamps(socket);
    EXPECT_FALSE(support.transmit || support.receive);
    driver_->close(socket);
}

INSTANTIATE_TEST_SUITE_P(AllWays, Stamps,
                         ::testing::Values(StampWay{"Ring", DriverKind::io_uring, true},
                                           StampWay{"ErrorQueue", DriverKind::io_uring, false},
                                           StampWay{"Epoll", DriverKind::epoll, false}),
                         [](const auto& test) { return test.param.name; });

// What the kernel refuses of rings, sockets and stamps is an error with its errno, or a way
// without; nothing stays open behind it.

constexpr std::uint32_t populate_write = 23;  // MADV_POPULATE_WRITE
constexpr int place_of_option = 2;            // of setsockopt and getsockopt, and of an madvise

std::ptrdiff_t open_files() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

class Refused : public RefusingKernel {
  protected:
    void SetUp() override {
        before_ = open_files();
        RefusingKernel::SetUp();
    }
    void TearDown() override { EXPECT_EQ(open_files(), before_) << "left open"; }

    static Error ring_error(std::initializer_list<RefusedCall> refusals) {
        Error error;
        EXPECT_TRUE(while_refusing(refusals, [&error] {
            const auto made = UringDriver::make(
                {.ops_max = 64, .submit_entries = 16, .buffers = 4, .buffer_bytes = 512});
            EXPECT_FALSE(made);
            error = made ? Error{} : made.error();
        }));
        return error;
    }

  private:
    std::ptrdiff_t before_ = 0;
};

// errno(3): what each is to a caller.
TEST(Errno, HasACode) {
    struct Case {
        ErrorCode code;
        std::vector<int> all;
    };
    for (const Case& one :
         {Case{ErrorCode::refused, {ECONNREFUSED}},
          Case{ErrorCode::reset, {ECONNRESET, EPIPE, ECONNABORTED}},
          Case{ErrorCode::unreachable, {ENETUNREACH, EHOSTUNREACH, ENETDOWN, EADDRNOTAVAIL}},
          Case{ErrorCode::timed_out, {ETIMEDOUT, ETIME}}, Case{ErrorCode::cancelled, {ECANCELED}},
          Case{ErrorCode::not_found, {ENOENT}}, Case{ErrorCode::denied, {EACCES, EPERM}},
          Case{ErrorCode::exhausted, {EMFILE, ENFILE, ENOMEM, ENOBUFS}},
          Case{ErrorCode::exists, {EADDRINUSE, EEXIST}},
          Case{ErrorCode::unsupported, {ENOSYS, EOPNOTSUPP, EAFNOSUPPORT}},
          Case{ErrorCode::io_failed, {EIO, ENOTSOCK}}}) {
        for (const int sys_errno : one.all) {
            const Error error = error_from_errno(sys_errno, "try");
            EXPECT_EQ(error.code, one.code) << sys_errno;
            EXPECT_EQ(error.sys_errno, sys_errno);
        }
    }
}

TEST_F(Refused, Rings) {
    EXPECT_EQ(ring_error({{SYS_io_uring_setup, EINVAL}}).code, ErrorCode::unsupported);
    EXPECT_STREQ(ring_error({{SYS_io_uring_setup, EINVAL}}).doing,
                 "set up io_uring (Linux 6.1 or newer)");
    EXPECT_EQ(ring_error({{SYS_io_uring_setup, EPERM}}).code, ErrorCode::denied);
    EXPECT_EQ(ring_error({{SYS_io_uring_setup, ENOSYS}}).code, ErrorCode::unsupported);
    EXPECT_EQ(ring_error({{SYS_io_uring_setup, ENOMEM}}).code, ErrorCode::exhausted);
    const Error unregistered = ring_error({{SYS_io_uring_register, ENOMEM}});
    EXPECT_EQ(unregistered.code, ErrorCode::exhausted);
    EXPECT_STREQ(unregistered.doing, "register receive buffers with io_uring");
    const Error no_memory = ring_error({{SYS_madvise, ENOMEM, place_of_option, populate_write}});
    EXPECT_EQ(no_memory.code, ErrorCode::exhausted);
    EXPECT_STREQ(no_memory.doing, "take memory for receive buffers");
}

TEST_F(Refused, Epoll) {
#ifdef SYS_epoll_wait
    constexpr int wait = SYS_epoll_wait;
#else
    constexpr int wait = SYS_epoll_pwait;
#endif
    for (const int call : {SYS_epoll_create1, SYS_timerfd_create, SYS_epoll_ctl, wait,
                           SYS_timerfd_settime, SYS_sendto, SYS_recvmsg, SYS_connect, SYS_fcntl}) {
        EXPECT_TRUE(while_refusing({{call, EMFILE}}, [] {
            const auto made = EpollDriver::make(DriverOptions::small());
            EXPECT_EQ(made.error().code, ErrorCode::exhausted);
            EXPECT_STREQ(made.error().doing, "set up epoll");
        }));
    }
}

// Where the kernel forbids io_uring epoll stands in, and says why; but not where io_uring was asked
// for, nor where there is no epoll either.
TEST_F(Refused, RingsThatNobodyAskedFor) {
    EXPECT_TRUE(while_refusing({{SYS_io_uring_setup, EPERM}}, [] {
        DriverOptions options = DriverOptions::small();
        const auto made = make_driver(options);
        ASSERT_TRUE(made);
        const DriverFacts facts = made.value()->facts();
        EXPECT_EQ(facts.kind, DriverKind::epoll);
        ASSERT_TRUE(facts.why_not_ring);
        EXPECT_EQ(facts.why_not_ring->code, ErrorCode::denied);
        options.kind = DriverKind::io_uring;
        EXPECT_EQ(make_driver(options).error().code, ErrorCode::denied);
        options.kind = DriverKind::epoll;
        EXPECT_FALSE(make_driver(options).value()->facts().why_not_ring);
    }));
    EXPECT_TRUE(while_refusing({{SYS_io_uring_setup, EPERM}, {SYS_epoll_create1, EMFILE}}, [] {
        EXPECT_STREQ(make_driver(DriverOptions::small()).error().doing, "set up epoll");
    }));
}

TEST_F(Refused, Sockets) {
    const Address any = resolve("127.0.0.1", 0).value().front();
    EXPECT_TRUE(while_refusing({{SYS_socket, EMFILE}}, [any] {
        EXPECT_EQ(make_stream_socket(any).error().code, ErrorCode::exhausted);
        EXPECT_EQ(make_listening_socket(any, 1).error().code, ErrorCode::exhausted);
        EXPECT_EQ(WarmPair().open().error().code, ErrorCode::exhausted);
        EXPECT_EQ(Sink().start(nullptr).error().code, ErrorCode::exhausted);
        EXPECT_FALSE(keep_receive_stamps().is_open());
    }));
    EXPECT_TRUE(while_refusing({{SYS_listen, EADDRINUSE}}, [any] {
        EXPECT_EQ(make_listening_socket(any, 1).error().code, ErrorCode::exists);
    }));
    EXPECT_TRUE(while_refusing({{SYS_getsockname, ENOBUFS}}, [] {
        EXPECT_EQ(WarmPair().open().error().code, ErrorCode::exhausted);
        EXPECT_EQ(Sink().start(nullptr).error().code, ErrorCode::exhausted);
    }));
    EXPECT_TRUE(while_refusing({{SYS_accept4, EMFILE}}, [] {
        EXPECT_EQ(WarmPair().open().error().code, ErrorCode::exhausted);
        Sink sink;
        EXPECT_TRUE(sink.start(nullptr));
    }));
    EXPECT_TRUE(while_refusing({{SYS_clone3, EAGAIN}, {SYS_clone, EAGAIN}}, [] {
        EXPECT_STREQ(Sink().start(nullptr).error().doing, "start a thread");
    }));
}

// A host without descriptors reaches nobody, and says so at once; a local socket stands at once.
TEST_F(Refused, Connects) {
    const Address any = resolve("127.0.0.1", 0).value().front();
    EXPECT_TRUE(while_refusing({{SYS_socket, EMFILE}},
                               [any] { EXPECT_FALSE(first_reachable({any, any}, seconds(60))); }));
    const std::string path =
        (std::filesystem::temp_directory_path() / ("driftless-" + std::to_string(::getpid())))
            .string();
    const Address local = unix_address(path).value();
    const Socket listening = make_listening_socket(local, 1).value();
    EXPECT_EQ(first_reachable({local}, seconds(60)).value().to_text(), "unix:" + path);
    ::close(listening.number);
    std::filesystem::remove(path);
}

// Without stamps a run goes on, and says that it has none.
TEST_F(Refused, Stamps) {
    const Socket socket = make_stream_socket(resolve("127.0.0.1", 0).value().front()).value();
    EXPECT_TRUE(
        while_refusing({{SYS_setsockopt, ENOPROTOOPT, place_of_option, SO_TIMESTAMPING}}, [socket] {
            const StampSupport got = switch_on_stamps(socket, {true, true});
            EXPECT_FALSE(got.transmit || got.receive);
            EXPECT_FALSE(keep_receive_stamps().is_open());
        }));
    EXPECT_TRUE(while_refusing({{SYS_getsockopt, EBADF}}, [socket] {
        const StampSupport got = switch_on_stamps(socket, {true, true});
        EXPECT_FALSE(got.transmit || got.receive);
    }));
    ::close(socket.number);
    for (const RefusedCall refusal :
         {RefusedCall{SYS_io_uring_setup, EPERM}, RefusedCall{SYS_socket, EMFILE}}) {
        EXPECT_TRUE(while_refusing({refusal}, [] {
            TransmitStamps stamps;
            EXPECT_STREQ(name_of(stamps.way()), "no");
            stamps.open(4, true);
            EXPECT_STREQ(name_of(stamps.way()), "error queue");
        }));
    }
}

TEST_F(Refused, Calibration) {
    EXPECT_TRUE(while_refusing({{SYS_listen, EADDRINUSE}}, [] {
        const auto driver = UringDriver::make(
            {.ops_max = 64, .submit_entries = 16, .buffers = 4, .buffer_bytes = 512});
        if (driver) {
            EXPECT_EQ(measure_fires(*driver.value(), 1, seconds(1), nullptr, 0).error().code,
                      ErrorCode::exists);
        }
    }));
}

}  // namespace

}  // namespace driftless
