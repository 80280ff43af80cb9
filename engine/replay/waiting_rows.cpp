#include "engine/replay/waiting_rows.hpp"

#include <tuple>

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

bool WaitingRows::Choice::before(const Choice& other) const {
    const auto place = [](const Choice& choice) {
        const Due& due = choice.rows->first->due;
        return std::tuple(!choice.retry, due.due_ns, due.request);
    };
    return place(*this) < place(other);
}

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

// Over all servers the row that was due first goes first: a cap on what is in flight, or a host
// that stood still, must not favour one of them.
std::optional<WaitingRows::Choice> WaitingRows::next() const {
    std::optional<Choice> best;
    for (std::uint32_t target = 0; target < queues_.size(); ++target) {
        const Queue& queue = queues_[target];
        for (const RowList* rows : {&queue.retries, &queue.rows}) {
            const Choice choice{target, is_retry(*rows, target), rows};
            if ((choice.retry || lanes_.in_flight.has_room()) && has_lane(target, *rows) &&
                (!best || choice.before(*best))) {
                best = choice;
            }
        }
    }
    return best;
}

WaitingRows::Step WaitingRows::step() {
    const std::optional<Choice> choice = next();
    if (!choice) {
        return {};
    }
    const std::uint32_t target = choice->target;
    RowUnderway& row = *choice->rows->first;
    CHECK(row.stage == RowStage::waiting && row.storage != nullptr);
    const LaneWish wish = ahead_.wish_of(row.due, choice->retry);
    const bool tls = lanes_.parts.targets[target].tls != nullptr;
    Lane* lane =
        tls ? lanes_.pool.bind(target, row, wish, true) : lanes_.pool.take_idle(target, wish);
    if (lane == nullptr) {
        return {};  // it has grown too old since `next` saw it
    }
    (choice->retry ? queues_[target].retries : queues_[target].rows).remove(row);
    return tls ? Step{true, nullptr, nullptr} : Step{true, lane, &row};
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
    }
    if (!stopped_) {
        open_wanted();
    }
    return any;
}

// Where one cannot be opened, all that are allowed are in use: the others cannot be, either.
void WaitingRows::open_wanted() {
    while (const std::optional<Choice> wanting = next_without_lane()) {
        if (!lanes_.pool.open_one(wanting->target)) {
            make_room(*wanting);
            return;
        }
    }
}

std::optional<WaitingRows::Choice> WaitingRows::next_without_lane() const {
    std::optional<Choice> best;
    for (std::uint32_t target = 0; target < queues_.size(); ++target) {
        const Queue& queue = queues_[target];
        const bool retry = !queue.retries.empty();
        const Choice choice{target, retry, retry ? &queue.retries : &queue.rows};
        if (lacks_connection(target) && (!best || choice.before(*best))) {
            best = choice;
        }
    }
    return best;
}

// A row waits that may leave, and nothing that is there or under way can carry it.
bool WaitingRows::lacks_connection(std::uint32_t target) const {
    const LaneTarget& lanes = lanes_.parts.targets[target];
    if (lanes.connecting > 0 || lanes.failures > 0) {
        return false;
    }
    const Queue& queue = queues_[target];
    return queue.retries.empty()
               ? lanes_.in_flight.has_room() && !queue.rows.empty() && !has_lane(target, queue.rows)
               : !has_lane(target, queue.retries);
}

// All connections that are allowed are in use. An idle one gives way, unless a row waits for it
// that was due earlier; where there is none, a busy one will come free. For a retry, which is in
// flight, one gives way, too, that is kept for rows that may not leave before the retry has ended.
void WaitingRows::make_room(const Choice& wanting) {
    for (std::uint32_t target = 0; target < queues_.size(); ++target) {
        const Queue& queue = queues_[target];
        const bool rows_want =
            !queue.rows.empty() &&
            (wanting.retry
                 ? lanes_.in_flight.has_room()
                 : target == wanting.target || Choice{target, false, &queue.rows}.before(wanting));
        if (!rows_want && !has_lane(target, queue.retries) && lanes_.pool.make_room(target)) {
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
