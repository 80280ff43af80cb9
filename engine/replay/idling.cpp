#include "engine/replay/idling.hpp"

#include <algorithm>

#include "engine/replay/run_limits.hpp"
#include "proto/core/check.hpp"

namespace driftless {

namespace {

// The other bounds of guard and margin are in run_limits.hpp.
constexpr Duration guard_max = microseconds(150);
constexpr Duration margin_min = microseconds(50);
constexpr std::int64_t guard_share = 5;
constexpr Duration warm_for = milliseconds(1);        // so long a fire's path stays in the caches
constexpr Duration warm_early = microseconds(100);    // no earlier before the row
constexpr Duration warm_send_max = microseconds(40);  // no later: it may take so long
// Lateness of sleeps that are as short says the same again and again.
constexpr Duration wake_note_gap = milliseconds(10);

}  // namespace

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
