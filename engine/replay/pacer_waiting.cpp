// Rows that cannot leave at their instant, or must leave again: bound to a connection ahead of
// time, late, lost, refused, and what is left when nothing more is to be sent.

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/io/own_lack.hpp"
#include "engine/replay/pacer.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

Outcome outcome_of_failure(const LaneTarget& target) {
    return target.failure_timed_out            ? Outcome::timeout_connect
           : target.failure_is_tls             ? Outcome::tls_failed
           : is_own_lack(target.failure_errno) ? Outcome::client_failed
                                               : Outcome::connect_failed;
}

}  // namespace

// A row that was due before it was all records, and is now.
bool Pacer::fire_late() {
    if (!can_fire_late()) {
        return false;
    }
    if (!lanes_.give_up_old(lanes_.late_front()->request)) {
        DueRow row;
        Lane& lane = lanes_.take_late(row);
        note_held(row);
        fire(lane, row);
    }
    return true;
}

bool Pacer::can_fire_late() const {
    const DueRow* row = lanes_.late_front();
    return row != nullptr && (has_room() || row->tries > 0);
}

LateCause Pacer::what_blocks_next() const {
    if (armer_.ready(*schedule_.peek()) == nullptr) {
        // Bodies that nobody takes are in the way, or it is not built yet.
        return armer_.lacks_room() ? LateCause::limit : LateCause::prepare;
    }
    return !ring_.has_room_for_row()                     ? LateCause::writer
           : lanes_.inflight() >= settings_.inflight_max ? cause_of_cap()
                                                         : LateCause::none;
}

LateCause Pacer::cause_of_cap() const {
    return settings_.capped_by_host ? LateCause::limit : LateCause::inflight;
}

// The host allows no further connection, though the row may leave: others are closing.
LateCause Pacer::cause_of_no_lane() const {
    const bool capped = settings_.capped_by_host && settings_.lanes_max == settings_.inflight_max;
    return capped && lanes_.full() ? LateCause::limit : LateCause::lane;
}

// What held back the next row, or one before it when this one was due already. What the user asked
// for, what the host has no room for and a disk that hangs would have delayed it anyway; a stop
// goes before what it entailed.
LateCause Pacer::what_held_next() const {
    const Instant due = due_instant(*schedule_.peek());
    for (const LateCause cause : {LateCause::writer, LateCause::inflight, LateCause::limit}) {
        if (held_until(due, cause).ns > 0) {
            return cause;
        }
    }
    if (away_from_ <= due && due < away_until_) {
        return LateCause::wake;
    }
    const bool unbuilt = held_until(due, LateCause::prepare).ns > 0;
    return unbuilt ? LateCause::prepare : LateCause::none;
}

void Pacer::note_away(Instant from, Instant until) {
    const Due* next = schedule_.peek();
    const bool behind = next != nullptr && zero_ != never && due_instant(*next) < away_until_;
    away_from_ = behind ? away_from_ : from;
    away_until_ = until;
}

// No row may leave at this moment, whatever else it waits for. A place comes free when an answer
// has ended, not when we read so: nobody wanted a row to wait while this process was stopped.
void Pacer::note_full(Instant now) {
    Instant& capped_until = blocked_until_[static_cast<std::size_t>(cause_of_cap())];
    if (lanes_.inflight() >= settings_.inflight_max) {
        capped_until = now;
        full_ = true;
    } else if (std::exchange(full_, false)) {
        capped_until = lanes_.freed();
        room_.free(capped_until);
    }
    if (!ring_.has_room_for_row()) {
        blocked_until_[static_cast<std::size_t>(LateCause::writer)] = now;
    }
}

// For how long this has held back a row that was due then. Places that were free meanwhile, as
// while this process was stopped, would have taken it: what fills them now is a consequence.
Duration Pacer::held_until(Instant due, LateCause cause) const {
    const Instant until = blocked_until_[static_cast<std::size_t>(cause)];
    const Duration room =
        cause == LateCause::inflight && due < until ? room_.between(due, until) : Duration{0};
    return until - due - room;
}

// A row that did not leave when its turn came leaves now: what has held it since then, too. What no
// user wanted stays its cause.
void Pacer::note_held(DueRow& row) const {
    const Instant due = due_instant(row.request.due);
    for (const LateCause cause : {LateCause::inflight, LateCause::limit, LateCause::writer}) {
        const Instant until = blocked_until_[static_cast<std::size_t>(cause)];
        const std::int64_t held_ns = held_until(due, cause).ns;
        if (row.tries == 0 && row.taken < until && held_ns > 0) {
            const bool stays = row.cause == LateCause::writer ||
                               (row.cause == LateCause::limit && cause == LateCause::inflight);
            row.cause = stays ? row.cause : cause;
            row.held_ns = std::max(row.held_ns, held_ns);
        }
    }
    if (row.cause == LateCause::limit && row.held_ns == 0) {  // no connection more may be open
        row.held_ns = (loop_.driver().now() - due).ns;
    }
}

// Before time 0 is set, from the first row on: all that is armed is bound for a start.
Duration Pacer::due_in(const Due& due) const {
    return zero_ == never ? Duration{due.due_ns - schedule_.first_due_ns()}
                          : due_instant(due) - loop_.driver().now();
}

bool Pacer::bind_ahead(std::int64_t horizon_ns) {
    while (const std::optional<Due> due = schedule_.within(Lookahead::binding, horizon_ns)) {
        ArmedRequest* armed = armer_.find(*due);
        if (stopped_ || armed == nullptr ||
            (armed->storage == nullptr && armed->lane == ArmedRequest::no_lane)) {
            return false;  // not armed yet, or not any more
        }
        const bool binds = has_tls(target_of(*due)) && armed->lane == ArmedRequest::no_lane;
        if (binds && !bind(*due, *armed)) {
            return false;
        }
        schedule_.pass(Lookahead::binding, *due);
        if (binds) {
            return true;
        }
    }
    return false;
}

// To an idle lane, which has its bytes then; false where there is none.
bool Pacer::bind(const Due& due, ArmedRequest& armed) {
    DueRow row;
    row.request = armed;
    row.cause = LateCause::none;
    LaneWish wish = wish_of(due, false);
    wish.lead = due_in(due);
    const Lane* lane = lanes_.bind(target_of(due), row, wish, false);
    if (lane == nullptr) {
        return false;
    }
    armed.lane = lane->number;
    armed.storage = nullptr;
    return true;
}

// Rows whose bytes are gone with their connection are built again: those that have been fired wait
// for a connection that nobody has used, those that are due for any, the others go back to their
// place.
bool Pacer::take_retries() {
    const bool any = !lanes_.again().empty() || armer_.retry_ready();
    for (DueRow& row : lanes_.again()) {
        take_again(row);
    }
    lanes_.again().clear();
    while (armer_.retry_ready()) {
        const ArmedRequest request = armer_.take_retry();
        const auto found = std::find_if(again_.begin(), again_.end(), [&](const DueRow& row) {
            return row.request.due.request == request.due.request;
        });
        CHECK(found != again_.end());
        DueRow row = *found;
        row.request = request;
        again_.erase(found);
        if (!schedule_.has_taken(request.due)) {
            armer_.put_back(request);
            schedule_.go_back(Lookahead::binding, request.due);
            continue;
        }
        const std::uint32_t target = target_of(request.due);
        (row.tries > 0 ? retrying_ : waiting_)[target].push_back(row);
        (void)lanes_.open_one(target);
    }
    return any;
}

void Pacer::take_again(const DueRow& row) {
    const Due& due = row.request.due;
    if (!stopped_) {
        if (!schedule_.has_taken(due)) {
            armer_.find(due)->lane = ArmedRequest::no_lane;
        }
        armer_.arm_again(due, row.request.storage);
        again_.push_back(row);
        again_.back().request.storage = nullptr;
    } else if (row.tries > 0) {
        end_waiting(row, Outcome::cancelled);
    } else if (schedule_.has_taken(due)) {
        waiting_[target_of(due)].push_back(row);  // `drop_unsent` ends it
    } else {
        armer_.give_back(row.request);  // it comes to its end when it is taken
    }
}

// A connect that failed is the end of the row that has waited longest for it.
bool Pacer::answer_failures() {
    bool any = false;
    for (std::uint32_t target = 0; target < waiting_.size(); ++target) {
        LaneTarget& lanes = lanes_.targets()[target];
        for (; lanes.failures > 0; --lanes.failures) {
            std::deque<DueRow>& rows =
                !retrying_[target].empty() ? retrying_[target] : waiting_[target];
            if (rows.empty()) {
                lanes.failures = 0;
                break;
            }
            if (rows.front().tries == 0 && !ring_.has_room_for_row()) {
                break;  // the place of an end belongs to rows that have left
            }
            const DueRow row = rows.front();
            rows.pop_front();
            end_waiting(row, outcome_of_failure(lanes), lanes.failure_errno);
            any = true;
        }
        if (!stopped_ && wants_connection(target) && !lanes_.open_one(target)) {
            make_room(!retrying_[target].empty());
        }
    }
    return any;
}

// One more row may be in flight, and the ring has a place for its end.
bool Pacer::has_room() const {
    return lanes_.inflight() < settings_.inflight_max && ring_.has_room_for_row();
}

// A row waits that may leave, and nothing that is there or under way can carry it.
bool Pacer::wants_connection(std::uint32_t target) const {
    const LaneTarget& lanes = lanes_.targets()[target];
    if (lanes.connecting > 0 || lanes.failures > 0) {
        return false;
    }
    return retrying_[target].empty()
               ? has_room() && !waiting_[target].empty() && !has_lane_for_first(waiting_, target)
               : !has_lane_for_first(retrying_, target);
}

// All connections that are allowed are in use: one that stands idle, and that no row waits for,
// gives way. Where there is none, a busy one will come free. For a retry, which is in flight, one
// gives way, too, that is kept for rows that may not leave before the retry has ended.
void Pacer::make_room(bool retry) {
    for (std::uint32_t target = 0; target < waiting_.size(); ++target) {
        const bool wanted = (!waiting_[target].empty() && (has_room() || !retry)) ||
                            has_lane_for_first(retrying_, target);
        if (!wanted && lanes_.make_room(target)) {
            return;
        }
    }
}

void Pacer::end_waiting(const DueRow& row, Outcome outcome, std::int32_t sys_errno) {
    armer_.give_back(row.request);
    lanes_.end_without_lane(row, outcome, sys_errno);
}

// Rows that will never be due, because a row that they wait for has failed: one at a time.
bool Pacer::end_dropped() {
    const std::optional<Due> dropped = schedule_.dropped();
    if (!dropped || !ring_.has_room_for_row()) {
        return false;
    }
    DueRow row;
    row.request.due = *dropped;
    schedule_.take_dropped();
    armer_.forget(*dropped);
    lanes_.end_without_lane(row, Outcome::not_sent);
    return true;
}

// Under closed sessions others may be armed before the next row is known. Where they have left no
// room for it, it is built as those are that must leave again: or all would wait for each other.
bool Pacer::set_aside_next(Instant now) {
    const Due* next = schedule_.peek();
    const bool in_the_way = armer_.full() || (armer_.lacks_room() && armer_.armed_count() > 0);
    if (!in_the_way || armer_.find(*next) != nullptr ||
        schedule_.has_passed(Lookahead::arming, *next)) {
        return false;
    }
    DueRow row;
    row.cause = LateCause::limit;
    row.taken = now;
    row.request.due = move_on();
    armer_.arm_late(row.request.due);
    again_.push_back(row);
    return true;
}

void Pacer::stop() {
    stopped_ = true;
    schedule_.stop();
    armer_.stop();  // what it was building again is in `again_`
    lanes_.unbind_all();
    for (const DueRow& row : again_) {
        take_again(row);
    }
    again_.clear();
    for (std::deque<DueRow>& rows : retrying_) {
        for (const DueRow& row : rows) {
            end_waiting(row, Outcome::cancelled);
        }
        rows.clear();
    }
}

void Pacer::forget_waiting() {
    CHECK(stopped_);
    for (std::deque<DueRow>& rows : waiting_) {
        for (const DueRow& row : rows) {
            armer_.give_back(row.request);
        }
        rows.clear();
    }
}

bool Pacer::drop_unsent(std::uint32_t rows_max) {
    CHECK(stopped_);
    std::uint32_t dropped = 0;
    for (std::deque<DueRow>& rows : waiting_) {
        for (; dropped < rows_max && !rows.empty() && ring_.has_room_for_row(); ++dropped) {
            end_waiting(rows.front(), Outcome::not_sent);
            rows.pop_front();
        }
    }
    for (; dropped < rows_max && end_dropped(); ++dropped) {
    }
    for (; dropped < rows_max && schedule_.peek() != nullptr && ring_.has_room_for_row();
         ++dropped) {
        DueRow row;
        row.request.due = move_on();
        lanes_.end_without_lane(row, Outcome::not_sent);
    }
    return dropped > 0;
}

}  // namespace driftless
