// Laps of a small ring of transmit stamps: none is lost or read twice, whatever places the kernel
// passes over.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <map>

#include "engine/io/driver.hpp"
#include "engine/io/io_ring.hpp"
#include "engine/io/sockets.hpp"
#include "proto/core/hash.hpp"

namespace driftless {
namespace {

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
    EXPECT_FALSE(stamps.next(entry));
    EXPECT_FALSE(stamps.waiting(now));
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
        EXPECT_EQ(entry.user_data, cancel);
        EXPECT_EQ(entry.result, -ENOENT);
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
