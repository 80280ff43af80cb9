// The drivers of this host, each held to what driver.hpp says.

#include "engine/io/driver.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

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

// Over real sockets of this host: connect, accept, send, receive across tiny buffers, end of
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

class Drivers : public ::testing::TestWithParam<DriverKind> {
  protected:
    void SetUp() override {
        DriverOptions options{.ops_max = 64, .submit_entries = 16};
        options.buffers = 4;  // few and small, so that receives run out of them
        options.buffer_bytes = 512;
        options.stamps = {true, true};
        driver_ = made(options);
        if (driver_ == nullptr) {
            GTEST_SKIP() << name_of(GetParam()) << " is not available";
        }
    }

    static std::unique_ptr<Driver> made(DriverOptions options) {
        options.kind = GetParam();
        auto driver = make_driver(options);
        return driver ? std::move(driver).value() : nullptr;
    }

    /// What is there; no sleep.
    TurnResult look() { return driver_->turn({Instant{}, 16, Wait::none, true}); }

    void turn_until(const bool& condition) {
        turn_while(*driver_, [&] { return !condition; }, 100'000);
        ASSERT_TRUE(condition);
    }

    /// The peer closes, the receive ends, the socket is closed.
    void end(int (&pair)[2], Op& receive) {
        ::close(pair[1]);
        turn_while(*driver_, [&] { return receive.in_flight(); }, 10'000);
        ASSERT_FALSE(receive.in_flight());
        driver_->close(Socket{pair[0]});
    }

    /// Receives from the first of two connected sockets.
    void receive_from(int (&pair)[2], Op& receive, Op::Handler handler, void* owner) {
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        submit(*driver_, receive, {.kind = OpKind::receive, .socket = Socket{pair[0]}}, handler,
               owner);
    }

    std::unique_ptr<Driver> driver_;
};

struct Sender {
    Op op;
    Signal ended;
    std::int32_t result = 0;
};

Task<void> send_all(Loop& loop, Sender& sender, Socket socket, const Address& address,
                    std::string bytes, bool& done) {
    Op& op = sender.op;
    op.owner = &sender;
    op.handler = [](Op& ended, const Completion& completion) {
        static_cast<Sender*>(ended.owner)->result = completion.result;
        static_cast<Sender*>(ended.owner)->ended.notify();
    };
    op.spec.kind = OpKind::connect;
    op.spec.socket = socket;
    op.spec.address = &address;
    loop.driver().submit(op);
    co_await sender.ended.wait();
    EXPECT_EQ(sender.result, 0);
    std::size_t sent = 0;
    while (sent < bytes.size()) {
        op.spec.kind = OpKind::send;
        op.spec.bytes = std::string_view(bytes).substr(sent);
        loop.driver().submit(op);
        co_await sender.ended.wait();
        if (sender.result <= 0) {
            break;
        }
        sent += static_cast<std::size_t>(sender.result);
    }
    EXPECT_EQ(sent, bytes.size());
    done = true;
}

// A megabyte arrives whole and in order through four buffers of 512 bytes: running out of buffers
// ends the kernel's multishot receive, and the driver arms it again unseen.
TEST_P(Drivers, MovesBytesThroughFewBuffers) {
    const auto listener = driver_->listen(resolve("127.0.0.1", 0).value()[0], 8).value();
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
        Sender sender;
        bool done = false;
        loop.jobs().spawn(send_all(loop, sender, client, local, bytes, done));
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
TEST_P(Drivers, WaitsForRoomWithoutAThread) {
    const std::size_t threads = threads_of_this_process();  // a sanitizer may have one of its own
    for (const bool reads : {true, false}) {
        int pair[2];
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        const std::string bytes(64 << 10, 'x');
        Op op;
        int result = 1;
        op.spec = {.kind = OpKind::send, .socket = Socket{pair[0]}, .bytes = bytes};
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

TEST_P(Drivers, EndsWhatIsCancelled) {
    const auto listener = driver_->listen(resolve("127.0.0.1", 0).value()[0], 8).value();
    expect_cancel_ends(*driver_, driver_->local_address(listener).value());
    driver_->close(listener);
}

// A connect to a port where nobody listens ends with -ECONNREFUSED.
TEST_P(Drivers, ReportsRefusal) {
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
TEST_P(Drivers, WarmsItsSends) {
    for (const bool warm : {false, true}) {
        const auto driver = made({.ops_max = 8,
                                  .submit_entries = 8,
                                  .buffers = 4,
                                  .buffer_bytes = 512,
                                  .warm_sends = warm});
        ASSERT_NE(driver, nullptr);
        driver->warm_send();
        bool reported = false;
        for (const auto& [name, value] : driver->facts().features) {
            reported = reported || (name == "warm_sends" && value == (warm ? "yes" : "no"));
        }
        EXPECT_TRUE(reported) << warm;
    }
}

// More operations than a ring has places to submit from: those before are flushed, none is lost.
TEST_P(Drivers, EndsACancelOfNothing) {
    expect_nothing_to_cancel(*driver_);
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
TEST_P(Drivers, KnowsSinceWhenBytesMayHaveWaited) {
    int pair[2];
    Reads reads;
    Op receive;
    receive_from(pair, receive, note_read, &reads);
    (void)look();
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
            (void)look();
        }
        ASSERT_EQ(reads.bytes, 11u);
        EXPECT_EQ(reads.unread_since, looked);
        EXPECT_GT(reads.stamp, came);
    }
    end(pair, receive);
}

// A look for ends leaves a connection that stands alone, and tells the receive of one that has
// ended, once, whether or not the kernel would have done so: what is read may be as old as the
// lookers say, where a kernel can lose an end.
TEST_P(Drivers, FindsEnds) {
    for (const bool bytes_first : {false, true}) {
        int pair[2];
        Reads reads;
        Op receive;
        receive_from(pair, receive, note_read, &reads);
        const Instant since = driver_->now();
        const QuietReceive quiet{&receive, since};
        for (int turns = 0; turns < 5; ++turns) {
            driver_->find_ends({&quiet, 1});
            (void)look();
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
        if (GetParam() == DriverKind::io_uring) {
            EXPECT_LE(reads.unread_since, since);
        }
        driver_->close(Socket{pair[0]});
    }
}

// Whatever comes meanwhile, buffers that are lacking included: a receive that is cancelled ends,
// and is not armed again.
TEST_P(Drivers, EndsAFloodedReceive) {
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
TEST_P(Drivers, EndsATurnWhereAHandlerAsks) {
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
    (void)look();
    for (const auto& pair : pairs) {
        ASSERT_EQ(::send(pair[1], "x", 1, 0), 1);
    }
    for (std::uint32_t turns = 1; turns <= 3; ++turns) {
        EXPECT_EQ(look().completions, 1u);
        ASSERT_EQ(ender.stamps.size(), turns);
        EXPECT_EQ(ender.stamps.back(), ender.stamps.front());
    }
    for (int i = 0; i < 3; ++i) {
        end(pairs[i], receives[i]);
    }
}

// A sleeping turn never returns before its instant when nothing completes, and long waits are as
// sharp as short ones.
TEST_P(Drivers, WaitsAsItIsTold) {
    expect_sleeps_until(*driver_);
    expect_sleeps_until(*driver_);  // a timer may still be set
    // A spinning turn returns at once. Looking at a ring takes no system call, and no driver makes
    // one where a row is about to leave.
    for (const bool may_enter : {true, false}) {
        const auto enters = driver_->counters().enters;
        for (int i = 0; i < 1000; ++i) {
            (void)driver_->turn({driver_->now() + seconds(1), 16, Wait::spin, may_enter});
        }
        const bool looks = may_enter && GetParam() == DriverKind::epoll;
        EXPECT_EQ(driver_->counters().enters, enters + (looks ? 1000u : 0u));
    }
}

// A look that finds nothing says that it did nothing: a loop that goes on as long as there is
// something would never sleep.
TEST_P(Drivers, FindsNothingWhereNothingIs) {
    int pair[2];
    Reads reads;
    Op receive;
    receive_from(pair, receive, note_read, &reads);
    (void)look();
    for (int round = 0; round < 10; ++round) {
        (void)look();  // a ring may have to be entered once in vain
        const TurnResult nothing = look();
        EXPECT_FALSE(nothing.entered || nothing.more) << round;
        EXPECT_EQ(nothing.completions, 0u);
        ASSERT_EQ(::send(pair[1], "x", 1, 0), 1);
        turn_while(*driver_, [&] { return reads.bytes == static_cast<std::size_t>(round); });
    }
    EXPECT_EQ(reads.bytes, 10u);
    end(pair, receive);
}

// What became visible together has one stamp, and bytes that came after it are not among it,
// however long the handlers before take.
TEST_P(Drivers, StampsABatchBehindItsBytes) {
    struct Reader {
        int peer_of_other = -1;
        std::string got;
        Instant stamp;
    };
    Reader readers[2];
    int pairs[2][2];
    Op receives[2];
    for (int i = 0; i < 2; ++i) {
        const auto read = [](Op& op, const Completion& done) {
            Reader& self = *static_cast<Reader*>(op.owner);
            self.got += done.bytes;
            self.stamp = done.stamp;
            if (!done.bytes.empty()) {
                (void)::send(self.peer_of_other, "late", 4, MSG_NOSIGNAL);
            }
        };
        receive_from(pairs[i], receives[i], read, &readers[i]);
    }
    readers[0].peer_of_other = pairs[1][1];
    readers[1].peer_of_other = pairs[0][1];
    (void)look();
    for (const auto& pair : pairs) {
        ASSERT_EQ(::send(pair[1], "early", 5, 0), 5);
    }
    EXPECT_EQ(look().completions, 2u);
    EXPECT_EQ(std::tuple(readers[0].got, readers[1].got, readers[0].stamp),
              std::tuple("early", "early", readers[1].stamp));
    const Instant before = driver_->now();
    EXPECT_EQ(look().completions, 2u);
    EXPECT_EQ(readers[0].got, "earlylate");
    EXPECT_GE(readers[0].stamp, before);
    readers[0].peer_of_other = readers[1].peer_of_other = -1;
    for (int i = 0; i < 2; ++i) {
        end(pairs[i], receives[i]);
    }
}

struct Clocked {
    std::string open;  ///< the begin of a number whose end has not come
    std::int64_t count = 0;
    std::int64_t early = 0;
};

void note_clock(Op& op, const Completion& done) {
    Clocked& clocked = *static_cast<Clocked*>(op.owner);
    clocked.open += done.bytes;
    std::int64_t sent_ns = 0;
    for (; clocked.open.size() >= sizeof sent_ns; clocked.open.erase(0, sizeof sent_ns)) {
        std::memcpy(&sent_ns, clocked.open.data(), sizeof sent_ns);
        ++clocked.count;
        clocked.early += done.stamp.ns < sent_ns ? 1 : 0;
    }
}

// Each piece holds what the clock showed before it was sent: none is stamped earlier, though many
// sockets are read for one stamp.
TEST_P(Drivers, StampsNothingBeforeItCame) {
    driver_ = made({.ops_max = 64, .submit_entries = 16, .buffers = 64, .buffer_bytes = 512});
    ASSERT_NE(driver_, nullptr);
    constexpr std::size_t sockets = 12;
    constexpr std::int64_t pieces = 5'000;  // a socket
    int pairs[sockets][2];
    Clocked clocked[sockets];
    Op receives[sockets];
    for (std::size_t i = 0; i < sockets; ++i) {
        receive_from(pairs[i], receives[i], note_clock, &clocked[i]);
    }
    (void)look();
    std::thread sender([&pairs] {
        for (std::size_t i = 0; i < sockets * pieces; ++i) {
            timespec time{};
            (void)::clock_gettime(CLOCK_MONOTONIC, &time);
            const std::int64_t now_ns = time.tv_sec * 1'000'000'000 + time.tv_nsec;
            (void)::send(pairs[i % sockets][1], &now_ns, sizeof now_ns, MSG_NOSIGNAL);
        }
    });
    for (const Clocked& one : clocked) {
        while (one.count < pieces) {  // ends: the sender does
            (void)driver_->turn({Instant{}, 16, Wait::spin, true});
        }
    }
    sender.join();
    for (std::size_t i = 0; i < sockets; ++i) {
        EXPECT_EQ(clocked[i].early, 0);
        end(pairs[i], receives[i]);
    }
}

// A socket that floods us takes no turn from one that brings a byte.
TEST_P(Drivers, ReadsBesideAFlood) {
    driver_ = made({.ops_max = 64, .submit_entries = 16, .buffers = 64, .buffer_bytes = 512});
    ASSERT_NE(driver_, nullptr);
    int flooded[2];
    int quiet[2];
    Reads flood;
    Reads byte;
    Op flooded_receive;
    Op quiet_receive;
    receive_from(flooded, flooded_receive, note_read, &flood);
    receive_from(quiet, quiet_receive, note_read, &byte);
    (void)look();
    const std::string bytes(64 << 10, 'x');
    ASSERT_EQ(::send(quiet[1], "x", 1, 0), 1);
    while (::send(flooded[1], bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
    }
    for (int turns = 0; turns < 16 && byte.bytes == 0; ++turns) {
        (void)look();
    }
    EXPECT_EQ(byte.bytes, 1u);
    turn_while(*driver_, [&] { return flood.bytes < bytes.size(); });
    end(flooded, flooded_receive);
    end(quiet, quiet_receive);
}

// What another one reads on a socket's number after it was closed is nothing of the first.
TEST_P(Drivers, TakesANumberAgain) {
    for (int round = 0; round < 20; ++round) {
        int pair[2];
        Reads reads;
        Op receive;
        receive_from(pair, receive, note_read, &reads);
        (void)look();
        ASSERT_EQ(::send(pair[1], "bytes", 5, 0), 5);
        turn_while(*driver_, [&] { return reads.bytes < 5; });
        EXPECT_EQ(reads.bytes, 5u);
        if (round % 2 == 0) {
            ASSERT_EQ(::send(pair[1], "unread", 6, 0), 6);
            (void)driver_->unread_since(driver_->now());  // it may be in line to be read
        }
        end(pair, receive);
        EXPECT_LE(reads.bytes, 11u);
    }
}

// Transmit stamps that nobody fetches lie on their socket: they do not end sleeps again and again.
TEST_P(Drivers, SleepsBesideUnfetchedStamps) {
    const auto listener = driver_->listen(resolve("127.0.0.1", 0).value()[0], 8).value();
    const auto local = driver_->local_address(listener).value();
    const auto client = driver_->open_socket(local).value();
    Op connect;
    int connected = 1;
    submit(*driver_, connect, {.kind = OpKind::connect, .socket = client, .address = &local},
           on_end, &connected);
    turn_while(*driver_, [&] { return connected == 1; });
    ASSERT_EQ(connected, 0);
    ASSERT_TRUE(driver_->switch_on_stamps(client).transmit);
    Reads reads;
    Op receive;
    submit(*driver_, receive, {.kind = OpKind::receive, .socket = client}, note_read, &reads);
    Op send;
    int sent = 0;
    submit(*driver_, send, {.kind = OpKind::send, .socket = client, .bytes = "row"}, on_end, &sent);
    turn_while(*driver_, [&] { return sent == 0; });
    ASSERT_EQ(sent, 3);
    const auto enters = driver_->counters().enters;
    const Instant until = driver_->now() + milliseconds(20);
    while (driver_->now() < until) {
        (void)driver_->turn({until, 16, Wait::sleep, true});
    }
    EXPECT_LE(driver_->counters().enters - enters, 40u);  // else thousands; other wakes are few
    driver_->shutdown(client);
    turn_while(*driver_, [&] { return driver_->in_flight() > 0; });
    ASSERT_EQ(driver_->in_flight(), 0u);
    driver_->close(client);
    driver_->close(listener);
}

void cancel_again(Op& op, const Completion&) {
    (*static_cast<Driver**>(op.owner))->submit(op);
}

// Operations that end at once and are submitted again do not keep bytes in the kernel.
TEST_P(Drivers, ReadsBesideOperationsThatEndAtOnce) {
    driver_ = made({});
    ASSERT_NE(driver_, nullptr);
    int pair[2];
    Peer peer;
    receive_from(pair, peer.receive, on_receive, &peer);
    Driver* again = driver_.get();
    Op nobody;
    Op cancels[64];  // more than a turn takes
    for (Op& cancel : cancels) {
        submit(*again, cancel, {.kind = OpKind::cancel, .target = &nobody}, cancel_again, &again);
    }
    for (int turns = 0; turns < 100; ++turns) {
        (void)look();
    }
    ASSERT_EQ(::send(pair[1], "bytes", 5, 0), 5);
    for (int turns = 0; turns < 100 && peer.got.empty(); ++turns) {
        (void)look();
    }
    EXPECT_EQ(peer.got, "bytes");
    for (Op& cancel : cancels) {
        cancel.handler = [](Op&, const Completion&) {};
    }
    end(pair, peer.receive);
    turn_while(*driver_, [&] { return driver_->in_flight() > 0; });
    EXPECT_EQ(driver_->in_flight(), 0u);
}

INSTANTIATE_TEST_SUITE_P(OfThisHost, Drivers,
                         ::testing::Values(DriverKind::io_uring, DriverKind::epoll),
                         [](const auto& one) { return std::string(name_of(one.param)); });

}  // namespace

}  // namespace driftless
