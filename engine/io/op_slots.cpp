#include "engine/io/op_slots.hpp"

#include <cerrno>

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

}  // namespace driftless
