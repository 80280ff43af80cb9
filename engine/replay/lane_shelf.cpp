#include "engine/replay/lane_shelf.hpp"

#include <algorithm>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

Lane* first_of(const LaneList& list, bool fresh) {
    Lane* lane = list.first;
    while (lane != nullptr && fresh && lane->used) {
        lane = lane->next;
    }
    return lane;
}

}  // namespace

LaneShelf::LaneShelf(std::size_t targets, std::size_t sessions)
    : targets_(targets), homes_(sessions) {}

void LaneShelf::put(Lane& lane) {
    CHECK(lane.shelf == nullptr && lane.state == LaneState::idle);
    Idle& idle = targets_[lane.target];
    lane.shelf = lane.session == no_session ? &idle.young : &idle.owned;
    lane.shelf->push_front(lane);
}

void LaneShelf::remove(Lane& lane) {
    CHECK(lane.shelf != nullptr);
    lane.shelf->remove(lane);
    lane.shelf = nullptr;
}

Lane* LaneShelf::find_any(std::uint32_t target, bool fresh) const {
    CHECK(target < targets_.size());
    Lane* young = first_of(at(target).young, fresh);
    return young != nullptr ? young : first_of(at(target).ageing, fresh);
}

// The connection of the session, where it stands and is idle.
Lane* LaneShelf::find_owned(std::uint32_t target, std::uint32_t session) const {
    Lane* lane = home_of(session);
    return lane != nullptr && lane->shelf != nullptr && lane->target == target ? lane : nullptr;
}

Lane* LaneShelf::home_of(std::uint32_t session) const {
    Lane* lane = session < homes_.size() ? homes_[session].lane : nullptr;
    return lane != nullptr && !lane->broken ? lane : nullptr;
}

Lane* LaneShelf::find(std::uint32_t target, const LaneWish& wish, Instant now) const {
    const Idle& idle = at(target);
    const auto may_serve = [&](const Lane* lane) {
        return lane != nullptr && now - lane->idle_since + wish.lead < idle.limit.closed_after();
    };
    Lane* lane = wish.fresh ? nullptr : find_owned(target, wish.session);
    if (!may_serve(lane)) {
        lane = find_any(target, wish.fresh);  // all behind it are older
    }
    for (Lane* other : {idle.owned.last, idle.owned.first}) {
        lane = !may_serve(lane) && !wish.fresh ? other : lane;
    }
    return may_serve(lane) ? lane : nullptr;
}

LaneShelf::Claim LaneShelf::claim(Lane& lane, const LaneWish& wish) {
    CHECK(lane.shelf == nullptr);
    Claim claim{lane.used ? ConnectionState::reused : ConnectionState::fresh, nullptr};
    const bool sticks = wish.session < homes_.size();
    CHECK(lane.session == no_session || lane.session < homes_.size());
    if (sticks && lane.session == wish.session) {
        claim.state = ConnectionState::sticky;
    } else {
        disown(lane);
        if (sticks && homes_[wish.session].had) {
            claim.state = ConnectionState::moved;
        }
        if (sticks && home_of(wish.session) == nullptr) {
            homes_[wish.session] = {&lane, true};
            lane.session = wish.session;
        }
    }
    Lane* home = wish.last ? home_of(wish.session) : nullptr;
    if (home != nullptr) {
        disown(*home);
        claim.unwanted = home->shelf != nullptr ? home : nullptr;
    }
    return claim;
}

void LaneShelf::disown(Lane& lane) {
    if (lane.session != no_session && homes_[lane.session].lane == &lane) {
        homes_[lane.session].lane = nullptr;
    }
    lane.session = no_session;
}

bool LaneShelf::age(std::uint32_t target, Instant now) {
    Idle& idle = targets_[target];
    Lane* oldest = idle.young.last;
    if (oldest == nullptr || now - oldest->idle_since < idle.limit.replaced_after()) {
        return false;
    }
    CHECK(oldest->shelf == &idle.young);
    remove(*oldest);
    oldest->shelf = &idle.ageing;
    idle.ageing.push_front(*oldest);
    return true;
}

// An owned one has no successor that would be its session's.
Lane* LaneShelf::over(std::uint32_t target, Instant now) const {
    const Idle& idle = at(target);
    for (Lane* lane : {idle.owned.last, idle.ageing.last}) {
        if (lane != nullptr && now - lane->idle_since >= idle.limit.closed_after()) {
            return lane;
        }
    }
    return nullptr;
}

Lane* LaneShelf::oldest(std::uint32_t target) const {
    CHECK(target < targets_.size());
    const Idle& idle = at(target);
    return idle.ageing.last != nullptr  ? idle.ageing.last
           : idle.young.last != nullptr ? idle.young.last
                                        : idle.owned.last;
}

std::uint32_t LaneShelf::count() const {
    std::uint32_t all = 0;
    for (std::uint32_t target = 0; target < targets_.size(); ++target) {
        all += count(target);
    }
    return all;
}

IdleLimit LaneShelf::shortest_limit() const {
    IdleLimit shortest;
    for (const Idle& idle : targets_) {
        shortest.limit = std::min(shortest.limit, idle.limit.limit);
    }
    return shortest;
}

}  // namespace driftless
