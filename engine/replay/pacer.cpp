#include "engine/replay/pacer.hpp"

#include <algorithm>

#include "engine/host/probes.hpp"
#include "proto/core/errors.hpp"

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

// What has ended since the last look: the schedule may release others, and the row is no longer
// underway. The part that ends a row does not know which rows wait for it.
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
    // Bodies of rows that cannot leave yet have taken the memory, or it is not built yet.
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

// Rows ahead of their instant, and rows that come back: bound to a connection, lost with it, built
// once more, dropped, and what is left when nothing more is to be sent.

bool Pacer::bind_ahead(std::int64_t horizon_ns) {
    (void)take_retries();  // one that was built again since the last step is still the armer's
    while (const std::optional<Due> due = schedule_.within(Lookahead::binding, horizon_ns)) {
        RowUnderway* row = stopped_ ? nullptr : armer_.ready(*due);
        if (row == nullptr) {
            return false;  // not armed yet, or not any more
        }
        const std::uint32_t target = ahead_.target_of(*due);
        const bool binds = lanes_.parts.has_tls(target) && row->stage == RowStage::armed;
        if (binds) {
            LaneWish wish = ahead_.wish_of(*due, false);
            // Before time 0 is set, from the first row on: all that is armed is bound for a start.
            wish.lead = zero_ == never ? Duration{due->due_ns - schedule_.first_due_ns()}
                                       : due_instant(*due) - driver_.now();
            if (lanes_.pool.bind(target, *row, wish, false) == nullptr) {
                return false;
            }
        }
        schedule_.pass(Lookahead::binding, *due);
        if (binds) {
            return true;
        }
    }
    return false;
}

// Rows whose bytes are gone with their connection are built again: those that have been fired wait
// for a connection that is unused, those that are due for any, the others keep their place.
bool Pacer::take_retries() {
    bool any = false;
    while (RowUnderway* row = lanes_.parts.again.pop_front()) {
        take_again(*row);
        any = true;
    }
    while (RowUnderway* row = armer_.take_again()) {
        any = true;
        if (!row->taken) {
            row->losses = 0;  // it has time
            schedule_.go_back(Lookahead::binding, row->due);
            continue;
        }
        waiting_.add(*row);
        (void)lanes_.pool.open_one(ahead_.target_of(row->due));
    }
    return any;
}

void Pacer::take_again(RowUnderway& row) {
    if (!stopped_) {
        armer_.arm_again(row);
        return;
    }
    armer_.give_back(row);
    if (row.tries > 0) {
        lanes_.in_flight.end_without_lane(row, Outcome::cancelled);
    } else if (row.taken) {
        note_unsent(row);
        waiting_.add(row);  // `drop_unsent` ends it
    } else {
        row.enter(RowStage::wanted);  // it comes to its end when it is taken
    }
}

// Rows that will never be due, because a row that they wait for has failed: one at a time.
bool Pacer::end_dropped() {
    const std::optional<Due> dropped = schedule_.dropped();
    if (!dropped || !ring_.has_room_for_row()) {
        return false;
    }
    schedule_.take_dropped();
    lanes_.in_flight.end_without_lane(armer_.give_up(*dropped), Outcome::not_sent);
    return true;
}

// Under closed sessions others may be armed before the next row is known. Where they have left no
// room for it, it is built like rows that are sent again; otherwise all would wait for each other.
bool Pacer::set_aside_next(Instant now) {
    const Due* next = schedule_.peek();
    const bool in_the_way = armer_.full() || (armer_.lacks_room() && armer_.armed_count() > 0);
    if (!in_the_way || armer_.rows().find(next->request) != nullptr ||
        schedule_.has_passed(Lookahead::arming, *next)) {
        return false;
    }
    RowUnderway& row = armer_.arm_late(ahead_.take());
    row.cause = LateCause::limit;
    row.turn = now;
    return true;
}

void Pacer::stop() {
    if (stopped_) {
        return;
    }
    stopped_ = true;
    stopped_at_ = driver_.now();
    late_.note_caps(stopped_at_);
    waiting_.each_unsent([this](RowUnderway& row) { note_unsent(row); });
    ahead_.stop();
    schedule_.stop();
    RowList unbuilt = armer_.stop();
    lanes_.pool.unbind_all();
    while (RowUnderway* row = unbuilt.pop_front()) {
        take_again(*row);
    }
    waiting_.stop();
}

// What the user asked for held the row back until nothing more was sent.
void Pacer::note_unsent(RowUnderway& row) const {
    if (zero_ == never || due_instant(row.due) >= stopped_at_) {
        return;
    }
    const Instant due = due_instant(row.due);
    if (row.taken) {
        late_.end(row, due);
    } else {
        late_.begin(row, due, stopped_at_);
    }
}

bool Pacer::drop_unsent(std::uint32_t rows_max) {
    CHECK(stopped_);
    std::uint32_t dropped = 0;
    for (; dropped < rows_max && (waiting_.end_one() || end_dropped()); ++dropped) {
    }
    for (; dropped < rows_max && schedule_.peek() != nullptr && ring_.has_room_for_row();
         ++dropped) {
        RowUnderway& row = armer_.give_up(ahead_.take());
        note_unsent(row);
        lanes_.in_flight.end_without_lane(row, Outcome::not_sent);
    }
    return dropped > 0;
}

// What the entry of a fire can hold.
static constexpr std::int64_t submit_ns_max = FiredInfo::not_taken - 1;

FiredInfo Firing::prepare(Lane& lane, RowUnderway& row) {
    CHECK(row.taken && lane.state == LaneState::busy);
    FiredInfo info{};
    info.connect_ns = lane.connected.ns;
    info.held_ns = row.held_ns;
    info.inflight = lanes_.in_flight.count();
    info.target = lane.target;
    info.reused = lane.used;
    info.connection = lane.taken_as;
    if (marks_ != nullptr) {
        marks_->mark(mark_of(row.due.row, row.due.side));
        if (row.tries == 0) {
            marks_->count_request();
        }
    }
    const TraceRow& recorded = trace_.rows[row.due.row];
    lanes_.exchanges.prepare(
        lane, row,
        answer_limits(prompt_tokens_of(trace_, recorded), asked_tokens(row.due, recorded),
                      settings_.output, settings_.repeats_text),
        patience_of(row.due));
    return info;
}

// Requests before the measurement warm the server up, and are never abandoned.
std::optional<Duration> Firing::patience_of(const Due& due) const {
    if (due.phase == Phase::warmup) {
        return std::nullopt;
    }
    const std::optional<std::int64_t> after_ns =
        abandoned_after_ns(settings_.abandon, {trace_.rows[due.row].index, due.pass, due.attempt});
    return after_ns ? std::optional(Duration{*after_ns}) : std::nullopt;
}

void Firing::let_go(Lane& lane, RowUnderway& row, Instant due, FiredInfo info) {
    const Instant at = loop_.driver().now();
    CHECK(at >= due);  // nothing leaves early
    const bool taken = loop_.driver().flush();
    const Instant after = loop_.driver().now();

    const bool first = row.tries == 0;
    lanes_.exchanges.fired(lane, first ? at : row.fired);
    if (first) {
        const TraceRow& said = trace_.rows[row.due.row];
        if (lanes_.parts.budgets.any()) {
            late_.note_take(at);
            lanes_.parts.budgets.take(said.input_length,
                                      schedule_.planned(row.due).expected_cached_tokens,
                                      asked_tokens(row.due, said), at);
        }
        schedule_.fired(row.due, row.due.due_ns + (at - due).ns);
        info.late_cause = late_.of(row, due, at - due);
        info.submit_ns = taken
                             ? static_cast<std::uint32_t>(std::min((after - at).ns, submit_ns_max))
                             : FiredInfo::not_taken;
        push_fired(lane, row, info);
        probe_fire(row.due.request, due.ns, at.ns);
        health_.note_fire((at - due).ns, (after - at).ns);
        ++rows_;
    }
    late_.note_fire(at, after);
}

void Firing::push_fired(const Lane& lane, const RowUnderway& row, const FiredInfo& info) {
    const EventRing::Push armed = ring_.push(Event::of_armed(row.due, row.armed.ns));
    Event event = lane.event(EventKind::fired, row.fired);
    event.fired = info;
    const EventRing::Push fired = ring_.push(event);
    CHECK(armed == EventRing::Push::whole);  // `has_room` was asked
    CHECK(fired == EventRing::Push::whole);
}

}  // namespace driftless
