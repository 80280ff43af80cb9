#include "engine/replay/waiting_rows.hpp"

#include "engine/io/own_lack.hpp"
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

WaitingRows::WaitingRows(Lanes& lanes, Armer& armer, EventRing& ring, const RowsAhead& ahead)
    : lanes_(lanes),
      armer_(armer),
      ring_(ring),
      ahead_(ahead),
      queues_(lanes.parts.targets.size()) {}

void WaitingRows::add(RowUnderway& row) {
    CHECK(row.taken);
    row.enter(RowStage::waiting);
    Queue& queue = queues_[ahead_.target_of(row.due)];
    (row.tries > 0 ? queue.retries : queue.rows).push_back(row);
}

bool WaitingRows::empty() const {
    for (const Queue& queue : queues_) {
        if (!queue.empty()) {
            return false;
        }
    }
    return true;
}

bool WaitingRows::has_lane(std::uint32_t target, const RowList& rows) const {
    if (rows.empty() || lanes_.shelf.count(target) == 0) {
        return false;
    }
    const LaneWish wish = ahead_.wish_of(rows.first->due, is_retry(rows, target));
    return lanes_.pool.has_idle(target, wish);
}

bool WaitingRows::bind(RowUnderway& row) {
    const std::uint32_t target = ahead_.target_of(row.due);
    return queues_[target].empty() &&
           lanes_.pool.bind(target, row, ahead_.wish_of(row.due, false), true) != nullptr;
}

bool WaitingRows::finds_lane(const RowUnderway& row) const {
    const std::uint32_t target = ahead_.target_of(row.due);
    const LaneWish wish = ahead_.wish_of(row.due, false);
    return row.stage == RowStage::bound || (queues_[target].empty() && wish.session == no_session &&
                                            lanes_.pool.has_idle(target, wish));
}

bool WaitingRows::can_leave() const {
    for (std::uint32_t target = 0; target < queues_.size(); ++target) {
        const Queue& queue = queues_[target];
        if ((lanes_.in_flight.has_room() && has_lane(target, queue.rows)) ||
            has_lane(target, queue.retries)) {
            return true;
        }
    }
    return false;
}

WaitingRows::Step WaitingRows::step() {
    for (std::uint32_t target = 0; target < queues_.size(); ++target) {
        for (RowList* rows : {&queues_[target].retries, &queues_[target].rows}) {
            const bool retry = is_retry(*rows, target);
            if (rows->empty() || !(retry || lanes_.in_flight.has_room())) {
                continue;
            }
            RowUnderway& row = *rows->first;
            CHECK(row.stage == RowStage::waiting && row.storage != nullptr);
            const LaneWish wish = ahead_.wish_of(row.due, retry);
            const bool tls = lanes_.parts.targets[target].tls != nullptr;
            Lane* lane = tls ? lanes_.pool.bind(target, row, wish, true)
                             : lanes_.pool.take_idle(target, wish);
            if (lane == nullptr) {
                continue;
            }
            rows->remove(row);
            return tls ? Step{true, nullptr, nullptr} : Step{true, lane, &row};
        }
    }
    return {};
}

bool WaitingRows::answer_failures() {
    bool any = false;
    for (std::uint32_t target = 0; target < queues_.size(); ++target) {
        Queue& queue = queues_[target];
        LaneTarget& lanes = lanes_.parts.targets[target];
        for (; lanes.failures > 0; --lanes.failures) {
            RowList& rows = !queue.retries.empty() ? queue.retries : queue.rows;
            if (rows.empty()) {
                lanes.failures = 0;
                break;
            }
            if (!is_retry(rows, target) && !ring_.has_room_for_row()) {
                break;  // the place of an end belongs to rows that have left
            }
            end(*rows.pop_front(), outcome_of_failure(lanes), lanes.failure_errno);
            any = true;
        }
        if (!stopped_ && wants_connection(target) && !lanes_.pool.open_one(target)) {
            make_room(!queue.retries.empty());
        }
    }
    return any;
}

// A row waits that may leave, and nothing that is there or under way can carry it.
bool WaitingRows::wants_connection(std::uint32_t target) const {
    const LaneTarget& lanes = lanes_.parts.targets[target];
    if (lanes.connecting > 0 || lanes.failures > 0) {
        return false;
    }
    const Queue& queue = queues_[target];
    return queue.retries.empty()
               ? lanes_.in_flight.has_room() && !queue.rows.empty() && !has_lane(target, queue.rows)
               : !has_lane(target, queue.retries);
}

// All connections that are allowed are in use: one that stands idle, and that no row waits for,
// gives way. Where there is none, a busy one will come free. For a retry, which is in flight, one
// gives way, too, that is kept for rows that may not leave before the retry has ended.
void WaitingRows::make_room(bool retry) {
    for (std::uint32_t target = 0; target < queues_.size(); ++target) {
        const Queue& queue = queues_[target];
        const bool wanted = (!queue.rows.empty() && (lanes_.in_flight.has_room() || !retry)) ||
                            has_lane(target, queue.retries);
        if (!wanted && lanes_.pool.make_room(target)) {
            return;
        }
    }
}

void WaitingRows::end(RowUnderway& row, Outcome outcome, std::int32_t sys_errno) {
    CHECK(row.stage == RowStage::waiting);
    armer_.give_back(row);
    lanes_.in_flight.end_without_lane(row, outcome, sys_errno);
}

void WaitingRows::stop() {
    stopped_ = true;
    for (Queue& queue : queues_) {
        while (RowUnderway* row = queue.retries.pop_front()) {
            end(*row, Outcome::cancelled);
        }
    }
}

bool WaitingRows::end_one() {
    CHECK(stopped_);
    for (Queue& queue : queues_) {
        if (!queue.rows.empty() && ring_.has_room_for_row()) {
            end(*queue.rows.pop_front(), Outcome::not_sent);
            return true;
        }
    }
    return false;
}

void WaitingRows::forget() {
    CHECK(stopped_);
    for (Queue& queue : queues_) {
        while (RowUnderway* row = queue.rows.pop_front()) {
            armer_.give_back(*row);
        }
    }
}

}  // namespace driftless
