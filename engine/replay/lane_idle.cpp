// Lanes between two exchanges: taken from the shelf, put back, and ended before their server ends
// them.

#include <algorithm>

#include "engine/replay/lanes.hpp"

namespace driftless {

namespace {

// At the limit on connections one has to close before its successor can open. That takes a gap
// between two rows: a round trip and the arithmetic of a handshake.
constexpr Duration replacement_gap = milliseconds(50);

}  // namespace

bool LanePool::has_idle(std::uint32_t target, const LaneWish& wish) const {
    return shelf_.find(target, wish, loop_.driver().now()) != nullptr;
}

Lane* LanePool::take_idle(std::uint32_t target, const LaneWish& wish) {
    Lane* lane = leave_shelf_for(target, wish);
    if (lane != nullptr) {
        begin_exchange(*lane);
    }
    return lane;
}

Lane* LanePool::leave_shelf_for(std::uint32_t target, const LaneWish& wish) {
    Lane* lane = shelf_.find(target, wish, loop_.driver().now());
    if (lane == nullptr) {
        return nullptr;
    }
    shelf_.remove(*lane);
    const LaneShelf::Claim claim = shelf_.claim(*lane, wish);
    lane->taken_as = claim.state;
    if (claim.unwanted != nullptr) {
        close_idle(*claim.unwanted);
    }
    return lane;
}

Duration LanePool::idle_for(const Lane& lane) const {
    return loop_.driver().now() - lane.idle_since;
}

void LanePool::now_idle(Lane& lane) {
    lane.enter(LaneState::idle);
    lane.idle_since = lane.used ? lane.exchange.last_byte : lane.connected;
    shelf_.put(lane);
}

void LanePool::close_idle(Lane& lane) {
    shelf_.remove(lane);
    lane.enter(LaneState::closing);
    lane.broken = true;
    lane.progress.notify();
}

bool LanePool::make_room(std::uint32_t target) {
    Lane* oldest = shelf_.oldest(target);
    if (making_room_ || oldest == nullptr) {
        return making_room_;
    }
    making_room_ = true;
    close_idle(*oldest);
    return true;
}

// The server closed a connection that carries nothing, or spoke out of turn: not to be used again.
void LanePool::retire(Lane& lane, bool closed) {
    counts_.closed_idle += 1;
    lane.broken = true;
    if (lane.state == LaneState::bound) {
        lose_bound(lane);
    } else {
        shelf_.remove(lane);
    }
    LaneTarget& target = targets_[lane.target];
    const Instant now = loop_.driver().now();
    if (closed) {
        shelf_.limit(lane.target).see_close(idle_for(lane), now);
    }
    if (!lane.used && idle_for(lane) < IdleLimit::seen_min) {
        target.quiet_until = now + failure_quiet;  // it accepts connections, and keeps none
    }
    lane.enter(LaneState::closing);
    if (lane.tls != nullptr && !lane.used && lane.tls->stream.failure() != 0) {
        note_failure(lane, 0);  // an alert right behind the handshake: the next one fails, too
    }
}

std::uint32_t LanePool::in_stock(std::uint32_t target) const {
    const LaneTarget& at = targets_[target];
    return settings_.connections_fixed > 0 ? at.open - shelf_.ageing(target)
                                           : shelf_.young(target) + at.bound;
}

// The successors of ageing lanes come first; then these go, at the latest when they may not be used
// any more.
bool LanePool::age_slice(Instant now, Duration gap) {
    for (std::uint32_t number = 0; number < targets_.size(); ++number) {
        if (shelf_.age(number, now)) {
            return true;
        }
        const LaneTarget& target = targets_[number];
        const bool replaced = in_stock(number) >= target.wanted;
        const bool in_the_way = full() && target.connecting == 0 && gap >= replacement_gap;
        Lane* over = shelf_.over(number, now);
        if (over == nullptr && (replaced || in_the_way)) {
            over = shelf_.oldest_ageing(number);
        }
        if (over != nullptr) {
            counts_.retired_idle += 1;
            close_idle(*over);
            return true;
        }
    }
    return false;
}

// What this answer says of the connection that it came on; false: it was the last one there.
bool LanePool::may_go_on(Lane& lane) {
    const KeepAliveLimits& said = lane.parser.keep_alive_limits();
    shelf_.limit(lane.target).hear(said);
    if (lane.answers_left != Lane::answers_unknown) {
        --lane.answers_left;
    }
    if (said.max) {
        // All in all, or still to come: one less than the first says holds either way.
        const std::uint32_t first = *said.max == 0 ? 0 : *said.max - 1;
        const bool known = lane.answers_left != Lane::answers_unknown;
        lane.answers_left = known ? std::min(lane.answers_left, *said.max) : first;
    }
    return lane.answers_left > 0 && said.timeout_s != 0u;
}

}  // namespace driftless
