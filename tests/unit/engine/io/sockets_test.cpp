// A name leads to whichever of its addresses answers first, in bounded time.

#include "engine/io/sockets.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>

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

}  // namespace

}  // namespace driftless
