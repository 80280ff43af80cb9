#include "engine/replay/pacer.hpp"

#include <algorithm>

#include "proto/core/check.hpp"

namespace driftless {

Pacer::Pacer(Loop& loop, const Trace& trace, Schedule& schedule, Armer& armer, Lanes& lanes,
             EventRing& ring, FiredMarks* marks, Health& health, const ReplaySettings& settings)
    : driver_(loop.driver()),
      schedule_(schedule),
      armer_(armer),
      lanes_(lanes),
      ring_(ring),
      health_(health),
      ahead_(trace, schedule, armer, lanes.parts.targets.size(),
             settings.connection == ConnectionRule::sticky),
      late_(loop.driver(), settings, lanes, ring),
      waiting_(lanes, armer, ring, ahead_),
      firing_(loop, trace, schedule, lanes, ring, marks, health, settings, late_) {}

void Pacer::begin(Instant zero) {
    CHECK(zero_ == never && zero != never);
    zero_ = zero;
}

// The next row may leave, or is late.
bool Pacer::has_due(Instant now) const {
    const Due* next = schedule_.peek();
    return !stopped_ && zero_ != never && next != nullptr && due_instant(*next) <= now;
}

bool Pacer::needs_arm(Instant now) const {
    return has_due(now) && armer_.ready(*schedule_.peek()) == nullptr;
}

// A row that was due before it was all records, and is now.
bool Pacer::may_fire_late() const {
    const Lane* lane = lanes_.sealing.late_front();
    return lane != nullptr && (lanes_.in_flight.has_room() || lane->tls->row->tries > 0);
}

Instant Pacer::next_due(Instant now) const {
    if (!stopped_ && (may_fire_late() || waiting_.can_leave())) {
        return now;
    }
    if (stopped_ || zero_ == never) {
        return never;
    }
    const Due* next = schedule_.peek();
    const Instant due = next == nullptr ? never : due_instant(*next);
    if (!lanes_.in_flight.has_place()) {
        return due <= now ? never : due;
    }
    // What waits for tokens alone leaves as soon as they are there.
    const Instant opens = lanes_.parts.budgets.opens();
    const bool holds = opens > now && (lanes_.sealing.late_front() != nullptr || !waiting_.empty());
    return holds ? opens : due == never ? never : std::max(due, opens);
}

bool Pacer::done() const {
    return waiting_.empty() && schedule_.left() == 0 && armer_.again_count() == 0 &&
           lanes_.parts.again.empty() && lanes_.in_flight.ended().empty() &&
           lanes_.sealing.late_count() == 0;
}

void Pacer::note_away(Instant from, Instant until) {
    const Due* next = schedule_.peek();
    late_.note_away(from, until, next != nullptr && zero_ != never ? due_instant(*next) : never);
}

bool Pacer::step(Instant now) {
    lanes_.parts.budgets.look(now);
    note_ends();
    const bool retried = take_retries();  // first: it also takes back what lanes have lost
    const bool failed = waiting_.answer_failures();
    const bool dropped = end_dropped();
    if (!stopped_) {  // then what held rows back stays what it was
        late_.note_caps(now);
    }
    if (!stopped_ && (fire_late() || fire_waiting())) {
        return true;
    }
    return (has_due(now) && fire_next(now)) || retried || failed || dropped;
}

// What has ended since the last look: the schedule may release others, and the row is on its way no
// more. Whoever ends a row does not know who waits for that.
void Pacer::note_ends() {
    const auto tell = [this](RowUnderway& row) {
        CHECK(!row.told);
        row.told = true;
        TurnEnd end = row.answered;
        end.is_abandoned = row.abandoned;
        end.is_429 = row.is_429;
        end.retry_after_ns = row.retry_after_ns;
        schedule_.ended(row.due, (row.ended - zero_).ns, end);
    };
    while (RowUnderway* row = lanes_.in_flight.answered().pop_front()) {
        tell(*row);
    }
    while (RowUnderway* row = lanes_.in_flight.ended().pop_front()) {
        if (!row->told) {
            tell(*row);
        }
        armer_.rows().remove(*row);
    }
}

// The next row is due. False where it must wait for bytes or for its place in flight.
bool Pacer::fire_next(Instant now) {
    const Due& next = *schedule_.peek();
    const RowUnderway* armed = armer_.ready(next);
    // An answer was read, and its place and its lane come free in a moment.
    if (armed != nullptr && lanes_.in_flight.settling() > 0 &&
        (lanes_.in_flight.full() || !waiting_.finds_lane(*armed))) {
        return false;
    }
    // Bodies that nobody takes are in the way, or it is not built yet.
    const LateCause unbuilt = armer_.lacks_room() ? LateCause::limit : LateCause::prepare;
    const LateCause blocked = armed == nullptr ? unbuilt : late_.of_caps();
    late_.note_next(blocked, now);
    if (blocked != LateCause::none) {
        if (armed == nullptr) {
            health_.note_late_arm();
        }
        return set_aside_next(now);
    }
    if (lanes_.pool.give_up_old(*armed)) {
        return true;
    }
    RowUnderway& row = take_next(now);
    if (Lane* lane = take_lane(row); lane != nullptr) {
        fire(*lane, row);
        return true;
    }
    const std::uint32_t target = ahead_.target_of(row.due);
    const bool was_bound = row.stage == RowStage::bound;
    if (was_bound || (lanes_.parts.has_tls(target) && waiting_.bind(row))) {  // no records yet
        LateCauses::lacks(row, LateCause::prepare);
        if (was_bound) {
            lanes_.pool.now_late(row);
        }
        return true;
    }
    health_.note_missing_lane();
    LateCauses::lacks(row, late_.of_no_lane());
    waiting_.add(row);
    if (lanes_.parts.targets[target].connecting < waiting_.count(target)) {
        (void)lanes_.pool.open_one(target);
    }
    return true;
}

// For the row that is next or was just taken; nullptr where none is ready.
Lane* Pacer::take_lane(const RowUnderway& row) {
    const std::uint32_t target = ahead_.target_of(row.due);
    if (lanes_.parts.has_tls(target)) {
        return lanes_.pool.take_ready(row);
    }
    return waiting_.count(target) == 0
               ? lanes_.pool.take_idle(target, ahead_.wish_of(row.due, false))
               : nullptr;
}

// The next row, with what has kept it so far.
RowUnderway& Pacer::take_next(Instant now) {
    const Due due = ahead_.take();
    RowUnderway& row = armer_.take(due);
    CHECK(zero_ != never && !stopped_);
    late_.begin(row, due_instant(due), now);
    return row;
}

bool Pacer::fire_on_time() {
    const Due* next = schedule_.peek();
    RowUnderway* armed = next == nullptr ? nullptr : armer_.ready(*next);
    if (stopped_ || armed == nullptr || !lanes_.in_flight.has_room() ||
        lanes_.pool.give_up_old(*armed)) {
        return false;
    }
    Lane* lane = take_lane(*armed);
    if (lane == nullptr) {
        return false;
    }
    const Instant due = due_instant(*next);
    RowUnderway& row = take_next(due);
    CHECK(&row == armed);
    const FiredInfo info = firing_.prepare(*lane, row);
    while (driver_.now() < due) {  // bounded by the guard
    }
    firing_.let_go(*lane, row, due, info);
    return true;
}

bool Pacer::fire_late() {
    if (!may_fire_late()) {
        return false;
    }
    RowUnderway& row = *lanes_.sealing.late_front()->tls->row;
    if (!lanes_.pool.give_up_old(row)) {
        Lane* lane = lanes_.pool.take_ready(row);
        CHECK(lane != nullptr);
        late_.end(row, due_instant(row.due));
        fire(*lane, row);
    }
    return true;
}

bool Pacer::fire_waiting() {
    const WaitingRows::Step step = waiting_.step();
    if (step.lane != nullptr) {
        late_.end(*step.row, due_instant(step.row->due));
        fire(*step.lane, *step.row);
    }
    return step.done;
}

void Pacer::fire(Lane& lane, RowUnderway& row) {
    firing_.let_go(lane, row, due_instant(row.due), firing_.prepare(lane, row));
}

}  // namespace driftless
