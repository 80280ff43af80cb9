#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <future>
#include <string>
#include <thread>

#include "cmd/mock/mock.hpp"
#include "engine/io/uring.hpp"
#include "tests/unit/cmd/mock/player.hpp"
#include "tests/unit/texts.hpp"

namespace driftless::mock {
namespace {

const volatile std::sig_atomic_t never_stop = 0;

/// A server on a thread of its own, at a port that the kernel chose. Ends after its requests.
class RunningServer {
  public:
    RunningServer(const CoreOptions& core, std::uint64_t requests)
        : thread_(&RunningServer::run, this, core, requests) {
        address_ = listening_.get_future().get();
    }
    ~RunningServer() { thread_.join(); }

    bool up() const { return address_.length != 0; }

    int connect() const {
        const int number = ::socket(AF_INET, SOCK_STREAM, 0);
        EXPECT_EQ(::connect(number, address_.raw(), address_.length), 0);
        return number;
    }

  private:
    void run(CoreOptions options, std::uint64_t requests) {
        UringOptions ring;
        ring.buffers = 64;
        auto driver = UringDriver::make(ring);
        if (!driver) {
            listening_.set_value({});
            return;
        }
        MockCore core(options);
        ServerOptions server_options;
        server_options.requests_max = requests;
        MockServer server(*driver.value(), core, nullptr, server_options);
        const auto address = server.listen(resolve("127.0.0.1", 0).value().front());
        listening_.set_value(address ? address.value() : Address{});
        server.run(never_stop);
    }

    std::promise<Address> listening_;
    Address address_;
    std::thread thread_;
};

void send_all(int number, const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
        const ssize_t sent = ::send(number, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
        ASSERT_GT(sent, 0);
        at += static_cast<std::size_t>(sent);
    }
}

/// Reads until `end` has come or the peer ends; the errno of how it ended, 0: in good order.
int read_until(int number, const std::string& end, std::string& got) {
    char buffer[4096];
    while (end.empty() || !got.ends_with(end)) {
        const ssize_t bytes = ::recv(number, buffer, sizeof buffer, 0);
        if (bytes <= 0) {
            return bytes < 0 ? errno : 0;
        }
        got.append(buffer, static_cast<std::size_t>(bytes));
    }
    return 0;
}

CoreOptions fast() {
    CoreOptions options;
    options.pace.first = microseconds(50);
    options.pace.between = microseconds(20);
    return options;
}

// Over real sockets: two streams on one connection, a prompt larger than any buffer among them.
TEST(MockServer, StreamsOverSockets) {
    RunningServer server(fast(), 2);
    if (!server.up()) {
        GTEST_SKIP() << "io_uring cannot be set up here";
    }
    const int number = server.connect();
    for (const std::size_t words : {3, 60'000}) {
        send_all(number, chat(words, 30));
        std::string response;
        ASSERT_EQ(read_until(number, "\r\n0\r\n\r\n", response), 0);
        const std::vector<std::string> events = events_of(response);
        ASSERT_EQ(events.size(), 33u);
        const std::string usage = "\"prompt_tokens\":" + std::to_string(words) + ",";
        EXPECT_TRUE(says(events[31], usage));
    }
    ::close(number);
}

// The ways in which a connection may end: a reset, an early end in good order, a refusal.
TEST(MockServer, EndsConnectionsAsTheFaultsSay) {
    CoreOptions options = fast();
    options.faults = {{Fault::reset, 0, 1}, {Fault::truncate, 0, 2}, {Fault::refuse, 0, 3}};
    RunningServer server(options, 3);
    if (!server.up()) {
        GTEST_SKIP() << "io_uring cannot be set up here";
    }
    const auto ask = [&](const char* id, std::string& response) {
        const int number = server.connect();
        send_all(number, chat(3, 30, "X-Request-Id: " + std::string(id) + "\r\n"));
        const int ended = read_until(number, "", response);
        ::close(number);
        return ended;
    };
    std::string reset;
    EXPECT_EQ(ask("r-1", reset), ECONNRESET);
    EXPECT_EQ(status_of(reset), 200);
    std::string truncated;
    EXPECT_EQ(ask("r-2", truncated), 0);
    bool complete = true;
    EXPECT_EQ(events_of(truncated, &complete).size(), 1 + 15u);
    EXPECT_FALSE(complete);
    std::string refused;
    EXPECT_EQ(ask("r-3", refused), ECONNRESET);
    EXPECT_EQ(refused, "");
}

// Clients that leave in the middle are cleaned up, and the server still ends by itself.
TEST(MockServer, SurvivesClientsThatLeave) {
    RunningServer server(fast(), 9);
    if (!server.up()) {
        GTEST_SKIP() << "io_uring cannot be set up here";
    }
    for (int i = 0; i < 8; ++i) {
        const int number = server.connect();
        send_all(number, chat(3, 100'000));
        std::string some;
        (void)read_until(number, "\n\n\r\n", some);
        const linger at_once{1, 0};
        if (i % 2 == 0) {
            ::setsockopt(number, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        }
        ::close(number);
    }
    const int number = server.connect();
    send_all(number, chat(3, 2, "Connection: close\r\n"));
    std::string response;
    EXPECT_EQ(read_until(number, "", response), 0);
    EXPECT_EQ(events_of(response).size(), 5u);
    ::close(number);
}

}  // namespace
}  // namespace driftless::mock
