#include "engine/prompt/armed_table.hpp"

#include "proto/core/check.hpp"

namespace driftless {

ArmedTable::ArmedTable(std::uint32_t room) : chains_(room, none), slots_(room) {
    CHECK(room > 0 && (room & (room - 1)) == 0);
    for (std::uint32_t slot = room; slot > 0; --slot) {
        slots_[slot - 1].next = free_;
        free_ = slot - 1;
    }
}

/// The link that leads to the request, or the last one of its chain.
std::uint32_t& ArmedTable::link_to(std::uint32_t request) {
    std::uint32_t* link = &chains_[request & (chains_.size() - 1)];
    while (*link != none && slots_[*link].armed.due.request != request) {
        link = &slots_[*link].next;
    }
    return *link;
}

void ArmedTable::put(const ArmedRequest& armed) {
    std::uint32_t& link = link_to(armed.due.request);
    CHECK(link == none && free_ != none);
    const std::uint32_t slot = free_;
    free_ = slots_[slot].next;
    slots_[slot] = {armed, none};
    link = slot;
    ++count_;
    sweep_ = 0;
}

ArmedRequest* ArmedTable::find(std::uint32_t request) {
    const std::uint32_t slot = link_to(request);
    return slot == none ? nullptr : &slots_[slot].armed;
}

ArmedRequest ArmedTable::take(std::uint32_t request) {
    std::uint32_t& link = link_to(request);
    CHECK(link != none);
    const std::uint32_t slot = link;
    link = slots_[slot].next;
    slots_[slot].next = free_;
    free_ = slot;
    --count_;
    return slots_[slot].armed;
}

ArmedRequest ArmedTable::take_any() {
    CHECK(count_ > 0);
    while (chains_[sweep_] == none) {
        ++sweep_;
    }
    return take(slots_[chains_[sweep_]].armed.due.request);
}

}  // namespace driftless
