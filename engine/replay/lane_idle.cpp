// Lanes that stand idle: which one a row takes, and how they end before their server ends them.

#include <algorithm>

#include "engine/replay/lanes.hpp"

namespace driftless {

namespace {

// At the limit on connections one has to close before its successor can open. That takes a gap
// between two rows: a round trip and the arithmetic of a handshake.
constexpr Duration replacement_gap = milliseconds(50);

bool suits(const Lane& lane, bool fresh) {
    return !fresh || !lane.used;
}

Lane* first_of(const LaneList& list, bool fresh) {
    Lane* lane = list.first;
    while (lane != nullptr && !suits(*lane, fresh)) {
        lane = lane->next;
    }
    return lane;
}

}  // namespace

std::uint32_t LanePool::idle_count() const {
    std::uint32_t idle = 0;
    for (const LaneTarget& target : targets_) {
        idle += target.idle_count();
    }
    return idle;
}

// Young ones first: they are the least likely to be stale.
Lane* LanePool::find_idle(std::uint32_t target, bool fresh) const {
    Lane* young = first_of(targets_[target].idle, fresh);
    return young != nullptr ? young : first_of(targets_[target].ageing, fresh);
}

Lane* LanePool::choose_idle(std::uint32_t target, const LaneWish& wish) const {
    const auto may_serve = [&](const Lane* lane) {
        const Duration over = targets_[target].limit.closed_after();
        return lane != nullptr && idle_for(*lane) + wish.lead < over;
    };
    Lane* lane = wish.fresh ? nullptr : find_owned(target, wish.session);
    if (!may_serve(lane)) {
        lane = find_idle(target, wish.fresh);  // all behind it are older
    }
    for (Lane* other : {targets_[target].owned.last, targets_[target].owned.first}) {
        lane = !may_serve(lane) && !wish.fresh ? other : lane;
    }
    return may_serve(lane) ? lane : nullptr;
}

Lane* LanePool::take_idle(std::uint32_t target, const LaneWish& wish) {
    Lane* lane = choose_idle(target, wish);
    if (lane == nullptr) {
        return nullptr;
    }
    leave_shelf(*lane);
    lane->taken_as = claim(*lane, wish);
    begin_exchange(*lane);
    return lane;
}

// The connection of the session, where it stands and is idle.
Lane* LanePool::find_owned(std::uint32_t target, std::uint32_t session) const {
    Lane* lane = lane_of(session);
    return lane != nullptr && lane->state == LaneState::idle && lane->target == target ? lane
                                                                                       : nullptr;
}

Lane* LanePool::lane_of(std::uint32_t session) const {
    const bool has = session < homes_.size() && homes_[session] < lanes_.size();
    Lane* lane = has ? lanes_[homes_[session]] : nullptr;
    return lane != nullptr && !lane->broken ? lane : nullptr;
}

// The lane goes to a row. A session keeps its first connection for as long as that stands, busy or
// not, and gives it up with its last row.
ConnectionState LanePool::claim(Lane& lane, const LaneWish& wish) {
    const ConnectionState by_use = lane.used ? ConnectionState::reused : ConnectionState::fresh;
    const bool sticks = wish.session < homes_.size();
    ConnectionState state = by_use;
    if (sticks && lane.session == wish.session) {
        state = ConnectionState::sticky;
    } else {
        disown(lane);
        if (sticks && homes_[wish.session] != no_home) {
            state = ConnectionState::moved;
        }
        if (sticks && lane_of(wish.session) == nullptr) {
            homes_[wish.session] = lane.number;
            lane.session = wish.session;
        }
    }
    Lane* home = wish.last ? lane_of(wish.session) : nullptr;
    if (home != nullptr) {
        disown(*home);
    }
    if (home != nullptr && home->shelf != nullptr) {
        close_idle(*home);  // it stands idle while the last row goes elsewhere: it waits for nobody
    }
    return state;
}

// From here on it is anybody's.
void LanePool::disown(Lane& lane) {
    if (lane.session != no_session && homes_[lane.session] == lane.number) {
        homes_[lane.session] = lost_home;
    }
    lane.session = no_session;
}

bool LanePool::has_idle(std::uint32_t target, const LaneWish& wish) const {
    return choose_idle(target, wish) != nullptr;
}

Duration LanePool::idle_for(const Lane& lane) const {
    return loop_.driver().now() - lane.idle_since;
}

void LanePool::now_idle(Lane& lane) {
    lane.state = LaneState::idle;
    lane.idle_since = lane.used ? lane.exchange.last_byte : lane.connected;
    LaneTarget& target = targets_[lane.target];
    lane.shelf = lane.session == no_session ? &target.idle : &target.owned;
    lane.shelf->push_front(lane);
}

void LanePool::leave_shelf(Lane& lane) {
    lane.shelf->remove(lane);
    lane.shelf = nullptr;
}

void LanePool::close_idle(Lane& lane) {
    leave_shelf(lane);
    lane.state = LaneState::closing;
    lane.broken = true;
    lane.progress.notify();
}

bool LanePool::make_room(std::uint32_t target) {
    const LaneTarget& at = targets_[target];
    Lane* oldest = at.ageing.last != nullptr ? at.ageing.last
                   : at.idle.last != nullptr ? at.idle.last
                                             : at.owned.last;
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
        leave_shelf(lane);
    }
    LaneTarget& target = targets_[lane.target];
    const Instant now = loop_.driver().now();
    if (closed) {
        target.limit.see_close(idle_for(lane), now);
    }
    if (!lane.used && idle_for(lane) < IdleLimit::seen_min) {
        target.quiet_until = now + failure_quiet;  // it accepts connections, and keeps none
    }
    lane.state = LaneState::closing;
    if (lane.tls != nullptr && !lane.used && lane.tls->stream.failure() != 0) {
        note_failure(lane, 0);  // an alert right behind the handshake: the next one fails, too
    }
}

IdleLimit LanePool::idle_limit() const {
    IdleLimit least;
    for (const LaneTarget& target : targets_) {
        least.limit = std::min(least.limit, target.limit.limit);
    }
    return least;
}

std::uint32_t LanePool::in_stock(std::uint32_t target) const {
    const LaneTarget& at = targets_[target];
    return settings_.connections_fixed > 0 ? at.open - at.ageing.count : at.idle.count + at.bound;
}

// The successors of ageing lanes come first; then these go, at the latest when they may not be used
// any more.
bool LanePool::age_slice(Instant now, Duration gap) {
    for (std::uint32_t number = 0; number < targets_.size(); ++number) {
        LaneTarget& target = targets_[number];
        Lane* oldest = target.idle.last;
        if (oldest != nullptr && now - oldest->idle_since >= target.limit.replaced_after()) {
            leave_shelf(*oldest);
            oldest->shelf = &target.ageing;
            target.ageing.push_front(*oldest);
            return true;
        }
        oldest = target.owned.last;  // nobody's successor would be its session's
        if (oldest != nullptr && now - oldest->idle_since >= target.limit.closed_after()) {
            counts_.retired_idle += 1;
            close_idle(*oldest);
            return true;
        }
        oldest = target.ageing.last;
        if (oldest == nullptr) {
            continue;
        }
        const bool replaced = in_stock(number) >= target.wanted;
        const bool in_the_way =
            in_use_ >= settings_.lanes_max && target.connecting == 0 && gap >= replacement_gap;
        const bool over = now - oldest->idle_since >= target.limit.closed_after();
        if (replaced || in_the_way || over) {
            counts_.retired_idle += 1;
            close_idle(*oldest);
            return true;
        }
    }
    return false;
}

// What this answer says of the connection that it came on; false: it was the last one there.
bool LanePool::may_go_on(Lane& lane) {
    const KeepAliveLimits& said = lane.parser.keep_alive_limits();
    targets_[lane.target].limit.hear(said);
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
