// Sends in the driver: what a socket has no room for waits here, unseen by whoever sends.

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "engine/io/uring.hpp"
#include "proto/core/check.hpp"

namespace driftless {

// The kernel would leave a send that finds the socket full to a thread of its own: one that a stop
// of this process interrupts, and that has no share in its priority. So it is asked for what it can
// take at once, and where that is nothing, for when it can.
void UringDriver::prepare_send(Op& op, io_uring_sqe& entry) {
    const OpSpec& spec = op.spec;
    CHECK(spec.kind == OpKind::send);
    if (slots_[slot_of(op)].state == SlotState::waiting_for_room) {
        io_uring_prep_poll_add(&entry, spec.socket.number, POLLOUT);
        return;
    }
    io_uring_prep_send(&entry, spec.socket.number, spec.bytes.data(), spec.bytes.size(),
                       MSG_NOSIGNAL | MSG_DONTWAIT | (spec.more_follows ? MSG_MORE : 0));
}

// A send that took nothing goes on, unseen by its owner. Whatever ends the wait for room, an error
// of the socket included, is told by the next try.
bool UringDriver::send_goes_on(Op& op, std::int32_t result) {
    if (op.spec.kind != OpKind::send) {
        return false;
    }
    Slot& slot = slots_[slot_of(op)];
    const bool waited = slot.state == SlotState::waiting_for_room;
    const bool is_full = !waited && result == -EAGAIN;
    if (waited || is_full) {
        slot.go(waited ? SlotState::in_flight : SlotState::waiting_for_room);
    }
    slot.behind = slot.behind + (waited ? stamp_ - unread_.since() : Duration{0});
    const bool again = is_full || (waited && result != -ECANCELED) || result == -EINTR;
    if (again) {
        prepare(op);
    }
    return again;
}

}  // namespace driftless
