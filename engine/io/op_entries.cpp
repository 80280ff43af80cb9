#include "engine/io/op_entries.hpp"

#include <poll.h>

#include <algorithm>
#include <cstddef>

#include "engine/io/kernel_stamps.hpp"
#include "proto/core/check.hpp"

namespace driftless {

OpEntries::OpEntries() {
    stamped_receive_.msg_controllen = receive_control_bytes;
}

void OpEntries::fill(io_uring_sqe& entry, const OpSpec& spec, std::uint64_t target) {
    const int number = spec.socket.number;
    CHECK(spec.kind == OpKind::cancel || spec.socket.open());
    switch (spec.kind) {
        case OpKind::connect:
            CHECK(spec.address != nullptr && spec.address->length > 0);
            io_uring_prep_connect(&entry, number, spec.address->raw(), spec.address->length);
            break;
        case OpKind::send:
            // Only what the socket has room for now: see OpSlots::send_goes_on.
            io_uring_prep_send(&entry, number, spec.bytes.data(), spec.bytes.size(),
                               MSG_NOSIGNAL | MSG_DONTWAIT | (spec.more_follows ? MSG_MORE : 0));
            break;
        case OpKind::receive:
            if (spec.kernel_stamps) {
                io_uring_prep_recvmsg_multishot(&entry, number, &stamped_receive_, 0);
            } else {
                io_uring_prep_recv_multishot(&entry, number, nullptr, 0, 0);
            }
            entry.flags |= IOSQE_BUFFER_SELECT;
            entry.buf_group = buffer_group;
            break;
        case OpKind::accept:
            io_uring_prep_multishot_accept(&entry, number, nullptr, nullptr, SOCK_CLOEXEC);
            break;
        case OpKind::cancel:
            CHECK(spec.target != nullptr);
            io_uring_prep_cancel64(&entry, target, 0);
            break;
        case OpKind::stamps:
            CHECK(!"on this ring");
    }
}

void OpEntries::fill_wait_for_room(io_uring_sqe& entry, Socket socket) {
    CHECK(socket.open());
    io_uring_prep_poll_add(&entry, socket.number, POLLOUT);
}

StampedBytes read_stamped(std::string_view filled) {
    constexpr std::size_t front = sizeof(io_uring_recvmsg_out) + receive_control_bytes;
    CHECK(filled.size() >= front);
    const auto& out = *reinterpret_cast<const io_uring_recvmsg_out*>(filled.data());
    msghdr control{};
    control.msg_control = const_cast<char*>(filled.data()) + sizeof(io_uring_recvmsg_out);
    control.msg_controllen = std::min<std::size_t>(out.controllen, receive_control_bytes);
    const std::int64_t realtime_ns = receive_stamp_ns(control);
    return {filled.substr(front), realtime_ns};
}

}  // namespace driftless
