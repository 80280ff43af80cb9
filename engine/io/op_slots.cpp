#include "engine/io/op_slots.hpp"

#include <poll.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "engine/host/host.hpp"
#include "engine/io/driver.hpp"
#include "proto/core/check.hpp"
#include "proto/core/result.hpp"

namespace driftless {

void OpSlots::open(std::uint32_t ops_max) {
    CHECK(slots_.empty());
    CHECK(ops_max > 0 && ops_max < Op::no_slot);
    slots_.resize(ops_max);
    for (std::uint32_t number = ops_max; number-- > 0;) {
        slots_[number].next_free = first_free_;
        first_free_ = number;
    }
}

// The kernel would leave a send that finds the socket full to a thread of its own: one that a stop
// of this process interrupts, and that has no share in its priority. So it is asked for what it can
// take at once, and where that is nothing, for when it can. Whatever ends the wait for room, an
// error of the socket included, is told by the next try.
bool OpSlots::send_goes_on(const Op& op, std::int32_t result, Duration unread) {
    CHECK(op.spec.kind == OpKind::send);
    Slot& slot = slots_[number_of(op)];
    const bool waited = slot.state == State::waiting_for_room;
    const bool is_full = !waited && result == -EAGAIN;
    if (waited || is_full) {
        slot.go(waited ? State::in_flight : State::waiting_for_room);
    }
    slot.behind = slot.behind + (waited ? unread : Duration{0});
    return is_full || (waited && result != -ECANCELED) || result == -EINTR;
}

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

BufferRing::~BufferRing() {
    // The ring that the entries were registered with is gone by now (whoever owns both ends it
    // first).
    if (entries_ != nullptr) {
        ::munmap(entries_, count_ * sizeof(io_uring_buf));
    }
    if (memory_ != nullptr) {
        ::munmap(memory_, bytes());
    }
}

Result<void> BufferRing::open(io_uring& ring, std::uint16_t group, std::uint32_t count,
                              std::uint32_t buffer_bytes) {
    CHECK(entries_ == nullptr && memory_ == nullptr);
    CHECK(count > 0 && (count & (count - 1)) == 0 && count <= 32768);
    CHECK(buffer_bytes > 0);
    count_ = count;
    buffer_bytes_ = buffer_bytes;
    entries_ = static_cast<io_uring_buf_ring*>(map_touched(count * sizeof(io_uring_buf)));
    memory_ = static_cast<char*>(map_touched(bytes()));
    if (entries_ == nullptr || memory_ == nullptr) {
        return Error{ErrorCode::exhausted, errno, "take memory for receive buffers"};
    }
    io_uring_buf_reg registration{};
    registration.ring_addr = reinterpret_cast<std::uint64_t>(entries_);
    registration.ring_entries = count;
    registration.bgid = group;
    const int status = io_uring_register_buf_ring(&ring, &registration, 0);
    if (status < 0) {
        return error_from_errno(-status, "register receive buffers with io_uring");
    }
    io_uring_buf_ring_init(entries_);
    const int mask = io_uring_buf_ring_mask(count);
    for (std::uint32_t id = 0; id < count; ++id) {
        io_uring_buf_ring_add(entries_, memory_ + std::size_t{id} * buffer_bytes, buffer_bytes,
                              static_cast<std::uint16_t>(id), mask, static_cast<int>(id));
    }
    io_uring_buf_ring_advance(entries_, static_cast<int>(count));
    return {};
}

void BufferRing::give_back(std::uint16_t id) {
    CHECK(id < count_);
    io_uring_buf_ring_add(entries_, memory_ + std::size_t{id} * buffer_bytes_, buffer_bytes_, id,
                          io_uring_buf_ring_mask(count_), 0);
    io_uring_buf_ring_advance(entries_, 1);
}

}  // namespace driftless
