#include <algorithm>

#include "engine/replay/pacer.hpp"
#include "proto/core/errors.hpp"

namespace driftless {

// What holds rows back for a known time.
static bool is_cap(LateCause cause) {
    return cause == LateCause::writer || is_wish(cause) || cause == LateCause::limit;
}

LateCause LateCauses::of_cap() const {
    return settings_.capped_by_host ? LateCause::limit : LateCause::inflight;
}

LateCause LateCauses::of_caps() const {
    return !ring_.has_room_for_row()      ? LateCause::writer
           : lanes_.in_flight.full()      ? of_cap()
           : !lanes_.parts.budgets.open() ? LateCause::budget
                                          : LateCause::none;
}

// Of what the user asked for, what let rows go last.
LateCause LateCauses::last_wish() const {
    return blocked_until(LateCause::budget) > blocked_until(LateCause::inflight)
               ? LateCause::budget
               : LateCause::inflight;
}

// The host allows no further connection, though the row may leave: others are closing.
LateCause LateCauses::of_no_lane() const {
    const bool capped = settings_.capped_by_host && settings_.lanes_max == settings_.inflight_max;
    return capped && lanes_.pool.full() ? LateCause::limit : LateCause::lane;
}

// A place comes free when an answer has ended, and tokens are there when they are refilled, not
// when we look: the time in which this process was stopped is not a wait that the user asked for.
void LateCauses::note_caps(Instant now) {
    Instant& capped_until = blocked_until(of_cap());
    if (lanes_.in_flight.full()) {
        capped_until = now;
        full_ = true;
    } else if (std::exchange(full_, false)) {
        capped_until = lanes_.in_flight.freed();
    }
    const TokenBudgets& budgets = lanes_.parts.budgets;
    if (!budgets.open()) {
        blocked_until(LateCause::budget) = now;
        short_ = true;
    } else if (std::exchange(short_, false)) {
        blocked_until(LateCause::budget) = budgets.opens();
    }
    if (!short_ && !(full_ && of_cap() == LateCause::inflight) && std::exchange(shut_, false)) {
        room_.free(blocked_until(last_wish()));
    }
    if (!ring_.has_room_for_row()) {
        blocked_until(LateCause::writer) = now;
    }
}

void LateCauses::note_take(Instant at) {
    const Instant full = lanes_.parts.budgets.overflows();
    if (full < at) {
        lost_.free(full);
        lost_.fill(at);
    }
}

void LateCauses::note_fire(Instant at, Instant done) {
    CHECK(at <= done);
    full_ = full_ || lanes_.in_flight.full();
    short_ = short_ || lanes_.parts.budgets.opens() > done;
    if (short_ || (full_ && of_cap() == LateCause::inflight)) {
        shut_ = true;
        room_.fill(at);
    }
    fired_until_ = done;
}

void LateCauses::note_next(LateCause cause, Instant now) {
    if (blocked_by_ != LateCause::none && !is_wish(blocked_by_)) {  // `note_caps`
        blocked_until(blocked_by_) = now;
    }
    blocked_by_ = cause;
}

void LateCauses::note_away(Instant from, Instant until, Instant next_due) {
    CHECK(from <= until);
    away_from_ = next_due < away_until_ ? away_from_ : from;
    away_until_ = until;
}

// What held back the next row, or one before it when this one was due already. What the user asked
// for, what the host has no room for and a disk that hangs would have delayed it anyway, and so
// come first. A stop outranks the delays that it caused.
LateCause LateCauses::before_turn(Instant due) const {
    for (const LateCause cause : {LateCause::writer, last_wish(), LateCause::limit}) {
        if (held(due, cause).ns > 0) {
            return cause;
        }
    }
    if (away_from_ <= due && due < away_until_) {
        return LateCause::wake;
    }
    const bool unbuilt = held(due, LateCause::prepare).ns > 0;
    return unbuilt ? LateCause::prepare : LateCause::none;
}

// For how long this has held back a row that was due then. Places that were free meanwhile, as
// while this process was stopped, would have taken it: what fills them now is a consequence. Tokens
// of a budget come at their instants, however late others take theirs, but for those that a full
// bucket had no room for.
Duration LateCauses::held(Instant due, LateCause cause) const {
    const Instant until = blocked_until(cause);
    if (due >= until || !is_wish(cause)) {
        return until - due;
    }
    const RoomTimes& room = cause == LateCause::budget ? lost_ : room_;
    return until - due - room.between(due, until);
}

void LateCauses::begin(RowUnderway& row, Instant due, Instant now) const {
    row.cause = before_turn(due);
    row.held_ns = is_cap(row.cause) ? held(due, row.cause).ns : 0;
    row.turn = now;
}

void LateCauses::lacks(RowUnderway& row, LateCause what) {
    row.then = what;
    row.cause = row.cause == LateCause::none ? what : row.cause;
}

// A cause that the user did not ask for stays.
void LateCauses::end(RowUnderway& row, Instant due) const {
    for (const LateCause cause : {last_wish(), LateCause::limit, LateCause::writer}) {
        const std::int64_t held_ns = held(due, cause).ns;
        if (row.tries == 0 && row.turn < blocked_until(cause) && held_ns > 0) {
            const bool stays =
                row.cause == LateCause::writer || (row.cause == LateCause::limit && is_wish(cause));
            row.cause = stays ? row.cause : cause;
            row.held_ns = std::max(row.held_ns, held_ns);
        }
    }
    if (row.cause == LateCause::limit && row.held_ns == 0) {  // no connection more may be open
        row.held_ns = (driver_.now() - due).ns;
    }
}

LateCause LateCauses::of(const RowUnderway& row, Instant due, Duration drift) const {
    CHECK(drift.ns >= 0);  // nothing leaves early
    if (row.cause != LateCause::none) {
        // A cap is not why a row is late that has waited longer for what it lacked then; a limit of
        // the host stays its cause.
        const bool lacked_longer = row.then != LateCause::none && drift.ns > 2 * row.held_ns;
        const bool yields = is_wish(row.cause) || row.cause == LateCause::writer;
        return yields && lacked_longer ? row.then : row.cause;
    }
    if (drift <= on_time_max) {
        return LateCause::none;
    }
    return worked_until_ > due  ? LateCause::guard
           : fired_until_ > due ? LateCause::burst
                                : LateCause::wake;
}

}  // namespace driftless
