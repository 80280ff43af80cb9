// When nothing is to be done: how near to a due instant other work may begin, how long the loop
// sleeps, and when it spins.

#include <algorithm>

#include "engine/replay/run.hpp"
#include "engine/replay/run_limits.hpp"

namespace driftless {

namespace {

constexpr Duration warm_for = milliseconds(1);        // so long a fire's path stays in the caches
constexpr Duration warm_early = microseconds(100);    // no earlier before the row
constexpr Duration warm_send_max = microseconds(40);  // no later: it may take so long
// The guard may take a fifth of the time, or tokens are read too late (E.4): of the time that comes
// now, because rows may come in bursts.
constexpr Duration guard_window = milliseconds(1);
constexpr std::int64_t guard_share = 5;
// A sleep without a deadline still looks at the stop flag this often.
constexpr Duration sleep_max = milliseconds(20);
// Lateness of sleeps that are as short says the same again and again.
constexpr Duration wake_note_gap = milliseconds(10);
constexpr Duration full_ring_nap = milliseconds(1);

}  // namespace

void Run::note_slice(std::int64_t slice_ns) {
    slices_.add(slice_ns);
}

void Run::set_guard(Instant now) {
    if (!settings_.guard) {
        return;
    }
    const std::int64_t instants = pacer_.instants_within(now, guard_window);
    const std::int64_t cap = guard_window.ns / guard_share / std::max<std::int64_t>(instants, 1);
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
    const Duration room_nap = parts_.ring.has_room_for_row() ? sleep_max : full_ring_nap;
    const Duration nap = lanes_.inflight() > 0 ? stream_sleep_max : room_nap;
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
        note_wake(until, woke);
    }
}

void Run::note_wake(Instant until, Instant woke) {
    health_.note_wake((woke - until).ns);
    if (woke - wake_noted_ < wake_note_gap) {
        return;
    }
    wake_noted_ = woke;
    wake_errors_.add((woke - until).ns);
    margin_.ns = std::clamp(wake_errors_.value() * 6 / 5, margin_min.ns, margin_max.ns);
}

}  // namespace driftless
