#include "engine/replay/lane_list.hpp"

#include "engine/replay/lane.hpp"
#include "proto/core/check.hpp"

namespace driftless {

void LaneList::push_front(Lane& lane) {
    lane.next = first;
    lane.before = nullptr;
    (first != nullptr ? first->before : last) = &lane;
    first = &lane;
    ++count;
}

void LaneList::push_back(Lane& lane) {
    lane.next = nullptr;
    lane.before = last;
    (last != nullptr ? last->next : first) = &lane;
    last = &lane;
    ++count;
}

Lane* LaneList::pop_front() {
    Lane* lane = first;
    if (lane != nullptr) {
        remove(*lane);
    }
    return lane;
}

void LaneList::remove(Lane& lane) {
    CHECK(count > 0 && (lane.before != nullptr || first == &lane));
    (lane.before != nullptr ? lane.before->next : first) = lane.next;
    (lane.next != nullptr ? lane.next->before : last) = lane.before;
    lane.next = lane.before = nullptr;
    --count;
}

}  // namespace driftless
