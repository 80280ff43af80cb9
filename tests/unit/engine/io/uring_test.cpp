// The driver on a kernel's ring.

#include "engine/io/uring.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include "tests/test.hpp"
#include "tests/unit/engine/io/turned.hpp"

namespace driftless {

// Since when something may have been waiting: a look that finds nothing is proof, one that finds a
// flag is none, and an entry that brings nothing is proof for the look before it.

namespace {

TEST(UnreadWatch, MovesOnWithLooksThatFindNothing) {
    UnreadWatch watch(Instant{10});
    watch.look(Instant{20}, false);
    EXPECT_EQ(watch.since(), Instant{20});
    watch.look(Instant{30}, true);
    EXPECT_EQ(watch.since(), Instant{20});
    // The kernel keeps a flag that it raised behind its work until the next arrival.
    UnreadWatch flagged(Instant{10});
    for (const std::int64_t at : {20, 30, 40}) {
        flagged.look(Instant{at}, true);
        flagged.nothing_came();
        EXPECT_EQ(flagged.since(), Instant{at});
    }
    UnreadWatch later(Instant{50});
    later.nothing_came();
    EXPECT_EQ(later.since(), Instant{50});
}

// The ring over real loopback sockets: connect, accept, send, receive across tiny buffers, end of
// stream, cancel, refusal, and sleeping until an instant.

struct Peer {
    Op accept;
    Op receive;
    Op send;
    Driver* driver = nullptr;
    Socket socket;
    std::string got;
    bool ended = false;
};

void on_receive(Op& op, const Completion& done) {
    Peer& peer = *static_cast<Peer*>(op.owner);
    peer.got.append(done.bytes);
    peer.ended = !done.more;
}

void on_accept(Op& op, const Completion& done) {
    Peer& peer = *static_cast<Peer*>(op.owner);
    if (done.result < 0) {
        return;
    }
    peer.socket = Socket{done.result};
    submit(*peer.driver, peer.receive, {.kind = OpKind::receive, .socket = peer.socket}, on_receive,
           &peer);
}

void on_end(Op& op, const Completion& done) {
    *static_cast<int*>(op.owner) = done.result;
}

class Uring : public ::testing::Test {
  protected:
    void SetUp() override {
        UringOptions options{.ops_max = 64, .submit_entries = 16};
        options.buffers = 4;  // few and small, so that receives run out of them
        options.buffer_bytes = 512;
        auto made = UringDriver::make(options);
        if (!made) {
            GTEST_SKIP() << "io_uring is not available: errno " << made.error().sys_errno;
        }
        driver_ = std::move(made).value();
    }

    void turn_until(const bool& condition) {
        turn_while(*driver_, [&] { return !condition; }, 100'000);
        ASSERT_TRUE(condition);
    }

    /// Receives from the first of two connected sockets.
    void receive_from(int (&pair)[2], Op& receive, Op::Handler handler, void* owner) {
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        submit(*driver_, receive, {.kind = OpKind::receive, .socket = Socket{pair[0]}}, handler,
               owner);
    }

    std::unique_ptr<UringDriver> driver_;
};

Task<void> send_all(Loop& loop, Op& op, Socket socket, const Address& address, std::string bytes,
                    bool& done) {
    op.spec.kind = OpKind::connect;
    op.spec.socket = socket;
    op.spec.address = &address;
    const Completion connected = co_await perform(loop, op);
    EXPECT_EQ(connected.result, 0);
    std::size_t sent = 0;
    while (sent < bytes.size()) {
        op.spec.kind = OpKind::send;
        op.spec.bytes = std::string_view(bytes).substr(sent);
        const Completion accepted = co_await perform(loop, op);
        if (accepted.result <= 0) {
            break;
        }
        sent += static_cast<std::size_t>(accepted.result);
    }
    EXPECT_EQ(sent, bytes.size());
    done = true;
}

// A megabyte arrives whole and in order through four buffers of 512 bytes: running out of buffers
// ends the kernel's multishot receive, and the driver arms it again unseen.
TEST_F(Uring, MovesBytesThroughFewBuffers) {
    auto address = resolve("127.0.0.1", 0).value();
    const auto listener = driver_->listen(address[0], 8).value();
    const auto local = driver_->local_address(listener).value();

    Peer peer{.driver = driver_.get()};
    submit(*driver_, peer.accept, {.kind = OpKind::accept, .socket = listener}, on_accept, &peer);

    std::string bytes(1 << 20, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<char>(i * 31 >> 3);
    }
    {
        Loop loop(*driver_, 8);
        const auto client = driver_->open_socket(local).value();
        Op op;
        bool done = false;
        loop.jobs().spawn(send_all(loop, op, client, local, bytes, done));
        for (int turns = 0; turns < 100'000 && !(done && peer.got.size() == bytes.size());
             ++turns) {
            (void)loop.turn(driver_->now() + milliseconds(10), Wait::sleep);
        }
        EXPECT_TRUE(peer.got == bytes);
        driver_->shutdown(client);
        turn_until(peer.ended);
        driver_->close(client);
    }
    Op cancel;
    int cancelled = 1;
    submit(*driver_, cancel, {.kind = OpKind::cancel, .target = &peer.accept}, on_end, &cancelled);
    turn_while(*driver_, [&] { return driver_->in_flight() > 0; });
    EXPECT_EQ(cancelled, 0);
    EXPECT_EQ(driver_->in_flight(), 0u);
    driver_->close(peer.socket);
    driver_->close(listener);
}

std::size_t threads_of_this_process() {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

// A send that finds its socket full waits without a thread of the kernel's, which a stop of the
// process would interrupt; it goes on once the peer reads, and ends with its socket.
TEST_F(Uring, WaitsForRoomWithoutAThread) {
    const std::size_t threads = threads_of_this_process();  // a sanitizer may have one of its own
    for (const bool reads : {true, false}) {
        int pair[2];
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        const std::string bytes(64 << 10, 'x');
        Op op;
        int result = 1;
        op.spec.kind = OpKind::send;
        op.spec.socket = Socket{pair[0]};
        op.spec.bytes = bytes;
        op.handler = on_end;
        op.owner = &result;
        for (int sends = 0; sends < 1000 && !op.in_flight(); ++sends) {  // until one must wait
            driver_->submit(op);
            turn_while(*driver_, [&] { return op.in_flight(); }, 10);
        }
        ASSERT_TRUE(op.in_flight());
        EXPECT_EQ(threads_of_this_process(), threads);
        result = 1;
        std::string got(1 << 20, '\0');
        if (reads) {
            EXPECT_GT(::recv(pair[1], got.data(), got.size(), 0), 0);
        } else {
            ::close(pair[1]);
        }
        for (int turns = 0; turns < 1000 && op.in_flight(); ++turns) {
            if (reads) {
                (void)::recv(pair[1], got.data(), got.size(), MSG_DONTWAIT);
            }
            (void)driver_->turn({driver_->now() + milliseconds(10), 16, Wait::sleep, true});
        }
        EXPECT_FALSE(op.in_flight());
        EXPECT_TRUE(reads ? result > 0 : result == -EPIPE) << result;
        ::close(pair[0]);
        if (reads) {
            ::close(pair[1]);
        }
    }
}

// A connect to a port where nobody listens ends with -ECONNREFUSED.
TEST_F(Uring, ReportsRefusal) {
    auto address = resolve("127.0.0.1", 1).value();
    const auto socket = driver_->open_socket(address[0]).value();
    Op op;
    int result = 1;
    submit(*driver_, op, {.kind = OpKind::connect, .socket = socket, .address = &address[0]},
           on_end, &result);
    turn_while(*driver_, [&] { return result == 1; });
    EXPECT_EQ(result, -ECONNREFUSED);
    driver_->close(socket);
}

// A send that warms the path goes to a socket of the driver's own, where it was asked for.
TEST_F(Uring, WarmsItsSends) {
    for (const bool warm : {false, true}) {
        const auto made = UringDriver::make({.ops_max = 8,
                                             .submit_entries = 8,
                                             .buffers = 4,
                                             .buffer_bytes = 512,
                                             .warm_sends = warm});
        ASSERT_TRUE(made);
        made.value()->warm_send();
        bool reported = false;
        for (const auto& [name, value] : made.value()->features()) {
            reported = reported || (name == "warm_sends" && value == (warm ? "yes" : "no"));
        }
        EXPECT_TRUE(reported) << warm;
    }
}

// More operations than the ring has places to submit from: those before are flushed, none is lost.
TEST_F(Uring, FlushesAFullSubmissionQueue) {
    Op nobody;
    constexpr int count = 40;
    Op cancels[count];
    int results[count] = {};
    for (int i = 0; i < count; ++i) {
        submit(*driver_, cancels[i], {.kind = OpKind::cancel, .target = &nobody}, on_end,
               &results[i]);
    }
    turn_while(*driver_, [&] { return driver_->in_flight() > 0; });
    EXPECT_EQ(driver_->in_flight(), 0U);
    for (const int result : results) {
        EXPECT_EQ(result, -ENOENT) << "there was nothing to cancel";
    }
}

struct Reads {
    std::size_t bytes = 0;
    Instant stamp;
    Instant unread_since;
};

void note_read(Op& op, const Completion& done) {
    Reads& reads = *static_cast<Reads*>(op.owner);
    reads.bytes += done.bytes.size();
    reads.stamp = done.stamp;
    reads.unread_since = done.unread_since;
}

// A read says since when its bytes may have waited: not after they came, however long nobody
// looked, and not before the last look that found nothing.
TEST_F(Uring, KnowsSinceWhenBytesMayHaveWaited) {
    int pair[2];
    Reads reads;
    Op receive;
    receive_from(pair, receive, note_read, &reads);
    (void)driver_->turn({Instant{}, 16, Wait::none, true});
    for (int round = 0; round < 100; ++round) {
        const Instant looked = driver_->now();
        ASSERT_EQ(driver_->unread_since(looked), looked) << "nothing has come in round " << round;
        ASSERT_EQ(::send(pair[1], "first", 5, 0), 5);
        const Instant came = driver_->now();
        ASSERT_LE(driver_->unread_since(driver_->now()), looked);
        ASSERT_EQ(::send(pair[1], "second", 6, 0), 6);
        ASSERT_LE(driver_->unread_since(driver_->now()), looked);
        reads.bytes = 0;
        for (int turns = 0; turns < 100 && reads.bytes < 11; ++turns) {
            (void)driver_->turn({Instant{}, 16, Wait::none, true});
        }
        ASSERT_EQ(reads.bytes, 11u);
        EXPECT_EQ(reads.unread_since, looked);
        EXPECT_GT(reads.stamp, came);
    }
    ::close(pair[1]);
    for (int turns = 0; turns < 100 && receive.in_flight(); ++turns) {
        (void)driver_->turn({Instant{}, 16, Wait::none, true});
    }
    ASSERT_FALSE(receive.in_flight());
    driver_->close(Socket{pair[0]});
}

// A look for ends leaves a connection that stands alone, and tells the receive of one that has
// ended, once, whether or not the kernel would have done so: what is read may be as old as the
// lookers say.
TEST_F(Uring, FindsEnds) {
    for (const bool bytes_first : {false, true}) {
        int pair[2];
        Reads reads;
        Op receive;
        receive_from(pair, receive, note_read, &reads);
        const Instant since = driver_->now();
        const QuietReceive quiet{&receive, since};
        for (int turns = 0; turns < 5; ++turns) {
            driver_->find_ends({&quiet, 1});
            (void)driver_->turn({Instant{}, 16, Wait::none, true});
        }
        ASSERT_TRUE(receive.in_flight());
        if (bytes_first) {
            ASSERT_EQ(::send(pair[1], "bytes", 5, 0), 5);
        }
        ::close(pair[1]);
        driver_->find_ends({&quiet, 1});
        turn_while(*driver_, [&] { return receive.in_flight(); }, 100);
        ASSERT_FALSE(receive.in_flight());
        EXPECT_EQ(reads.bytes, bytes_first ? 5u : 0u);
        EXPECT_LE(reads.unread_since, since);
        driver_->close(Socket{pair[0]});
    }
}

// Whatever comes meanwhile, buffers that are lacking included: a receive that is cancelled ends,
// and is not armed again.
TEST_F(Uring, EndsAFloodedReceive) {
    const std::string flood(64 << 10, 'x');
    for (int round = 0; round < 200; ++round) {
        int pair[2];
        Reads reads;
        Op receive;
        receive_from(pair, receive, note_read, &reads);
        for (int turns = 0; turns < round % 10; ++turns) {
            (void)::send(pair[1], flood.data(), flood.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
            (void)driver_->turn({Instant{}, 2, Wait::none, true});
        }
        Op cancel;
        int result = 1;
        cancel.handler = on_end;
        cancel.owner = &result;
        cancel_once(*driver_, cancel, receive);
        ASSERT_EQ(cancel.in_flight(), true);
        for (int turns = 0; turns < 1000 && driver_->in_flight() > 0; ++turns) {
            (void)driver_->turn({driver_->now() + milliseconds(1), 2, Wait::sleep, true});
        }
        ASSERT_EQ(driver_->in_flight(), 0u) << "round " << round;
        cancel_once(*driver_, cancel, receive);
        ASSERT_FALSE(cancel.in_flight()) << "there is nothing to cancel";
        driver_->close(Socket{pair[0]});
        ::close(pair[1]);
    }
}

// A handler ends its turn; what came with it comes with the next one, and keeps its stamp.
TEST_F(Uring, EndsATurnWhereAHandlerAsks) {
    struct Ender {
        Driver* driver = nullptr;
        std::vector<Instant> stamps;
    };
    Ender ender{.driver = driver_.get()};
    int pairs[3][2];
    Op receives[3];
    for (int i = 0; i < 3; ++i) {
        const auto end_turn = [](Op& op, const Completion& done) {
            Ender& self = *static_cast<Ender*>(op.owner);
            self.stamps.push_back(done.stamp);
            self.driver->end_turn();
        };
        receive_from(pairs[i], receives[i], end_turn, &ender);
    }
    (void)driver_->turn({Instant{}, 16, Wait::none, true});
    for (const auto& pair : pairs) {
        ASSERT_EQ(::send(pair[1], "x", 1, 0), 1);
    }
    for (std::uint32_t turns = 1; turns <= 3; ++turns) {
        EXPECT_EQ(driver_->turn({Instant{}, 16, Wait::none, true}).completions, 1u);
        ASSERT_EQ(ender.stamps.size(), turns);
        EXPECT_EQ(ender.stamps.back(), ender.stamps.front());
    }
    for (int i = 0; i < 3; ++i) {
        ::close(pairs[i][1]);
        for (int turns = 0; turns < 100 && receives[i].in_flight(); ++turns) {
            (void)driver_->turn({Instant{}, 16, Wait::none, true});
        }
        driver_->close(Socket{pairs[i][0]});
    }
}

// A sleeping turn never returns before its instant when nothing completes.
TEST_F(Uring, WaitsAsItIsTold) {
    const Instant until = driver_->now() + milliseconds(3);
    EXPECT_TRUE(driver_->turn({until, 16, Wait::sleep, true}).slept);
    EXPECT_GE(driver_->now().ns, until.ns);
    // A spinning turn returns at once and makes no system call.
    const auto enters = driver_->counters().enters;
    for (int i = 0; i < 1000; ++i) {
        (void)driver_->turn({driver_->now() + seconds(1), 16, Wait::spin, true});
    }
    EXPECT_EQ(driver_->counters().enters, enters);
}

// The ring serves all: what ends at once and is submitted again does not keep from us what others
// have brought.

void on_bytes(Op& op, const Completion& done) {
    static_cast<std::string*>(op.owner)->append(done.bytes);
}

void cancel_again(Op& op, const Completion&) {
    (*static_cast<Driver**>(op.owner))->submit(op);
}

// Operations that end at once and are submitted again do not keep bytes in the kernel.
TEST(UringFairness, ReadsBesideOperationsThatEndAtOnce) {
    auto made = UringDriver::make(UringOptions());
    if (!made) {
        GTEST_SKIP() << "io_uring is not available: errno " << made.error().sys_errno;
    }
    const std::unique_ptr<UringDriver> driver = std::move(made).value();
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    std::string got;
    Op receive;
    submit(*driver, receive, {.kind = OpKind::receive, .socket = Socket{pair[0]}}, on_bytes, &got);
    Driver* again = driver.get();
    Op nobody;
    Op cancels[64];  // more than a turn takes
    for (Op& cancel : cancels) {
        submit(*driver, cancel, {.kind = OpKind::cancel, .target = &nobody}, cancel_again, &again);
    }
    const auto turn = [&] { (void)driver->turn({Instant{}, 16, Wait::none, true}); };
    for (int turns = 0; turns < 100; ++turns) {
        turn();
    }
    ASSERT_EQ(::send(pair[1], "bytes", 5, 0), 5);
    for (int turns = 0; turns < 100 && got.empty(); ++turns) {
        turn();
    }
    EXPECT_EQ(got, "bytes");
    for (Op& cancel : cancels) {
        cancel.handler = [](Op&, const Completion&) {};
    }
    ::close(pair[1]);
    for (int turns = 0; turns < 1000 && driver->in_flight() > 0; ++turns) {
        turn();
    }
    EXPECT_EQ(driver->in_flight(), 0u);
    driver->close(Socket{pair[0]});
}

}  // namespace

}  // namespace driftless
