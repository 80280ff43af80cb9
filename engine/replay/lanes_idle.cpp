// Lanes between two exchanges: taken by rows, put back, bound ahead of time, and closed.

#include "engine/replay/lanes.hpp"
#include "proto/core/check.hpp"

namespace driftless {

Lane* LanePool::take_idle(std::uint32_t target, const LaneWish& wish) {
    Lane* lane = leave_shelf_for(target, wish);
    if (lane != nullptr) {
        exchanges_.begin(*lane);
    }
    return lane;
}

Lane* LanePool::leave_shelf_for(std::uint32_t target, const LaneWish& wish) {
    Lane* lane = shelf_.find(target, wish, parts_.loop.driver().now());
    if (lane == nullptr) {
        return nullptr;
    }
    CHECK(lane->state == LaneState::idle && !lane->broken && lane->target == target);
    shelf_.remove(*lane);
    const LaneShelf::Claim claim = shelf_.claim(*lane, wish);
    lane->taken_as = claim.state;
    if (claim.unwanted != nullptr) {
        close_idle(*claim.unwanted);
    }
    return lane;
}

void LanePool::now_idle(Lane& lane) {
    lane.enter(LaneState::idle);
    CHECK(!lane.broken);
    lane.idle_since = lane.used ? lane.exchange.last_byte : lane.connected;
    shelf_.put(lane);
}

void LanePool::close_idle(Lane& lane) {
    CHECK(lane.state == LaneState::idle);
    shelf_.remove(lane);
    lane.enter(LaneState::closing);
    lane.break_off();
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
    const Instant now = parts_.loop.driver().now();
    const Duration idle_for = now - lane.idle_since;
    parts_.counts.closed_idle += 1;
    lane.broken = true;
    if (lane.state == LaneState::bound) {
        // One that had stood for a while ended of its age: the row was held back for so long.
        sealing_.lose(lane, idle_for < IdleLimit::seen_min);
    } else {
        shelf_.remove(lane);
    }
    if (closed) {
        shelf_.limit(lane.target).see_close(idle_for, now);
    }
    if (!lane.used && idle_for < IdleLimit::seen_min) {
        // It accepts connections, and keeps none.
        parts_.targets[lane.target].quiet_until = now + Connecting::failure_quiet;
    }
    lane.enter(LaneState::closing);
    if (lane.tls != nullptr && !lane.used && lane.tls->stream.failure() != 0) {
        // An alert right behind the handshake: the next one fails, too.
        connecting_.note_failure(lane, 0);
    }
}

Lane* LanePool::bind(std::uint32_t target, RowUnderway& row, const LaneWish& wish, bool late) {
    Lane* lane = leave_shelf_for(target, wish);
    if (lane != nullptr) {
        sealing_.bind(*lane, row, late);
    }
    return lane;
}

bool LanePool::seal_slice() {
    Lane* lane = sealing_.next();
    if (lane == nullptr) {
        return false;
    }
    if (!sealing_.seal(*lane, parts_.loop.driver().now())) {
        retire(*lane, false);
        lane->progress.notify();
    }
    return true;
}

Lane* LanePool::take_ready(const RowUnderway& row) {
    if (row.lane == RowUnderway::no_lane) {
        return nullptr;
    }
    Lane& lane = *lanes_[row.lane];
    CHECK(lane.state == LaneState::bound && lane.tls->row == &row);
    if (!lane.tls->ready) {
        return nullptr;
    }
    (void)sealing_.unbind(lane);
    exchanges_.begin(lane);
    return &lane;
}

void LanePool::now_late(const RowUnderway& row) {
    CHECK(row.lane < lanes_.size());
    sealing_.now_late(*lanes_[row.lane]);
}

bool LanePool::give_up_old(const RowUnderway& row) {
    if (row.lane == RowUnderway::no_lane) {
        return false;
    }
    Lane& lane = *lanes_[row.lane];
    CHECK(lane.state == LaneState::bound && lane.tls->row == &row);
    const IdleLimit& limit = shelf_.limit(lane.target);
    const Duration idle_for = parts_.loop.driver().now() - lane.idle_since;
    if (!limit.known() || idle_for < limit.closed_after()) {
        return false;
    }
    parts_.counts.retired_idle += 1;
    parts_.again.push_back(sealing_.drop(lane));
    lane.enter(LaneState::closing);
    lane.break_off();
    return true;
}

void LanePool::unbind_all() {
    for (Lane* lane : lanes_) {
        if (lane->state == LaneState::bound) {
            sealing_.give_up(*lane);
            lane->enter(LaneState::closing);
            lane->break_off();
        }
    }
}

}  // namespace driftless
