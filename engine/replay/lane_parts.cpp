#include "engine/replay/lane_parts.hpp"

namespace driftless {

// It is above 0 while less than a period is missing until it is full: from one nanosecond behind
// the instant that lies a period before that.
void TokenBucket::take(std::uint64_t tokens, Instant at) {
    if (rate_.tokens == 0) {
        return;
    }
    CHECK(opens_ <= at);
    const Instant empty_if_full = at - rate_.period + Duration{1};  // nothing was missing
    if (opens_ < empty_if_full) {
        opens_ = empty_if_full;
        part_ = 0;
    }
    const auto period = static_cast<unsigned __int128>(rate_.period.ns);
    const unsigned __int128 parts = tokens * period + part_;
    const unsigned __int128 ns = parts / rate_.tokens;
    const auto most = static_cast<unsigned __int128>((never - opens_).ns);
    opens_ = ns < most ? opens_ + Duration{static_cast<std::int64_t>(ns)} : never;
    part_ = static_cast<std::uint64_t>(parts % rate_.tokens);
}

void TokenBudgets::take(std::uint32_t input, std::uint32_t cached, std::uint32_t output,
                        Instant at) {
    input_.take(rules_.uncached ? input - std::min(input, cached) : input, at);
    output_.take(output, at);
}

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

EndInfo end_info(const RowUnderway& row, Outcome outcome, std::int32_t sys_errno) {
    const Resends& resends = row.resends;
    EndInfo end{};
    end.outcome = outcome;
    end.sys_errno = sys_errno;
    end.stale_retries = static_cast<std::uint8_t>(row.tries);
    end.request_lost = resends.lost;
    end.retransmits =
        resends.known
            ? static_cast<std::uint16_t>(std::min<std::uint32_t>(resends.segments, retransmits_max))
            : retransmits_unknown;
    return end;
}

void InFlight::add(const RowUnderway& row) {
    CHECK(row.stage == RowStage::in_flight);
    count_ += row.tries == 0 ? 1 : 0;
}

void InFlight::answered(RowUnderway& row, Instant at) {
    CHECK(row.stage == RowStage::in_flight && !row.answered);
    row.ended = at;
    row.answered = true;
    ++settling_;
    answered_.push_back(row);
}

// Of answers that were read together the first to come has made room.
void InFlight::end(RowUnderway& row, const Event& event, Instant freed) {
    CHECK(count_ > 0);
    freed_ = count_ == parts_.settings.inflight_max ? freed : std::min(freed_, freed);
    --count_;
    push_end(row, event);
}

void InFlight::end_without_lane(RowUnderway& row, Outcome outcome, std::int32_t sys_errno) {
    CHECK(row.stage != RowStage::ended);
    const Instant now = parts_.loop.driver().now();
    if (row.tries == 0) {  // its `armed` event was not pushed yet
        const EventRing::Push pushed =
            parts_.ring.push(Event::of_armed(row.due, Event::never_armed));
        CHECK(pushed == EventRing::Push::whole);  // `has_room_for_row` was asked
    }
    Event event;
    event.request = row.due.request;
    event.kind = EventKind::end;
    event.stamp_ns = now.ns;
    event.waited_ns = Event::no_wait;
    event.end = end_info(row, outcome, sys_errno);
    if (outcome == Outcome::not_sent && is_wish(row.cause) && row.held_ns > 0) {
        event.waited_ns = row.held_ns;
        event.end.sys_errno = static_cast<std::int32_t>(row.cause);
    }
    if (outcome == Outcome::cancelled && parts_.time_over) {
        event.flags = event_censored;
    }
    if (row.tries > 0) {
        end(row, event, now);
    } else {
        push_end(row, event);
    }
}

void InFlight::push_end(RowUnderway& row, const Event& event) {
    CHECK(row.storage == nullptr && event.kind == EventKind::end);
    parts_.counts.rows_ended += 1;
    row.enter(RowStage::ended);
    if (row.answered) {
        CHECK(settling_ > 0 && event.end.outcome == Outcome::ok && event.stamp_ns == row.ended.ns);
        --settling_;
        if (!row.told) {
            answered_.remove(row);
        }
    }
    row.ended = Instant{event.stamp_ns};
    row.answered = event.end.outcome == Outcome::ok && event.end.status == 200;
    row.abandoned = event.end.outcome == Outcome::abandoned;
    ended_.push_back(row);
    const EventRing::Push pushed = parts_.ring.push(event);
    CHECK(pushed == EventRing::Push::whole);  // the ring keeps a place for every end
}

static Lane* first_of(const LaneList& list, bool fresh) {
    Lane* lane = list.first;
    while (lane != nullptr && fresh && lane->used) {
        lane = lane->next;
    }
    return lane;
}

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

// The connection of the session, where it is open and idle.
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
