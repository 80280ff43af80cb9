/// LaneList: lanes in a row, through `Lane::next` and `before`; a lane stands on one list at most.
/// First-in first-out, or last-in first-out by `push_front`. Owns nothing.
#pragma once

#include <cstdint>

namespace driftless {

struct Lane;

struct LaneList {
    Lane* first = nullptr;
    Lane* last = nullptr;
    std::uint32_t count = 0;

    void push_front(Lane& lane);
    void push_back(Lane& lane);
    Lane* pop_front();
    void remove(Lane& lane);
};

}  // namespace driftless
