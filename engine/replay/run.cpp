#include "engine/replay/run.hpp"

#include <algorithm>
#include <utility>

#include "engine/replay/run_limits.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

// What has come is read after so long at the latest, whatever is due. One read takes 5 to 20 us
// where reads keep up, and some 100 us behind a backlog: so much later leaves a row, at times, and
// every answer keeps its stamps (perf/macro/spacing).
constexpr Duration unread_max = microseconds(100);
// Copying 64 KiB into a socket (macro_bench bodies).
constexpr Duration rest_slice_max = microseconds(20);
// Some 30 us each. A backlog without end must not hide the rest of large bodies, nor a stop, a
// second that is over, a row to be built. 65,536 completions are six for each of 10,000 streams.
constexpr std::uint32_t receives_before_rest = 4;
constexpr std::uint32_t receives_before_others = 16;
constexpr std::uint32_t receives_before_deadlines = 4096;
constexpr Duration arm_slice_max = microseconds(20);
// 16 transmit stamps.
constexpr Duration stamps_slice_max = microseconds(20);
constexpr std::size_t resumes_max = 64;
constexpr std::size_t expire_max = 32;
constexpr std::uint32_t drop_max = 256;
// The two clocks that tell it are read some time after each other.
constexpr Duration suspension_min = microseconds(100);
// Warming up ends when everything is ready, or after this.
constexpr Duration warm_max = seconds(10);

std::size_t timers_of(const ReplaySettings& settings) {
    return settings.lanes_max + 1;
}

}  // namespace

Run::Run(Driver& driver, const RunParts& parts, const ReplaySettings& settings)
    : driver_(driver),
      parts_(parts),
      settings_(settings),
      loop_(driver, timers_of(settings)),
      lanes_(loop_, parts.targets, settings_, parts.bodies, parts.ring,
             settings.connection == ConnectionRule::sticky ? parts.trace.sessions.size() : 0),
      pacer_(loop_, parts.trace, parts.schedule, parts.armer, lanes_, parts.ring, parts.marks,
             health_, settings_),
      started_(driver.now()),
      guard_(settings.guard ? guard_min : Duration{0}),
      margin_(margin_max),
      wake_errors_(margin_max.ns),
      clock_(driver.sample_clock()),
      clock_due_(started_ + clock_period),
      suspended_ns_(driver.suspended_ns()),
      last_look_(started_) {}

Run::~Run() = default;

bool Run::warm() {
    const Instant now = driver_.now();
    if (parts_.stop_requests.load(std::memory_order_relaxed) > 0 || now - started_ > warm_max) {
        return true;
    }
    if (arm_slice(now) || seal_slice(now)) {
        return false;
    }
    for (const LaneTarget& target : lanes_.targets()) {
        if (target.connecting > 0) {
            return false;
        }
    }
    return !open_lane(now);
}

void Run::begin(Instant zero) {
    CHECK(zero + Duration{parts_.schedule.first_due_ns()} > driver_.now());
    zero_ = zero;
    pacer_.begin(zero);
    health_.begin(driver_.now());
    use_told_ = parts_.meter != nullptr ? parts_.meter->read() : ThreadUse{};
    told_ = driver_.counters();
}

void Run::abandon() {
    pacer_.stop();
    pacer_.forget_waiting();
    closing_ = true;
    lanes_.close_all();
    while (turn()) {  // bounded: every operation of a closing lane ends
    }
    pacer_.forget_waiting();  // late rows, which came back from TLS lanes
}

bool Run::over() const {
    return pacer_.done() && lanes_.inflight() == 0 && (zero_ != never || stopping_);
}

// Of two looks at the clock with nothing but work of ours between them.
void Run::note_gap(Instant from, Instant to) {
    if (to - from > Duration{stop_min_ns}) {
        pacer_.note_away(from, to);
    }
}

Instant Run::spent(Work work, Instant from) {
    const Instant to = driver_.now();
    health_.note(work, from, to);
    if (work != Work::sleep) {
        note_gap(from, to);
    }
    last_fire_ = work == Work::fire ? to : last_fire_;
    if (work != Work::sleep && work != Work::spin) {
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
        tell_second(now);
        lanes_.close_all();
    }
    if (!closing_ || lanes_.in_use() > 0 || driver_.in_flight() > 0) {
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
    if (must_read(now)) {
        read_now(now);
        return true;
    }
    if (pacer_.step(now)) {
        (void)spent(Work::fire, now);
        return true;
    }
    if (closed(now)) {
        return false;
    }
    // What is due and was not fired just now waits for bytes, an answer or a connection.
    const Instant next = pacer_.next_due(now);
    const Instant due = next <= now ? never : next;
    set_guard(now);
    if (pacer_.needs_arm(now)) {  // late already: its bytes come before everything else
        if (arm_slice(now)) {
            (void)spent(Work::prepare, now);
            return true;
        }
    } else if (due - now <= guard_) {
        if (pacer_.fire_on_time()) {
            (void)spent(Work::fire, due);
        } else {
            wait(now, due);
        }
        return true;
    }
    if (lanes_.seal_late() && due - now > guard_ + arm_slice_max) {  // late, too
        (void)seal_slice(now);
        (void)spent(Work::prepare, now);
        return true;
    }
    Instant at = now;
    const bool received = receive(now, due);
    if (received) {
        at = spent(Work::receive, now);
        note_slice((at - now).ns);
        if (receives_ < others_after_) {
            return true;
        }
        others_after_ = receives_ + receives_before_others;
    }
    if (collect_stamps(at, due)) {
        (void)spent(Work::stamps, at);
        return true;
    }
    if (watch_stop(at) || (due - at > guard_ + arm_slice_max && prepare(at, due))) {
        (void)spent(Work::prepare, at);
        return true;
    }
    if (received) {
        return true;
    }
    if (warm_send(now, due)) {
        (void)spent(Work::prepare, now);
        return true;
    }
    wait(now, due);
    return true;
}

// Something may have been waiting for too long, and what is due has had its half of the time.
bool Run::must_read(Instant now) {
    const bool late = now - driver_.unread_since(now) >= unread_max;
    return !std::exchange(last_was_read_, false) && late && now >= read_again_;
}

// Behind each read, and before a row that it has completed ends: the host may have slept right
// before the read.
void Run::note_suspension() {
    const std::int64_t all_ns = driver_.suspended_ns();
    if (all_ns - suspended_ns_ > suspension_min.ns) {
        lanes_.note_suspension(Duration{all_ns - suspended_ns_});
        suspended_ns_ = all_ns;
    }
}

void Run::read_now(Instant now) {
    (void)read_slice();
    const Instant to = spent(Work::receive, now);
    note_slice((to - now).ns);
    read_again_ = to + (to - now);
    last_was_read_ = true;
}

// Completions and the coroutines that they wake. False where there were none.
bool Run::read_slice() {
    const TurnResult result = driver_.turn({Instant{}, completions_max, Wait::none, true});
    note_suspension();
    const std::size_t resumed = loop_.ready().run(resumes_max);
    loop_.jobs().reap();
    if (result.completions == 0 && !result.entered && resumed == 0) {
        receives_ = 0;
        rest_after_ = receives_before_rest;
        others_after_ = receives_before_others;
        return false;
    }
    ++receives_;
    return true;
}

// Behind the reads, but never for long, the rest of large bodies: under a backlog of tokens a
// server would wait for its prompts. Deadlines come when all is read: those of a process that was
// stopped are over, but bytes that came in time keep to them.
bool Run::receive(Instant now, Instant due) {
    const bool received = read_slice();
    if (received && receives_ < rest_after_) {
        return true;
    }
    rest_after_ = receives_ + receives_before_rest;
    const Instant at = received ? driver_.now() : now;
    const bool all_read = !received || receives_ > receives_before_deadlines;
    if (all_read && loop_.timers().expire(at, expire_max) > 0) {
        return true;
    }
    return (due - at > guard_ + rest_slice_max && lanes_.send_rest_slice()) || received;
}

// Behind the receives: a stamp does not grow old. A row that ends before has its own asked for.
bool Run::collect_stamps(Instant now, Instant due) {
    return due - now > guard_ + stamps_slice_max && driver_.stamps_waiting(now) &&
           lanes_.collect_stamps();
}

bool Run::watch_stop(Instant now) {
    const int asked = parts_.stop_requests.load(std::memory_order_relaxed);
    const int requests = asked + (stop_asked_ ? 1 : 0);
    if (requests > 0 && !stopping_) {
        stopping_ = true;
        interrupted_ = asked > 0;
        grace_ends_ = now + settings_.grace;
        pacer_.stop();
        return true;
    }
    if (!stopping_) {
        return false;
    }
    if (lanes_.inflight() > 0 && (requests > 1 || now >= grace_ends_)) {
        lanes_.end_all(Outcome::cancelled);
    }
    return pacer_.drop_unsent(drop_max);
}

}  // namespace driftless
