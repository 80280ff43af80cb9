#include "perf/macro/echo.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <vector>

#include "engine/host/host.hpp"
#include "engine/io/sockets.hpp"
#include "engine/machines/calibration_floor.hpp"
#include "proto/core/errors.hpp"

namespace driftless::perf {

namespace {

std::int64_t read_clock(clockid_t clock) {
    timespec time{};
    CHECK(::clock_gettime(clock, &time) == 0);
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

int connect_to(const Address& address) {
    const Result<Socket> made = make_stream_socket(address);
    CHECK(static_cast<bool>(made));
    CHECK(::connect(made.value().number, address.raw(), address.length) == 0);
    return made.value().number;
}

void wait_until(std::int64_t due_ns) {
    while (read_clock(CLOCK_MONOTONIC) < due_ns) {
    }
}

void echo_one(int listening, std::uint32_t cpu) {
    (void)pin_this_thread(cpu);
    const int peer = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    CHECK(peer >= 0);
    const int on = 1;
    (void)::setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    char byte = 0;
    while (::recv(peer, &byte, 1, 0) == 1) {
        CHECK(::send(peer, &byte, 1, MSG_NOSIGNAL) == 1);
    }
    (void)::close(peer);
}

std::uint64_t count_events(const char* bytes, std::size_t size, char& last) {
    std::uint64_t events = 0;
    if (last == '\n' && size > 0 && bytes[0] == '\n') {
        ++events;
    }
    const char* at = bytes;
    const char* const end = bytes + size;
    while (at < end && (at = static_cast<const char*>(std::memchr(
                            at, '\n', static_cast<std::size_t>(end - at)))) != nullptr) {
        ++at;
        if (at < end && *at == '\n') {
            ++events;
        }
    }
    last = size > 0 ? bytes[size - 1] : last;
    return events;
}

}  // namespace

Spread round_trips(std::uint32_t rounds, std::uint32_t cpu) {
    const Result<std::vector<Address>> any = resolve("127.0.0.1", 0);
    CHECK(static_cast<bool>(any));
    const Result<Socket> listening = make_listening_socket(any.value().front(), 1);
    CHECK(static_cast<bool>(listening));
    const Result<Address> address = local_address_of(listening.value());
    CHECK(static_cast<bool>(address));
    std::thread echo(echo_one, listening.value().number, cpu);
    const int socket = connect_to(address.value());
    std::vector<std::int64_t> trips;
    trips.reserve(rounds);
    for (std::uint32_t round = 0; round < rounds; ++round) {
        wait_until(read_clock(CLOCK_MONOTONIC) + 1'000'000);
        char byte = 'x';
        const std::int64_t before = read_clock(CLOCK_MONOTONIC);
        CHECK(::send(socket, &byte, 1, MSG_NOSIGNAL) == 1);
        while (::recv(socket, &byte, 1, MSG_DONTWAIT) != 1) {
        }
        trips.push_back(read_clock(CLOCK_MONOTONIC) - before);
    }
    (void)::close(socket);
    echo.join();
    (void)::close(listening.value().number);
    return spread_of(trips);
}

Drained drain_plainly(const Address& server, const std::string& request, std::uint32_t connections,
                      std::int64_t pause_ms) {
    std::vector<pollfd> open;
    for (std::uint32_t i = 0; i < connections; ++i) {
        open.push_back({connect_to(server), POLLIN, 0});
        CHECK(::send(open.back().fd, request.data(), request.size(), MSG_NOSIGNAL) ==
              static_cast<ssize_t>(request.size()));
    }
    const timespec pause{pause_ms / 1000, pause_ms % 1000 * 1'000'000};
    (void)::nanosleep(&pause, nullptr);
    std::vector<char> buffer(64 * 1024);
    std::vector<char> last(connections, 'x');
    Drained drained;
    const std::int64_t cpu = read_clock(CLOCK_THREAD_CPUTIME_ID);
    const std::int64_t wall = read_clock(CLOCK_MONOTONIC);
    for (std::size_t left = open.size(); left > 0;) {
        CHECK(::poll(open.data(), open.size(), 1000) > 0);
        for (std::size_t i = 0; i < open.size(); ++i) {
            if (open[i].revents == 0) {
                continue;
            }
            const ssize_t got = ::recv(open[i].fd, buffer.data(), buffer.size(), 0);
            if (got <= 0) {
                (void)::close(open[i].fd);
                open[i].fd = -1;
                --left;
                continue;
            }
            drained.bytes += static_cast<std::uint64_t>(got);
            drained.events += count_events(buffer.data(), static_cast<std::size_t>(got), last[i]);
        }
    }
    drained.cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID) - cpu;
    drained.wall_ns = read_clock(CLOCK_MONOTONIC) - wall;
    return drained;
}

}  // namespace driftless::perf
