#include "engine/io/warm_pair.hpp"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "engine/io/sockets.hpp"
#include "proto/core/check.hpp"
#include "proto/core/sys_error.hpp"

namespace driftless {

namespace {

Error failed(int sys_errno) {
    return error_from_errno(sys_errno, "connect a pair of sockets over loopback");
}

}  // namespace

WarmPair::~WarmPair() {
    for (const Socket socket : {sender_, receiver_}) {
        if (socket.open()) {
            (void)::close(socket.number);
        }
    }
}

Result<void> WarmPair::open() {
    CHECK(!is_open());
    const Result<std::vector<Address>> loopback = resolve("127.0.0.1", 0);
    if (!loopback) {
        return loopback.error();
    }
    const Result<Socket> listener = make_listening_socket(loopback.value().front(), 1);
    if (!listener) {
        return listener.error();
    }
    const Result<void> connected = connect_to(listener.value());
    (void)::close(listener.value().number);
    return connected;
}

Result<void> WarmPair::connect_to(Socket listener) {
    CHECK(listener.open() && !sender_.open() && !receiver_.open());
    const Result<Address> there = local_address_of(listener);
    if (!there) {
        return there.error();
    }
    const Result<Socket> sender = make_stream_socket(there.value());
    if (!sender) {
        return sender.error();
    }
    if (::connect(sender.value().number, there.value().raw(), there.value().length) == 0) {
        receiver_.number = ::accept4(listener.number, nullptr, nullptr, SOCK_CLOEXEC);
    }
    if (!receiver_.open()) {
        const Error error = failed(errno);
        (void)::close(sender.value().number);
        return error;
    }
    sender_ = sender.value();
    CHECK(is_open() && receiver_.open());
    return {};
}

std::uint64_t WarmPair::unread() const {
    CHECK(is_open());
    int bytes = 0;
    (void)::ioctl(receiver_.number, FIONREAD, &bytes);
    return static_cast<std::uint64_t>(bytes);
}

void WarmPair::send() {
    CHECK(is_open());
    const char byte = 0;
    (void)::send(sender_.number, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (++sends_ % drain_every == 0) {
        // Thrown away unread, and what had been on its way the last time with it.
        constexpr std::size_t all = std::size_t{1} << 20;
        (void)::recv(receiver_.number, nullptr, all, MSG_DONTWAIT | MSG_TRUNC);
    }
}

}  // namespace driftless
