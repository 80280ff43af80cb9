#include "engine/replay/in_flight.hpp"

#include <algorithm>

#include "proto/core/check.hpp"

namespace driftless {

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
    if (row.tries == 0) {  // nobody has told of it yet
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

}  // namespace driftless
