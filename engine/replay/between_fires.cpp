#include "engine/replay/between_fires.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "proto/core/errors.hpp"

namespace driftless {

// What has come is read after so long at the latest, whatever is due. One read takes 5 to 20 us
// where reads keep up, and some 100 us behind a backlog: so much later leaves a row, at times, and
// every answer keeps its stamps (perf/macro/spacing).
static constexpr Duration unread_max = microseconds(100);
// Copying 64 KiB into a socket (macro_bench bodies).
static constexpr Duration rest_slice_max = microseconds(20);
// Some 30 us each. A backlog without end must not hide the rest of large bodies, nor a stop, a
// second that is over, a row to be built. 65,536 completions are six for each of 10,000 streams.
static constexpr std::uint32_t receives_before_rest = 4;
static constexpr std::uint32_t receives_before_others = 16;
static constexpr std::uint32_t receives_before_deadlines = 4096;
// 16 transmit stamps.
static constexpr Duration stamps_slice_max = microseconds(20);
static constexpr std::size_t resumes_max = 64;
static constexpr std::size_t expire_max = 32;
// The two clocks that tell it are read some time after each other.
static constexpr Duration suspension_min = microseconds(100);

bool Reading::is_overdue(Instant now) {
    began_ = now;
    unread_since_ = driver_.unread_since(now);
    const bool late = now - unread_since_ >= unread_max;
    return !std::exchange(last_was_first_, false) && late && now >= read_again_;
}

void Reading::note_first(Instant from, Instant to) {
    CHECK(from <= to);
    read_again_ = to + (to - from);
    last_was_first_ = true;
}

// Behind each read, and before a row that it has completed ends: the host may have slept right
// before the read. Answers that are open may have waited for so long.
void Reading::note_suspension() {
    const std::int64_t all_ns = driver_.suspended_ns();
    const Duration last{all_ns - suspended_ns_};
    if (last <= suspension_min) {
        return;
    }
    suspended_ns_ = all_ns;
    const HostSleep& before = lanes_.parts.sleep;
    const bool same_backlog = unread_since_ <= before.noticed;
    const Duration length = same_backlog ? before.length + last : last;
    lanes_.parts.sleep = {driver_.now(), length};
    lanes_.pool.for_each(LaneState::busy, [length](Lane& lane) {
        lane.exchange.heard = true;
        lane.exchange.waited = std::max(lane.exchange.waited, length);
        lane.exchange.host_slept = true;
    });
}

std::size_t Reading::resume() {
    const std::size_t resumed = loop_.ready().run(resumes_max);
    loop_.jobs().reap();
    return resumed;
}

// The answer may have been read in a turn that waited, and a sleep of the host was not looked for
// behind that.
bool Reading::settle() {
    if (lanes_.in_flight.settling() == 0) {
        return false;
    }
    note_suspension();
    return resume() > 0;
}

// Rows that wait for an answer leave right behind it; its lane is settled afterwards (`settle`).
bool Reading::slice() {
    looked_ = has_more_ ? looked_ : began_;
    const TurnResult result = driver_.turn({Instant{}, completions_max, Wait::none, true});
    CHECK(result.completions <= completions_max);
    has_more_ = result.more;
    note_suspension();
    const std::size_t resumed = lanes_.in_flight.answered().empty() ? resume() : 0;
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
// server would wait for its prompts. A deadline is over when all is read that came before it: those
// of a process that was stopped have passed, but bytes that came in time keep to them.
bool Reading::step(Instant now, Instant due, Duration guard) {
    const bool received = slice();
    if (received && receives_ < rest_after_) {
        return true;
    }
    rest_after_ = receives_ + receives_before_rest;
    const Instant at = received ? driver_.now() : now;
    const Instant read_to = receives_ > receives_before_deadlines ? at : driver_.unread_since(at);
    if (loop_.timers().expire(read_to, expire_max) > 0) {
        return true;
    }
    return (due - at > guard + rest_slice_max && lanes_.exchanges.send_rest_slice()) || received;
}

bool Reading::gives_way() {
    if (receives_ < others_after_ || !lanes_.in_flight.answered().empty()) {
        return false;
    }
    others_after_ = receives_ + receives_before_others;
    return true;
}

// Behind the receives: a stamp does not grow old. A row that ends before has its own asked for.
bool Reading::collect_stamps(Instant now, Instant due, Duration guard) {
    return due - now > guard + stamps_slice_max && driver_.stamps_waiting(now) &&
           lanes_.stamps.collect();
}

// At the limit on connections one has to close before its successor can open. That takes a gap
// between two rows: a round trip and the arithmetic of a handshake.
static constexpr Duration replacement_gap = milliseconds(50);

std::uint32_t LaneSupply::wanted(std::uint32_t target) const {
    const auto targets = static_cast<std::uint32_t>(lanes_.parts.targets.size());
    CHECK(target < targets);
    if (settings_.connections_fixed > 0) {
        return (settings_.connections_fixed + targets - 1) / targets;
    }
    std::uint64_t all = 0;
    std::uint64_t crowds = 0;
    for (std::uint32_t number = 0; number < targets; ++number) {
        all += ahead_.connections_wanted(number);
        crowds += ahead_.largest_crowd(number);
    }
    const std::uint64_t most = std::max<std::uint64_t>(idle_max, crowds);
    const std::uint64_t own = ahead_.connections_wanted(target);
    return static_cast<std::uint32_t>(all <= most ? own : (own * most + all - 1) / all);
}

std::uint32_t LaneSupply::in_stock(std::uint32_t target) const {
    const LaneTarget& at = lanes_.parts.targets[target];
    const LaneShelf& shelf = lanes_.shelf;
    CHECK(at.open >= shelf.ageing(target));
    return settings_.connections_fixed > 0 ? at.open - shelf.ageing(target)
                                           : shelf.young(target) + at.bound;
}

// To the server that has the fewest, so that a limit on connections leaves none without.
bool LaneSupply::open_one(Instant now) {
    std::optional<std::uint32_t> poorest;
    std::uint32_t least = UINT32_MAX;
    for (std::uint32_t number = 0; number < lanes_.parts.targets.size(); ++number) {
        LaneTarget& target = lanes_.parts.targets[number];
        target.wanted = wanted(number);
        const std::uint32_t there = target.open + target.connecting;
        if (in_stock(number) + target.connecting < target.wanted && now >= target.quiet_until &&
            there < least) {
            poorest = number;
            least = there;
        }
    }
    return poorest && lanes_.pool.open_one(*poorest);
}

// The successors of ageing lanes come first; then these go, at the latest when they may not be used
// any more.
bool LaneSupply::age_slice(Instant now, Duration gap) {
    LaneShelf& shelf = lanes_.shelf;
    for (std::uint32_t number = 0; number < lanes_.parts.targets.size(); ++number) {
        if (shelf.age(number, now)) {
            return true;
        }
        const LaneTarget& target = lanes_.parts.targets[number];
        const bool replaced = in_stock(number) >= target.wanted;
        const bool in_the_way =
            lanes_.pool.full() && target.connecting == 0 && gap >= replacement_gap;
        Lane* over = shelf.over(number, now);
        if (over == nullptr && (replaced || in_the_way)) {
            over = shelf.oldest_ageing(number);
        }
        if (over != nullptr) {
            CHECK(over->state == LaneState::idle);
            lanes_.parts.counts.retired_idle += 1;
            lanes_.pool.close_idle(*over);
            return true;
        }
    }
    return false;
}

// A slice of prompt building: 4,096 tokens are 16 KiB of text, below 20 us.
static constexpr std::uint32_t arm_tokens = 4096;
// TLS: a request becomes records, and has its lane, this long before it is due. The largest take 2
// ms of arithmetic; an idle connection should not be tied up for longer than this needs.
static constexpr Duration bind_ahead = milliseconds(250);
// A step of a handshake has taken up to 1.2 ms (timing-and-io.md, D). One that has found no gap of
// that length for so long goes before what is due.
static constexpr Duration handshake_step_min = milliseconds(1);
static constexpr Duration handshake_patience = milliseconds(50);

// From time 0; before the first row is due, its instant. A run that is resumed begins far from 0.
std::int64_t Preparing::place_in_run_ns(Instant now) const {
    const std::int64_t first = schedule_.first_due_ns();
    return zero_ == never ? first : std::max((now - zero_).ns, first);
}

bool Preparing::slice(Instant now, Instant due, Duration guard) {
    CHECK(now <= due);
    return seal_slice(now) || arm_slice(now) || open_lane(now) ||
           supply_.age_slice(now, due - now) || handshake_slice(now, due, guard);
}

bool Preparing::arm_slice(Instant now) {
    const std::int64_t horizon_ns =
        settings_.arm_all ? INT64_MAX : place_in_run_ns(now) + settings_.arm_ahead.ns;
    CHECK(settings_.arm_all || horizon_ns > 0);
    return armer_.step(now, horizon_ns, arm_tokens);
}

// One record of a request, or a lane for the next one.
bool Preparing::seal_slice(Instant now) {
    return pacer_.bind_ahead(place_in_run_ns(now) + bind_ahead.ns) || lanes_.pool.seal_slice();
}

bool Preparing::open_lane(Instant now) {
    if (stopped_) {
        return false;
    }
    pacer_.ahead().look_ahead_a_second(zero_ == never ? schedule_.first_due_ns()
                                                      : (now - zero_).ns);
    return !pacer_.awaits_lane() && supply_.open_one(now);
}

bool Preparing::handshake_slice(Instant now, Instant due, Duration guard) {
    const Instant wanted = lanes_.connecting.handshake_wanted();
    if (wanted == never) {
        return false;
    }
    const Duration step{std::max(handshake_steps_.value() * 6 / 5, handshake_step_min.ns)};
    if (due - now <= guard + step && now - wanted < handshake_patience) {
        return false;
    }
    (void)lanes_.connecting.handshake_slice();
    handshake_steps_.add((driver_.now() - now).ns);
    return true;
}

// The other bounds of guard and margin are in settings.hpp.
static constexpr Duration guard_max = microseconds(150);
static constexpr Duration margin_min = microseconds(50);
static constexpr std::int64_t guard_share = 5;
static constexpr Duration warm_for = milliseconds(1);  // so long a fire's path stays in the caches
static constexpr Duration warm_early = microseconds(100);    // no earlier before the row
static constexpr Duration warm_send_max = microseconds(40);  // no later: it may take so long
// Lateness of sleeps that are as short says the same again and again.
static constexpr Duration wake_note_gap = milliseconds(10);

Idling::Idling(Driver& driver, const ReplaySettings& settings)
    : driver_(driver),
      settings_(settings),
      guard_(settings.guard ? guard_min : Duration{0}),
      margin_(margin_max),
      wake_errors_(margin_max.ns) {}

void Idling::set_guard(std::int64_t instants) {
    CHECK(instants >= 0);
    if (!settings_.guard) {
        return;
    }
    const std::int64_t cap = guard_window.ns / guard_share / std::max<std::int64_t>(instants, 1);
    guard_.ns = std::clamp(slices_.value() * 6 / 5, guard_min.ns, guard_max.ns);
    guard_.ns = std::min(guard_.ns, std::max(cap, guard_min.ns / 4));
}

void Idling::note_wake(Instant until, Instant woke) {
    CHECK(woke > until);
    if (woke - wake_noted_ < wake_note_gap) {
        return;
    }
    wake_noted_ = woke;
    wake_errors_.add((woke - until).ns);
    margin_.ns = std::clamp(wake_errors_.value() * 6 / 5, margin_min.ns, margin_max.ns);
}

Duration Idling::warm_window() const {
    return std::max(warm_early, guard_ + warm_send_max + warm_send_max);
}

// Where the row can no longer grow cold and is not yet delayed.
bool Idling::warm_send(Instant now, Instant due, Instant last_fire) {
    if (!settings_.warm_sends || due == never || due == warmed_ || now - last_fire < warm_for ||
        due - now > warm_window() || due - now < guard_ + warm_send_max) {
        return false;
    }
    warmed_ = due;
    driver_.warm_send();
    return true;
}

Idling::Pause Idling::wait(Instant now, Instant due, Instant timer, Duration nap) {
    CHECK(now <= due && nap.ns > 0);
    const Duration early = settings_.warm_sends ? std::max(margin_, warm_window()) : margin_;
    const Instant wake = settings_.wait == WaitPolicy::sleep ? due : due - early;
    const Instant until = std::min({wake, timer, now + nap});
    const bool sleeps = settings_.wait != WaitPolicy::spin && until - now > guard_min;
    if (!sleeps) {
        const bool may_enter = due - now > guard_;
        const std::uint32_t completions = may_enter ? completions_max : 0;
        (void)driver_.turn({due, completions, Wait::spin, may_enter});
        return {true, false, {}};
    }
    // No handler runs inside the sleep: what arrived is stamped on waking and read in the next
    // turn.
    const TurnResult result = driver_.turn({until, 0, Wait::sleep, true});
    return {false, result.slept, until};
}

}  // namespace driftless
