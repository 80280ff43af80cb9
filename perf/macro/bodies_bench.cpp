// A body of 2 MB on its way into the socket: in one piece, in the slices of the replay loop, and in
// those under TCP_NOTSENT_LOWAT, one after the other in each pass. What counts is the longest step:
// so long the loop looks at nothing else.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <thread>

#include "engine/host/host.hpp"
#include "engine/io/driver.hpp"
#include "engine/io/sockets.hpp"
#include "engine/machines/calibration_floor.hpp"
#include "engine/replay/exchanges.hpp"
#include "perf/macro/benches.hpp"
#include "perf/macro/stage.hpp"

namespace driftless::perf {

namespace {

constexpr int rounds = 200;
constexpr std::size_t body_bytes = 2 << 20;

struct Way {
    const char* name;
    std::size_t slice_bytes;
    int unsent_bytes_max;  ///< TCP_NOTSENT_LOWAT; 0: not set
};
constexpr std::array ways{
    Way{"in one piece", body_bytes, 0}, Way{"in slices of 64 KiB", Exchanges::rest_bytes_max, 0},
    Way{"in slices, NOTSENT_LOWAT 128 KiB", Exchanges::rest_bytes_max, 131072},
    Way{"in one piece, NOTSENT_LOWAT 128 KiB", body_bytes, 131072}};

void drain(int listening, std::uint32_t cpu) {
    (void)pin_this_thread(cpu);
    const int peer = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    CHECK(peer >= 0);
    std::string sink(1 << 18, ' ');
    while (::recv(peer, sink.data(), sink.size(), 0) > 0) {
    }
    ::close(peer);
}

struct Send {
    Op op;
    std::int32_t result = 0;
};

void on_sent(Op& op, const Completion& done) {
    static_cast<Send*>(op.owner)->result = done.result;
}

/// The steps of one way: the longest and the sum of the calls of each body, and the whole time.
struct Steps {
    std::vector<std::int64_t> longest;
    std::vector<std::int64_t> in_calls;
    std::vector<std::int64_t> whole;
};

void send_body(Driver& driver, Socket socket, const Way& way, const std::string& body,
               Steps& steps) {
    Send send;
    send.op.spec.kind = OpKind::send;
    send.op.spec.socket = socket;
    send.op.handler = on_sent;
    send.op.owner = &send;
    std::int64_t longest = 0;
    std::int64_t in_calls = 0;
    const Instant begun = driver.now();
    const auto step = [&](auto&& call) {
        const Instant before = driver.now();
        call();
        const std::int64_t taken = (driver.now() - before).ns;
        longest = std::max(longest, taken);
        in_calls += taken;
    };
    for (std::size_t sent = 0; sent < body.size();) {
        send.op.spec.bytes = std::string_view(body).substr(sent, way.slice_bytes);
        step([&] {
            driver.submit(send.op);
            driver.flush();
        });
        while (send.op.in_flight()) {
            step([&] { (void)driver.turn({driver.now(), 16, Wait::none, true}); });
        }
        CHECK(send.result > 0);
        sent += static_cast<std::size_t>(send.result);
    }
    steps.longest.push_back(longest);
    steps.in_calls.push_back(in_calls);
    steps.whole.push_back((driver.now() - begun).ns);
}

std::string us(std::int64_t ns) {
    char text[32];
    (void)std::snprintf(text, sizeof text, "%.1f us", static_cast<double>(ns) / 1e3);
    return text;
}

}  // namespace

void bench_bodies() {
    const Cores cores = take_cores();
    DriverOptions options;
    options.ops_max = 16;
    const Result<std::unique_ptr<Driver>> made = make_driver(options);
    CHECK(static_cast<bool>(made));
    Driver& driver = *made.value();
    const std::string body(body_bytes, 'x');
    const Result<std::vector<Address>> any = resolve("127.0.0.1", 0);
    std::array<Steps, ways.size()> steps;
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < ways.size(); ++i) {
            const Result<Socket> listening = make_listening_socket(any.value().front(), 1);
            const Result<Address> address = local_address_of(listening.value());
            std::thread server(drain, listening.value().number, cores.other);
            const Socket socket = driver.open_socket(address.value()).value();
            if (ways[i].unsent_bytes_max > 0) {
                CHECK(::setsockopt(socket.number, IPPROTO_TCP, TCP_NOTSENT_LOWAT,
                                   &ways[i].unsent_bytes_max, sizeof(int)) == 0);
            }
            CHECK(::connect(socket.number, address.value().raw(), address.value().length) == 0);
            send_body(driver, socket, ways[i], body, steps[i]);
            driver.shutdown(socket);
            driver.close(socket);
            server.join();
            ::close(listening.value().number);
        }
    }
    const Spread one_piece = spread_of(steps[0].longest);
    for (std::size_t i = 0; i < ways.size(); ++i) {
        const Spread longest = spread_of(steps[i].longest);
        const Spread in_calls = spread_of(steps[i].in_calls);
        const Spread whole = spread_of(steps[i].whole);
        char ratio[32];
        (void)std::snprintf(
            ratio, sizeof ratio, "%.2f",
            static_cast<double>(longest.p50_ns) / static_cast<double>(one_piece.p50_ns));
        print_row(std::string("longest step of a body of 2 MB, ") + ways[i].name + ", p50 (p99 " +
                      us(longest.p99_ns) + ", calls " + us(in_calls.p50_ns) + ", whole " +
                      us(whole.p50_ns) + "; floor: one piece)",
                  us(longest.p50_ns), us(one_piece.p50_ns), ratio, "");
    }
}

}  // namespace driftless::perf
