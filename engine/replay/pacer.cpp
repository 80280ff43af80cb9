#include "engine/replay/pacer.hpp"

#include <algorithm>

#include "engine/host/probes.hpp"
#include "engine/plan/answer_limits.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

// What the entry of a fire can hold.
constexpr std::int64_t submit_ns_max = FiredInfo::not_taken - 1;

}  // namespace

Pacer::Pacer(Loop& loop, const Trace& trace, Schedule& schedule, Armer& armer, LanePool& lanes,
             EventRing& ring, FiredMarks* marks, Health& health, const ReplaySettings& settings)
    : loop_(loop),
      trace_(trace),
      schedule_(schedule),
      armer_(armer),
      lanes_(lanes),
      ring_(ring),
      marks_(marks),
      health_(health),
      settings_(settings),
      waiting_(lanes.targets().size()),
      retrying_(lanes.targets().size()),
      soon_(lanes.targets().size()),
      bursts_(lanes.targets().size()) {
    if (settings.connection == ConnectionRule::sticky) {
        last_of_session_.assign(trace.sessions.size(), 0);
    }
    note_all_dues();
}

LaneWish Pacer::wish_of(const Due& due, bool fresh) const {
    LaneWish wish;
    wish.fresh = fresh;
    const std::uint32_t session = trace_.rows[due.row].session;
    if (session < last_of_session_.size()) {
        wish.session = session;
        wish.last = last_of_session_[session] == due.request;
    }
    return wish;
}

void Pacer::begin(Instant zero) {
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

bool Pacer::can_fire_waiting() const {
    if (can_fire_late()) {
        return true;
    }
    for (std::uint32_t target = 0; target < waiting_.size(); ++target) {
        if ((has_room() && has_lane_for_first(waiting_, target)) ||
            has_lane_for_first(retrying_, target)) {
            return true;
        }
    }
    return false;
}

// A row that was fired before waits for a connection that nobody has used.
bool Pacer::has_lane_for_first(const std::vector<std::deque<DueRow>>& rows,
                               std::uint32_t target) const {
    if (rows[target].empty() || lanes_.idle_count(target) == 0) {
        return false;
    }
    const DueRow& first = rows[target].front();
    return lanes_.has_idle(target, wish_of(first.request.due, &rows == &retrying_));
}

Instant Pacer::next_due(Instant now) const {
    if (!stopped_ && can_fire_waiting()) {
        return now;
    }
    const Due* next = schedule_.peek();
    if (stopped_ || zero_ == never || next == nullptr) {
        return never;
    }
    const Instant due = due_instant(*next);
    return due <= now && !has_room() ? never : due;
}

bool Pacer::done() const {
    for (std::size_t target = 0; target < waiting_.size(); ++target) {
        if (!waiting_[target].empty() || !retrying_[target].empty()) {
            return false;
        }
    }
    return schedule_.left() == 0 && again_.empty() && lanes_.again().empty() &&
           lanes_.ended().empty() && lanes_.late_count() == 0;
}

// What has ended since the last look. Whoever ends a row does not know who waits for that.
void Pacer::note_ends() {
    for (const EndedRow& row : lanes_.ended()) {
        schedule_.ended(row.due, now_in_run(row.at), row.answered);
    }
    lanes_.ended().clear();
}

bool Pacer::step(Instant now) {
    note_ends();
    const bool retried = take_retries();  // first: it also takes back what lanes have lost
    const bool failed = answer_failures();
    const bool dropped = end_dropped();
    note_full(now);
    if (!stopped_ && (fire_late() || fire_waiting())) {
        return true;
    }
    return (has_due(now) && fire_next(now)) || retried || failed || dropped;
}

LateCause Pacer::cause_of(const DueRow& row, std::int64_t drift_ns, Instant due) const {
    if (row.cause != LateCause::none) {
        return row.cause;
    }
    if (drift_ns <= on_time_ns) {
        return LateCause::none;
    }
    return busy_until_ > due ? LateCause::guard : LateCause::wake;
}

// The next row is due. False where it must wait for bytes or for its place in flight.
bool Pacer::fire_next(Instant now) {
    if (blocked_by_ != LateCause::none && blocked_by_ != LateCause::inflight) {  // `note_full`
        blocked_until_[static_cast<std::size_t>(blocked_by_)] = now;
    }
    blocked_by_ = what_blocks_next();
    if (blocked_by_ != LateCause::none) {
        if (armer_.ready(*schedule_.peek()) == nullptr) {
            health_.note_late_arm();
        }
        return set_aside_next(now);
    }
    if (lanes_.give_up_old(*armer_.ready(*schedule_.peek()))) {
        return true;
    }
    DueRow row = take_next(now);
    const std::uint32_t target = target_of(row.request.due);
    Lane* lane = take_lane(target, row);
    if (lane != nullptr) {
        fire(*lane, row);
        return true;
    }
    if (row.request.lane != ArmedRequest::no_lane) {  // bound, and still being made into records
        row.cause = row.cause == LateCause::none ? LateCause::prepare : row.cause;
        lanes_.now_late(row);
        return true;
    }
    health_.note_missing_lane();
    row.cause = row.cause == LateCause::none ? cause_of_no_lane() : row.cause;
    waiting_[target].push_back(row);
    if (lanes_.targets()[target].connecting < waiting_[target].size()) {
        (void)lanes_.open_one(target);
    }
    return true;
}

// For the row that is next or was just taken; nullptr where none is ready.
Lane* Pacer::take_lane(std::uint32_t target, DueRow& row) {
    if (has_tls(target)) {
        return lanes_.take_ready(row);
    }
    const LaneWish wish = wish_of(row.request.due, false);
    return waiting_[target].empty() ? lanes_.take_idle(target, wish) : nullptr;
}

// The next row, with what has kept it so far.
DueRow Pacer::take_next(Instant now) {
    DueRow row;
    row.request = armer_.take(*schedule_.peek());
    row.cause = what_held_next();
    row.request.due = move_on();
    const bool held = row.cause == LateCause::writer || row.cause == LateCause::inflight ||
                      row.cause == LateCause::limit;
    row.held_ns = held ? held_until(due_instant(row.request.due), row.cause).ns : 0;
    row.taken = now;
    return row;
}

bool Pacer::fire_on_time() {
    const Due* next = schedule_.peek();
    const ArmedRequest* armed = next == nullptr ? nullptr : armer_.ready(*next);
    if (stopped_ || armed == nullptr || !has_room() || lanes_.give_up_old(*armed)) {
        return false;
    }
    const std::uint32_t target = target_of(armed->due);
    DueRow bound;
    bound.request = *armed;
    Lane* lane = take_lane(target, bound);
    if (lane == nullptr) {
        return false;
    }
    const Instant due = due_instant(*next);
    DueRow row = take_next(due);
    bound.request.due = row.request.due;
    row.request = bound.request;
    const FiredInfo info = prepare(*lane, row);
    while (loop_.driver().now() < due) {  // bounded by the guard
    }
    let_go(*lane, row, info);
    return true;
}

bool Pacer::fire_waiting() {
    for (std::uint32_t target = 0; target < waiting_.size(); ++target) {
        for (const bool retry : {true, false}) {
            std::deque<DueRow>& rows = retry ? retrying_[target] : waiting_[target];
            if (rows.empty() || !(retry || has_room())) {
                continue;
            }
            const LaneWish wish = wish_of(rows.front().request.due, retry);
            Lane* lane = has_tls(target) ? lanes_.bind(target, rows.front(), wish, true)
                                         : lanes_.take_idle(target, wish);
            if (lane == nullptr) {
                continue;
            }
            DueRow row = rows.front();
            rows.pop_front();
            if (lane->state == LaneState::busy) {
                note_held(row);
                fire(*lane, row);
            }
            return true;
        }
    }
    return false;
}

void Pacer::fire(Lane& lane, const DueRow& row) {
    let_go(lane, row, prepare(lane, row));
}

// Everything that can be done before the instant: the exchange, its bounds, the mark that the row
// may have left, the entry in the queue.
FiredInfo Pacer::prepare(Lane& lane, const DueRow& row) {
    const std::uint32_t trace_row = row.request.due.row;
    ExchangeState& exchange = lane.exchange;
    exchange.request = row.request;
    exchange.request_bytes = row.request.bytes.size();
    exchange.stale_retries = row.tries;
    exchange.resends = row.resends;
    exchange.limits = answer_limits(trace_.rows[trace_row].output_length, settings_.output,
                                    settings_.repeats_text);
    FiredInfo info{};
    info.connect_ns = lane.connected.ns;
    info.held_ns = row.held_ns;
    info.inflight = lanes_.inflight();
    info.target = lane.target;
    info.reused = lane.used;
    info.connection = lane.taken_as;
    if (marks_ != nullptr) {
        marks_->mark(trace_row);
    }
    lanes_.prepare_fire(lane);
    return info;
}

void Pacer::let_go(Lane& lane, const DueRow& row, FiredInfo info) {
    const Instant at = loop_.driver().now();
    const bool taken = loop_.driver().flush();
    const Instant after = loop_.driver().now();

    lane.exchange.fired = row.tries == 0 ? at : row.fired;
    lanes_.fired(lane);
    if (lanes_.inflight() >= settings_.inflight_max) {
        full_ = true;
        room_.fill(at);
    }
    if (row.tries == 0) {
        const Instant due = due_instant(row.request.due);
        schedule_.fired(row.request.due, now_in_run(at));
        info.late_cause = cause_of(row, (at - due).ns, due);
        info.submit_ns = taken
                             ? static_cast<std::uint32_t>(std::min((after - at).ns, submit_ns_max))
                             : FiredInfo::not_taken;
        push_fired(lane, row, info, at);
        probe_fire(row.request.due.request, due.ns, at.ns);
        health_.note_fire((at - due).ns, (after - at).ns);
        ++rows_fired_;
    }
    busy_until_ = after;
}

void Pacer::push_fired(const Lane& lane, const DueRow& row, const FiredInfo& info, Instant at) {
    Event event;
    event.request = row.request.due.request;
    event.lane = lane.number;
    event.kind = EventKind::armed;
    event.stamp_ns = row.request.armed.ns;
    event.due = row.request.due;
    const EventRing::Push armed = ring_.push(event);
    event.kind = EventKind::fired;
    event.stamp_ns = at.ns;
    event.fired = info;
    const EventRing::Push fired = ring_.push(event);
    CHECK(armed == EventRing::Push::whole);  // `has_room_for_row` was asked
    CHECK(fired == EventRing::Push::whole);
}

}  // namespace driftless
