#include "engine/replay/run.hpp"

#include <utility>

#include "proto/core/errors.hpp"

namespace driftless {

static constexpr Duration arm_slice_max = microseconds(20);
static constexpr std::int64_t arm_soon_share = 2;
static constexpr std::uint32_t drop_max = 256;
static constexpr Duration sleep_max = milliseconds(20);
static constexpr Duration full_ring_nap = milliseconds(1);
static constexpr Duration words_nap = microseconds(100);  // a row waits for words: nothing wakes us
// Warming up ends when everything is ready, or after this.
static constexpr Duration warm_max = seconds(10);

Run::Run(Driver& driver, const RunParts& parts, const ReplaySettings& settings)
    : driver_(driver),
      parts_(parts),
      settings_(settings),
      loop_(driver, settings.lanes_max + 1),
      lanes_(loop_, parts.targets, settings_, parts.bodies, parts.ring,
             settings.connection == ConnectionRule::sticky ? parts.trace.sessions.size() : 0),
      pacer_(loop_, parts.trace, parts.schedule, parts.armer, lanes_, parts.ring, parts.marks,
             health_, settings_),
      reading_(driver, loop_, lanes_),
      preparing_(driver, settings_, parts.schedule, parts.armer, lanes_, pacer_),
      idling_(driver, settings_),
      sampler_(driver, parts.meter, parts.ring, parts.bodies, lanes_, health_),
      started_(driver.now()),
      clock_(driver.sample_clock()),
      clock_due_(started_ + clock_period),
      last_look_(started_) {
    lanes_.parts.turns_wait =
        parts.schedule.releases() != nullptr && parts.schedule.releases()->count() > 0;
}

bool Run::warm() {
    const Instant now = driver_.now();
    if (parts_.stop_requests.load(std::memory_order_relaxed) > 0 || now - started_ > warm_max) {
        return true;
    }
    if (preparing_.arm_slice(now) || preparing_.seal_slice(now)) {
        return false;
    }
    for (const LaneTarget& target : lanes_.parts.targets) {
        if (target.connecting > 0) {
            return false;
        }
    }
    return !preparing_.open_lane(now);
}

void Run::begin(Instant zero) {
    zero_ = zero;
    pacer_.begin(zero);
    preparing_.begin(zero);
    health_.begin(driver_.now());
    sampler_.begin();
}

void Run::abandon() {
    pacer_.stop();
    pacer_.forget_waiting();
    preparing_.stop();
    closing_ = true;
    lanes_.pool.close_all();
    while (turn()) {  // bounded: every operation of a closing lane ends
    }
    pacer_.forget_waiting();  // late rows, which came back from TLS lanes
}

bool Run::over() const {
    return pacer_.done() && lanes_.in_flight.count() == 0 && (zero_ != never || stopping_);
}

// Of two looks at the clock with nothing but work of ours between them.
void Run::note_gap(Instant from, Instant to) {
    CHECK(from <= to);
    if (to - from > Duration{stop_min_ns}) {
        pacer_.note_away(from, to);
        lanes_.pool.for_each(LaneState::connecting, [this, from, to](Lane& lane) {
            lanes_.connecting.was_away(lane, to - from);
        });
    }
}

Instant Run::spent(Work work, Instant from) {
    const Instant to = driver_.now();
    health_.note(work, from, to);
    if (work != Work::sleep) {
        note_gap(from, to);
    }
    last_fire_ = work == Work::fire ? to : last_fire_;
    if (work != Work::sleep && work != Work::spin && work != Work::fire) {
        pacer_.note_work_end(to);
    }
    last_was_spin_ = work == Work::spin;
    last_look_ = to;
    return to;
}

// When all is over connections are closed; the run is when they are.
bool Run::closed(Instant now) {
    if (over() && !closing_) {
        CHECK(parts_.schedule.over());  // whatever was taken has ended, and nothing is left
        closing_ = true;
        preparing_.stop();
        if (parts_.schedule.users() != nullptr) {
            pacer_.stop();  // what was armed for a time that did not come
        }
        sampler_.report(now, clock_);
        lanes_.pool.close_all();
    }
    if (!closing_ || lanes_.pool.in_use() > 0 || driver_.in_flight() > 0) {
        return false;
    }
    loop_.jobs().reap();
    return true;
}

bool Run::turn() {
    const Instant now = driver_.now();
    if (last_was_spin_) {
        health_.note(Work::spin, last_look_, now);
        note_gap(last_look_, now);
        last_was_spin_ = false;
    }
    if (parts_.steps_aside != nullptr && parts_.steps_aside->is_due(now)) {
        parts_.steps_aside->look(now);
    }
    if (reading_.is_overdue(now)) {
        if (arm_soon(now)) {
            (void)spent(Work::prepare, now);
            return true;
        }
        (void)reading_.slice();
        const Instant to = spent(Work::receive, now);
        idling_.note_slice(to - now);
        reading_.note_first(now, to);
        return true;
    }
    if (parts_.replies != nullptr) {
        take_replies(now);
    }
    if (pacer_.step(now)) {
        (void)spent(Work::fire, now);
        return true;
    }
    if (reading_.settle()) {  // what waited for an answer has left, or needs its lane
        (void)spent(Work::receive, now);
        return true;
    }
    if (closed(now)) {
        return false;
    }
    // What is due and was not fired just now waits for bytes, an answer or a connection.
    const Instant next = pacer_.next_due(now);
    const Instant due = next <= now ? never : next;
    set_guard(now);
    if (!serve_next(now, due)) {
        serve_others(now, due);
    }
    return true;
}

// Turns that were due before their words were here have waited for the writer.
void Run::take_replies(Instant now) {
    pacer_.note_ends();  // the schedule knows of an end before it hears of its words
    while (const TurnReply* reply = parts_.replies->take()) {  // one for each that has ended
        if (parts_.schedule.replied(reply->request, reply->pass, reply->attempt, (now - zero_).ns,
                                    reply->goes_on)) {
            pacer_.note_words(now);
        }
    }
}

void Run::set_guard(Instant now) {
    const std::int64_t until_ns = (now - zero_ + Idling::guard_window).ns;
    idling_.set_guard(zero_ == never ? 0 : pacer_.ahead().instants_until(until_ns));
}

// What goes before everything else: bytes of a row that is late already, a row that is due within
// the guard, records of a row that is late. False where there is no such thing.
bool Run::serve_next(Instant now, Instant due) {
    if (pacer_.needs_arm(now)) {
        if (preparing_.arm_slice(now)) {
            (void)spent(Work::prepare, now);
            return true;
        }
    } else if (due - now <= guard()) {
        if (pacer_.fire_on_time()) {
            (void)spent(Work::fire, due);
        } else {
            wait(now, due);
        }
        return true;
    }
    const bool seals = lanes_.sealing.next_is_late() && due - now > guard() + arm_slice_max;
    if (seals && !std::exchange(sealed_last_, true)) {
        (void)preparing_.seal_slice(now);
        (void)spent(Work::prepare, now);
        return true;
    }
    sealed_last_ = false;  // however many rows are late, all else has every other turn
    return false;
}

// Bytes of rows that an answer may release are made before the look that may bring it: all answers
// that it brings release their rows at one instant. One slice, and more for as long as a share of
// the time that has passed since the last look: what comes meanwhile waits to be read.
bool Run::arm_soon(Instant now) {
    const Instant due = pacer_.next_due(now);
    const bool too_close = due > now && due - now <= guard() + arm_slice_max;
    if (zero_ == never || reading_.has_more() || too_close) {
        return false;
    }
    if (armed_behind_ != reading_.looked()) {
        armed_behind_ = reading_.looked();
        arms_until_ = now + Duration{(now - armed_behind_).ns / arm_soon_share};
    }
    return now <= arms_until_ && preparing_.arm_soon_slice(now);
}

// Nothing is due within the guard: receive, then prepare, then wait.
void Run::serve_others(Instant now, Instant due) {
    if (arm_soon(now)) {
        (void)spent(Work::prepare, now);
        return;
    }
    Instant at = now;
    const bool received = reading_.step(now, due, guard());
    if (received) {
        at = spent(Work::receive, now);
        idling_.note_slice(at - now);
        if (!reading_.gives_way()) {
            return;
        }
    }
    watch_users(at);
    if (reading_.collect_stamps(at, due, guard())) {
        (void)spent(Work::stamps, at);
    } else if (watch_stop(at) || (due - at > guard() + arm_slice_max && prepare(at, due))) {
        (void)spent(Work::prepare, at);
    } else if (received) {
        return;
    } else if (idling_.warm_send(now, due, last_fire_)) {
        (void)spent(Work::prepare, now);
    } else {
        wait(now, due);
    }
}

// So long after the begin of the measurement nothing may be open any more.
Instant Run::drains_at() const {
    const std::optional<std::int64_t> from_ns = parts_.schedule.measured_from_ns();
    const bool ends = from_ns && zero_ != never && settings_.drained_ns != INT64_MAX;
    return ends ? zero_ + Duration{*from_ns} + Duration{settings_.drained_ns} : never;
}

bool Run::watch_stop(Instant now) {
    const int asked = parts_.stop_requests.load(std::memory_order_relaxed);
    if (parts_.stop_wanted != nullptr && !stopping_) {
        stopped_early_ = parts_.stop_wanted->load(std::memory_order_relaxed);
    }
    const int requests = asked + (stop_asked_ ? 1 : 0) + (stopped_early_ ? 1 : 0);
    lanes_.parts.drains_at = drains_at();
    drained_ = now >= lanes_.parts.drains_at;
    lanes_.parts.time_over = (drained_ || stopped_early_) && asked == 0;
    if ((requests > 0 || drained_) && !stopping_) {
        stopping_ = true;
        interrupted_ = asked > 0;
        grace_ends_ = drained_ ? now : now + settings_.grace;
        preparing_.stop();
        pacer_.stop();
        return true;
    }
    if (!stopping_) {
        return false;
    }
    if (lanes_.in_flight.count() > 0 && (requests > 1 || drained_ || now >= grace_ends_)) {
        lanes_.pool.for_each(LaneState::busy, [](Lane& lane) { lane.end(Outcome::cancelled); });
    }
    return pacer_.drop_unsent(drop_max);
}

// One number, read as often as the stop flag: neither thread waits for the other.
void Run::watch_users(Instant now) {
    if (parts_.users_wanted != nullptr && zero_ != never && !stopping_) {
        parts_.schedule.grow(parts_.users_wanted->load(std::memory_order_relaxed),
                             (now - zero_).ns);
    }
}

bool Run::sample_clock(Instant now) {
    if (now < clock_due_) {
        return false;
    }
    clock_ = driver_.sample_clock();
    clock_due_ = now + clock_period;
    return true;
}

// At most one slice: a second that is over, the clock, or what is made ready for rows to come.
bool Run::prepare(Instant now, Instant due) {
    if (zero_ != never && health_.second_over(now)) {
        sampler_.report(now, clock_);
        return true;
    }
    return sample_clock(now) || lanes_.pool.find_ends(now) || preparing_.slice(now, due, guard());
}

// Nothing to do before `due`. A sleep without a deadline is short, because the stop flag must be
// looked at often, and because nothing wakes this thread when the writer has made room.
void Run::wait(Instant now, Instant due) {
    const Duration room_nap = parts_.ring.has_room_for_row() ? sleep_max : full_ring_nap;
    const Duration usual_nap = lanes_.in_flight.count() > 0 ? stream_nap_max : room_nap;
    const Duration nap = parts_.schedule.awaits_words() ? words_nap : usual_nap;
    const Idling::Pause pause = idling_.wait(now, due, loop_.timers().next(), nap);
    if (pause.spun) {
        last_was_spin_ = true;
        last_look_ = now;
        return;
    }
    const Instant woke = spent(Work::sleep, now);
    if (parts_.steps_aside != nullptr) {
        parts_.steps_aside->note_sleep(woke - now);
    }
    if (pause.slept && woke > pause.until) {
        note_gap(pause.until, woke);
        health_.note_wake((woke - pause.until).ns);
        idling_.note_wake(pause.until, woke);
    }
}

}  // namespace driftless
