#include "engine/replay/run.hpp"

#include <algorithm>

#include "proto/core/check.hpp"

namespace driftless {

namespace {

// Bounds of the two adaptive distances (timing-and-io.md, F): nothing starts within `guard` of a
// due instant; sleeping ends `margin` before it.
constexpr Duration guard_min = microseconds(20);
constexpr Duration guard_max = microseconds(150);
constexpr Duration margin_min = microseconds(50);
constexpr Duration margin_max = microseconds(300);
constexpr Duration warm_for = milliseconds(1);        // so long a fire's path stays in the caches
constexpr Duration warm_early = microseconds(100);    // no earlier before the row
constexpr Duration warm_send_max = microseconds(40);  // no later: it may take so long
// The guard may take a fifth of the time, or tokens are read too late (E.4).
constexpr std::int64_t guard_share = 5;
// A slice of prompt building: 4,096 tokens are 16 KiB of text, below 20 us.
constexpr std::uint32_t arm_tokens = 4096;
constexpr Duration arm_slice_max = microseconds(20);
// Copying 64 KiB into a socket (macro_bench bodies).
constexpr Duration rest_slice_max = microseconds(20);
// TLS: a request becomes records, and has its lane, this long before it is due. The largest take 2
// ms of arithmetic; an idle connection should not be tied up for longer than this needs.
constexpr Duration bind_ahead = milliseconds(250);
// A step of a handshake has taken up to 1.2 ms (timing-and-io.md, D). One that has found no gap of
// that length for so long goes before what is due.
constexpr Duration handshake_step_min = milliseconds(1);
constexpr Duration handshake_patience = milliseconds(50);
// Some 30 us each. A backlog without end must not hide the rest of large bodies, nor a stop, a
// second that is over, a row to be built. 65,536 completions are six for each of 10,000 streams.
constexpr std::uint32_t receives_before_rest = 4;
constexpr std::uint32_t receives_before_others = 16;
constexpr std::uint32_t receives_before_deadlines = 4096;
// 16 transmit stamps.
constexpr Duration stamps_slice_max = microseconds(20);
// The two clocks part by steps only; a step is seen this soon.
constexpr Duration clock_period = milliseconds(100);
constexpr std::size_t resumes_max = 64;
constexpr std::size_t expire_max = 32;
constexpr std::uint32_t completions_max = 16;
// A sleep without a deadline still looks at the stop flag this often.
constexpr Duration sleep_max = milliseconds(20);
constexpr Duration full_ring_nap = milliseconds(1);
// Lanes kept ready ahead of need, at most.
constexpr std::uint32_t idle_max = 1024;
constexpr std::uint32_t drop_max = 256;
// Ten times the longest that a slice of work has taken: the loop did not run in between.
constexpr Duration away_min = milliseconds(20);
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
      pacer_(loop_, parts.trace, parts.plan, parts.armer, lanes_, parts.ring, parts.marks, health_,
             settings_),
      started_(driver.now()),
      guard_(settings.guard ? guard_min : Duration{0}),
      margin_(margin_max),
      wake_errors_(margin_max.ns),
      clock_(driver.sample_clock()),
      clock_due_(started_ + clock_period),
      last_look_(started_) {}

Run::~Run() = default;

std::int64_t Run::arm_horizon_ns(Instant now) const {
    if (settings_.arm_all) {
        return INT64_MAX;
    }
    const std::int64_t first = parts_.plan.rows.front().due_ns;
    const std::int64_t at = zero_ == never ? first : (now - zero_).ns;
    return std::max(at, first) + settings_.arm_ahead.ns;
}

std::uint32_t Run::lanes_wanted(std::uint32_t target) const {
    const auto targets = static_cast<std::uint32_t>(parts_.targets.size());
    if (settings_.connections_fixed > 0) {
        return (settings_.connections_fixed + targets - 1) / targets;
    }
    std::uint64_t all = 0;
    for (std::uint32_t number = 0; number < targets; ++number) {
        all += pacer_.connections_wanted(number);
    }
    const std::uint64_t wanted = pacer_.connections_wanted(target);
    return static_cast<std::uint32_t>(all <= idle_max ? wanted : wanted * idle_max / all);
}

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
    CHECK(zero + Duration{parts_.plan.rows.front().due_ns} > driver_.now());
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
    if (to - from > away_min) {
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
        adapt_guard((at - now).ns);
        if (receives_ % receives_before_others != 0) {
            return true;
        }
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

// Completions and the coroutines that they wake; behind them, but never for long, the rest of large
// bodies: under a backlog of tokens a server would wait for its prompts. Deadlines come when all is
// read: those of a process that was stopped are over, but bytes that came in time keep to them.
bool Run::receive(Instant now, Instant due) {
    const TurnResult result = driver_.turn({due, completions_max, Wait::none, true});
    const std::size_t resumed = loop_.ready().run(resumes_max);
    loop_.jobs().reap();
    const bool received = result.completions > 0 || result.entered || resumed > 0;
    receives_ = received ? receives_ + 1 : 0;
    if (receives_ % receives_before_rest != 0) {
        return true;
    }
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

bool Run::sample_clock(Instant now) {
    if (now < clock_due_) {
        return false;
    }
    clock_ = driver_.sample_clock();
    clock_due_ = now + clock_period;
    return true;
}

bool Run::arm_slice(Instant now) {
    return parts_.armer.step(now, arm_horizon_ns(now), arm_tokens);
}

// One record of a request, or a lane for the next one.
bool Run::seal_slice(Instant now) {
    const std::int64_t at = zero_ == never ? 0 : std::max<std::int64_t>((now - zero_).ns, 0);
    return pacer_.bind_ahead(at + bind_ahead.ns) || lanes_.seal_slice();
}

bool Run::handshake_slice(Instant now, Instant due) {
    const Instant wanted = lanes_.handshake_wanted();
    if (wanted == never) {
        return false;
    }
    const Duration step{std::max(handshake_steps_.value() * 6 / 5, handshake_step_min.ns)};
    if (due - now <= guard_ + step && now - wanted < handshake_patience) {
        return false;
    }
    (void)lanes_.handshake_slice();
    handshake_steps_.add((driver_.now() - now).ns);
    return true;
}

// At most one slice: a part of a prompt, one record, one connect, or a step of a handshake.
bool Run::prepare(Instant now, Instant due) {
    if (zero_ != never && health_.second_over(now)) {
        tell_second(now);
        return true;
    }
    return sample_clock(now) || seal_slice(now) || arm_slice(now) || open_lane(now) ||
           lanes_.age_slice(now, due - now) || handshake_slice(now, due);
}

bool Run::open_lane(Instant now) {
    if (stopping_ || closing_) {
        return false;
    }
    (void)pacer_.due_within_a_second(now);
    for (std::uint32_t number = 0; number < lanes_.targets().size(); ++number) {
        LaneTarget& target = lanes_.targets()[number];
        target.wanted = lanes_wanted(number);
        const std::uint32_t there = lanes_.in_stock(number) + target.connecting;
        if (there < target.wanted && now >= target.quiet_until && lanes_.open_one(number)) {
            return true;
        }
    }
    return false;
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

void Run::adapt_guard(std::int64_t slice_ns) {
    if (!settings_.guard) {
        return;
    }
    slices_.add(slice_ns);
    const std::int64_t rate = std::max<std::int64_t>(pacer_.due_within_a_second(last_look_), 1);
    const std::int64_t cap = 1'000'000'000 / guard_share / rate;
    guard_.ns = std::clamp(slices_.value() * 6 / 5, guard_min.ns, guard_max.ns);
    guard_.ns = std::min(guard_.ns, std::max(cap, guard_min.ns / 4));
}

Duration Run::warm_window() const {
    return std::max(warm_early, guard_ + warm_send_max + warm_send_max);
}

// Once for each row that comes alone, where it can no longer grow cold and not yet delay it.
bool Run::warm_send(Instant now, Instant due) {
    if (!settings_.warm_sends || due == never || due == warmed_ || now - last_fire_ < warm_for ||
        due - now > warm_window() || due - now < guard_ + warm_send_max) {
        return false;
    }
    warmed_ = due;
    driver_.warm_send();
    return true;
}

// Nothing to do before `due`: sleeps until `margin` before it where that is worth it, else spins.
void Run::wait(Instant now, Instant due) {
    const Duration early = settings_.warm_sends ? std::max(margin_, warm_window()) : margin_;
    const Instant wake = settings_.wait == WaitPolicy::sleep ? due : due - early;
    // Nobody wakes this thread when the writer has made room.
    const Duration nap = parts_.ring.has_room_for_row() ? sleep_max : full_ring_nap;
    const Instant until = std::min({wake, loop_.timers().next(), now + nap});
    const bool sleeps = settings_.wait != WaitPolicy::spin && until - now > guard_min;
    if (!sleeps) {
        const bool may_enter = due - now > guard_;
        const std::uint32_t completions = may_enter ? completions_max : 0;
        (void)driver_.turn({due, completions, Wait::spin, may_enter});
        last_was_spin_ = true;
        last_look_ = now;
        return;
    }
    // No handler runs inside the sleep: what arrived is stamped on waking and read in the next
    // turn.
    const TurnResult result = driver_.turn({until, 0, Wait::sleep, true});
    const Instant woke = spent(Work::sleep, now);
    if (result.slept && woke > until) {
        note_gap(until, woke);
        wake_errors_.add((woke - until).ns);
        health_.note_wake((woke - until).ns);
        margin_.ns = std::clamp(wake_errors_.value() * 6 / 5, margin_min.ns, margin_max.ns);
    }
}

}  // namespace driftless
