// What the driver does with sockets at once, without an operation: opening and ending them, their
// transmit stamps, what was sent again on them, warming the way of a send.

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/io/kernel_stamps.hpp"
#include "engine/io/resends.hpp"
#include "engine/io/sockets.hpp"
#include "engine/io/uring.hpp"
#include "proto/core/check.hpp"

namespace driftless {

Result<Socket> UringDriver::open_socket(const Address& address) {
    return make_stream_socket(address);
}

Result<Socket> UringDriver::listen(const Address& address, int backlog) {
    return make_listening_socket(address, backlog);
}

Result<Address> UringDriver::local_address(Socket socket) {
    return local_address_of(socket);
}

void UringDriver::shutdown(Socket socket) {
    CHECK(socket.open());
    (void)::shutdown(socket.number, SHUT_RDWR);
}

void UringDriver::close(Socket socket) {
    CHECK(socket.open());
    (void)::close(socket.number);
}

// A cancel wakes a receive whose end was lost, and another one reads it (README.md). An error that
// is no end may be a transmit stamp.
void UringDriver::find_ends(std::span<const QuietReceive> quiet) {
    CHECK(quiet.size() <= quiet_max);
    pollfd looked[quiet_max];
    for (std::size_t at = 0; at < quiet.size(); ++at) {
        looked[at] = {quiet[at].receive->spec.socket.number, POLLRDHUP, 0};
    }
    ++counters_.enters;
    if (::poll(looked, quiet.size(), 0) <= 0) {
        return;
    }
    for (std::size_t at = 0; at < quiet.size(); ++at) {
        if ((looked[at].revents & (POLLRDHUP | POLLHUP)) != 0) {
            slots_.note_quiet(*quiet[at].receive, quiet[at].since);
            prepare_cancel(slots_.user_data_of(*quiet[at].receive));
        }
    }
}

std::optional<ResendCounts> UringDriver::resent(Socket socket) {
    return read_resends(socket);
}

void UringDriver::warm_send() {
    if (warm_pair_.is_open()) {
        warm_pair_.send();
    }
}

StampSupport UringDriver::switch_on_stamps(Socket socket) {
    return driftless::switch_on_stamps(socket, stamps_wanted_);
}

bool UringDriver::stamps_waiting(Instant now) {
    return stamps_wanted_.transmit && transmit_stamps_.waiting(now);
}

std::uint32_t UringDriver::collect_stamps(std::uint32_t stamps_max, const Op* first) {
    const bool armed = first != nullptr && first->in_flight();
    const std::uint64_t calls_before = transmit_stamps_.system_calls();
    transmit_stamps_.look(now(), stamps_max, armed ? slots_.user_data_of(*first) : 0);
    counters_.enters += transmit_stamps_.system_calls() - calls_before;
    const Instant read = now();
    std::uint32_t count = 0;
    TransmitStamps::Entry entry;
    for (; count < stamps_max && transmit_stamps_.next(entry); ++count) {
        Op& op = slots_.op_of(entry.user_data);
        CHECK(op.spec.kind == OpKind::stamps || op.spec.kind == OpKind::cancel);
        Completion done;
        done.result = entry.result;
        done.more = entry.more;
        done.key = entry.key;
        done.stamp = read;
        done.kernel_ns = clocks_.to_monotonic_ns(entry.realtime_ns);
        if (!done.more) {
            slots_.free(op);
        }
        CHECK(op.in_flight() == done.more);
        op.handler(op, done);
    }
    CHECK(count <= stamps_max);
    return count;
}

}  // namespace driftless
