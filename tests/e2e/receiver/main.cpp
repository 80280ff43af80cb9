// The independent receiver: a plain blocking HTTP server, one thread per connection, that shares no
// code with the product. It stamps what arrives by the kernel's receive time, sends tokens on a
// schedule, and writes what it saw: the truth that the end-to-end tests hold records against.
//
//   receiver --log FILE [--first-ms A] [--between-ms B] [--overhead N] [--status S] [--rows-only]
//            [--idle-ms N] [--between-us U] [--per-write TOKENS] [--lose PER_MILLE]
//            [--announce] [--read-mb-s N]
//            [--cert FILE --key FILE]   https
//   receiver --floor N     one-way times of a 300-byte send on loopback, kernel receive stamp minus
//                          the clock before send(): what any client pays on this host, now

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/e2e/receiver/connection.hpp"
#include "tests/e2e/receiver/wire.hpp"

namespace {

[[noreturn]] void die(const char* doing) {
    std::fprintf(stderr, "receiver: %s: %s\n", doing, std::strerror(errno));
    std::exit(1);
}

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
}

int listen_on_free_port(std::uint16_t& port) {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        listen(listener, 4096) != 0) {
        die("listen");
    }
    socklen_t length = sizeof address;
    getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
    port = ntohs(address.sin_port);
    receiver::stamp_arrivals(listener);
    return listener;
}

/// Sends with pauses, as a replay does: a busy connection would measure queueing.
int measure_floor(int rounds) {
    std::uint16_t port = 0;
    const int listener = listen_on_free_port(port);
    const int sender = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(port);
    if (connect(sender, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        die("connect");
    }
    const int on = 1;
    setsockopt(sender, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const int accepted = accept(listener, nullptr, nullptr);
    receiver::stamp_arrivals(accepted);
    std::vector<std::int64_t> gaps;
    char bytes[300] = {};
    for (int i = 0; i < rounds; ++i) {
        receiver::sleep_until(receiver::monotonic_ns() + 500'000);
        const std::int64_t before = receiver::monotonic_ns();
        if (send(sender, bytes, sizeof bytes, MSG_NOSIGNAL) != sizeof bytes) {
            die("send");
        }
        const receiver::Received received = receiver::receive(accepted, bytes, sizeof bytes);
        if (received.from_kernel) {
            gaps.push_back(received.arrival_ns - before);
        }
    }
    if (gaps.empty()) {
        std::fprintf(stderr, "receiver: this kernel gives no receive stamps\n");
        return 1;
    }
    std::sort(gaps.begin(), gaps.end());
    std::printf("{\"rounds\":%zu,\"p50_ns\":%lld,\"p99_ns\":%lld}\n", gaps.size(),
                static_cast<long long>(gaps[gaps.size() / 2]),
                static_cast<long long>(gaps[gaps.size() * 99 / 100]));
    return 0;
}

struct Options {
    receiver::Behaviour behaviour;
    const char* log = nullptr;
    const char* certificate = nullptr;
    const char* key = nullptr;
    int floor_rounds = 0;
};

Options parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string_view name = argv[i];
        if (name == "--rows-only") {
            options.behaviour.probes_only = true;
            continue;
        }
        if (name == "--announce") {
            options.behaviour.announce = true;
            continue;
        }
        const char* value = i + 1 < argc ? argv[++i] : "";
        if (name == "--log") {
            options.log = value;
        } else if (name == "--first-ms") {
            options.behaviour.first_ns = std::atoll(value) * 1'000'000;
        } else if (name == "--between-ms") {
            options.behaviour.between_ns = std::atoll(value) * 1'000'000;
        } else if (name == "--between-us") {
            options.behaviour.between_ns = std::atoll(value) * 1'000;
        } else if (name == "--per-write") {
            options.behaviour.per_write = std::max(std::atoll(value), 1LL);
        } else if (name == "--read-mb-s") {
            options.behaviour.read_mb_s = std::atoll(value);
        } else if (name == "--lose") {
            options.behaviour.lost_per_mille = static_cast<unsigned>(std::atoi(value));
        } else if (name == "--cert") {
            options.certificate = value;
        } else if (name == "--key") {
            options.key = value;
        } else if (name == "--overhead") {
            options.behaviour.overhead = std::atoll(value);
        } else if (name == "--status") {
            options.behaviour.status = std::atoi(value);
        } else if (name == "--idle-ms") {
            options.behaviour.idle_ms = std::atoi(value);
        } else if (name == "--floor") {
            options.floor_rounds = std::atoi(value);
        } else {
            std::fprintf(stderr, "receiver: unknown flag %s\n", argv[i - 1]);
            std::exit(2);
        }
    }
    return options;
}

}  // namespace

int main(int argc, char** argv) {
    Options options = parse(argc, argv);
    if (options.floor_rounds > 0) {
        return measure_floor(options.floor_rounds);
    }
    std::FILE* file = options.log == nullptr ? nullptr : std::fopen(options.log, "w");
    if (options.log != nullptr && file == nullptr) {
        die("open the log");
    }
    if ((options.certificate == nullptr) != (options.key == nullptr)) {
        std::fprintf(stderr, "receiver: --cert and --key go together\n");
        return 1;
    }
    if (options.certificate != nullptr) {
        signal(SIGPIPE, SIG_IGN);  // SSL_write knows no MSG_NOSIGNAL
        options.behaviour.tls = receiver::tls_context(options.certificate, options.key);
        if (options.behaviour.tls == nullptr) {
            std::fprintf(stderr, "receiver: --cert and --key are not a certificate and its key\n");
            return 1;
        }
    }
    receiver::Log log(file);
    std::uint16_t port = 0;
    const int listener = listen_on_free_port(port);
    std::printf("listening on %s://127.0.0.1:%u\n",
                options.certificate == nullptr ? "http" : "https", static_cast<unsigned>(port));
    std::fflush(stdout);
    while (true) {  // until a signal ends the process: every line of the log is flushed already
        const int accepted = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (accepted < 0) {
            die("accept");
        }
        receiver::stamp_arrivals(accepted);
        std::thread(receiver::serve, accepted, std::cref(options.behaviour), std::ref(log))
            .detach();
    }
}
