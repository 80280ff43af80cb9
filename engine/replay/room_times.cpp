#include "engine/replay/room_times.hpp"

#include <algorithm>

#include "proto/core/check.hpp"

namespace driftless {

void RoomTimes::fill(Instant at) {
    last_.to = std::min(last_.to, at);
}

void RoomTimes::free(Instant since) {
    if (since <= last_.to) {  // there was room all along
        last_ = {std::min(last_.from, since), never};
        return;
    }
    CHECK(last_.to != never);  // else there was room all along
    if (last_.to - last_.from > unseen_max) {
        Stretch& oldest = known_[count_ % stretches_max];
        unknown_until_ = oldest.to;
        oldest = last_;
        ++count_;
    }
    last_ = {since, never};
}

Duration RoomTimes::between(Instant from, Instant to) const {
    CHECK(from <= to);
    Duration sum = std::max(std::min(unknown_until_, to) - from, Duration{0});
    const auto add = [&](const Stretch& stretch) {
        const Duration both = std::min(stretch.to, to) - std::max(stretch.from, from);
        sum = sum + (both > unseen_max ? both : Duration{0});
    };
    add(last_);
    for (std::size_t i = 0; i < std::min(count_, stretches_max); ++i) {
        const Stretch& stretch = known_[(count_ - 1 - i) % stretches_max];
        if (stretch.to <= from) {
            break;
        }
        add(stretch);
    }
    return sum;
}

}  // namespace driftless
