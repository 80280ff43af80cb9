// Kernel stamps over real loopback sockets, by the ring and by the error queues: each send is
// stamped once, keyed by its last byte, between our looks at the clock before and after it; so is
// each receive. A Unix socket has none, and says so.
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "engine/io/uring.hpp"

namespace driftless {
namespace {

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

/// A connected pair of sockets of one driver, with stamps on both.
class Stamps : public ::testing::TestWithParam<bool> {
  protected:
    void SetUp() override {
        UringOptions options;
        options.ops_max = 64;
        options.submit_entries = 16;
        options.buffers = 64;
        options.stamps = {true, true};
        options.stamp_ring = GetParam();
        auto made = UringDriver::make(options);
        if (!made) {
            GTEST_SKIP() << "io_uring is not available: errno " << made.error().sys_errno;
        }
        driver_ = std::move(made).value();
        if (GetParam() && feature("transmit_stamps") != "io_uring") {
            GTEST_SKIP() << "this kernel has no transmit stamps by io_uring (Linux 6.17)";
        }
    }

    std::string feature(const std::string& name) {
        for (const auto& [key, value] : driver_->features()) {
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
        const auto listener = driver_->listen(address, 8);
        ASSERT_TRUE(listener);
        const auto local = driver_->local_address(listener.value());
        ASSERT_TRUE(local);
        Op accept;
        Heard accepted;
        accept.spec.kind = OpKind::accept;
        accept.spec.socket = listener.value();
        accept.handler = on_result;
        accept.owner = &accepted;
        driver_->submit(accept);
        const auto client = driver_->open_socket(local.value());
        ASSERT_TRUE(client);
        client_ = client.value();
        Op connect;
        Heard connected;
        connect.spec.kind = OpKind::connect;
        connect.spec.socket = client_;
        connect.spec.address = &local.value();
        connect.handler = on_result;
        connect.owner = &connected;
        driver_->submit(connect);
        for (int turns = 0; turns < 1000 && (connect.in_flight() || accepted.total == 0); ++turns) {
            (void)driver_->turn({driver_->now() + milliseconds(1), 16, Wait::sleep, true});
        }
        ASSERT_EQ(connected.last_result, 0);
        peer_ = Socket{accepted.last_result};
        cancel(accept);
        ASSERT_TRUE(turn_until_idle(0));
        driver_->close(listener.value());
    }

    void cancel(Op& target) {
        cancel_.spec.kind = OpKind::cancel;
        cancel_.spec.target = &target;
        cancel_.handler = on_result;
        cancel_.owner = &cancelled_;
        driver_->submit(cancel_);
        driver_->flush();
        for (int turns = 0; turns < 1000 && (cancel_.in_flight() || target.in_flight()); ++turns) {
            (void)driver_->collect_stamps(16, nullptr);
            (void)driver_->turn({driver_->now() + milliseconds(1), 16, Wait::sleep, true});
        }
    }

    void watch(Op& op, OpKind kind, Socket socket, Heard& heard) {
        op.spec.kind = kind;
        op.spec.socket = socket;
        op.spec.kernel_stamps = kind == OpKind::receive;
        op.handler = kind == OpKind::receive ? on_receive : on_stamp;
        op.owner = &heard;
        driver_->submit(op);
    }

    void send(const std::string& bytes, const Op& stamps) {
        Op op;
        Heard sent;
        op.spec.kind = OpKind::send;
        op.spec.socket = client_;
        op.spec.bytes = bytes;
        op.spec.stamps = &stamps;
        op.handler = on_result;
        op.owner = &sent;
        driver_->submit(op);
        driver_->flush();
        for (int turns = 0; turns < 1000 && op.in_flight(); ++turns) {
            (void)driver_->turn({driver_->now() + milliseconds(1), 16, Wait::sleep, true});
        }
        ASSERT_EQ(sent.total, static_cast<std::int64_t>(bytes.size()));
    }

    void close_pair() {
        driver_->shutdown(client_);
        driver_->shutdown(peer_);
        ASSERT_TRUE(turn_until_idle(0));
        driver_->close(client_);
        driver_->close(peer_);
    }

    std::unique_ptr<UringDriver> driver_;
    Socket client_;
    Socket peer_;
    Op cancel_;
    Heard cancelled_;
};

TEST_P(Stamps, EachSendAndEachReceiveHasOne) {
    auto address = resolve("127.0.0.1", 0);
    ASSERT_TRUE(address);
    connect_pair(address.value()[0]);
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
        for (int turns = 0; turns < 1000 && got.bytes.size() < bytes; ++turns) {
            (void)driver_->turn({driver_->now() + milliseconds(1), 16, Wait::sleep, true});
        }
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
        for (int turns = 0; turns < 1000 && got.bytes.size() < bytes; ++turns) {
            (void)driver_->turn({driver_->now() + milliseconds(1), 16, Wait::sleep, true});
        }
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

// What is not asked for does not come: a receive without stamps tells bytes only.
TEST_P(Stamps, ReceivesWithoutThemAreAsBefore) {
    auto address = resolve("127.0.0.1", 0);
    ASSERT_TRUE(address);
    connect_pair(address.value()[0]);
    Op receive;
    Op none;
    Heard got;
    watch(receive, OpKind::receive, peer_, got);
    cancel(receive);
    receive.spec.kernel_stamps = false;
    driver_->submit(receive);
    send("hello", none);
    for (int turns = 0; turns < 1000 && got.bytes.size() < 5; ++turns) {
        (void)driver_->turn({driver_->now() + milliseconds(1), 16, Wait::sleep, true});
    }
    EXPECT_EQ(got.bytes, "hello");
    ASSERT_EQ(got.receives.size(), 1u);
    EXPECT_EQ(got.receives[0].kernel_ns, 0);
    close_pair();
}

TEST_P(Stamps, UnixSocketsHaveNone) {
    auto address = unix_address("@driftless-stamps-" + std::to_string(GetParam()));
    ASSERT_TRUE(address);
    const auto socket = driver_->open_socket(address.value());
    ASSERT_TRUE(socket);
    const StampSupport support = driver_->switch_on_stamps(socket.value());
    EXPECT_FALSE(support.transmit || support.receive);
    driver_->close(socket.value());
}

INSTANTIATE_TEST_SUITE_P(BothWays, Stamps, ::testing::Values(true, false),
                         [](const auto& test) { return test.param ? "Ring" : "ErrorQueue"; });

}  // namespace
}  // namespace driftless
