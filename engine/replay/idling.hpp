/// Idling: when nothing is to be done: how near to a due instant other work may begin (`guard`),
/// how long before it a sleep ends (`margin`), when the loop spins, and the byte that keeps the
/// path of a send warm. Both distances adapt to the host. Owned by the run.
#pragma once

#include "engine/io/driver.hpp"
#include "engine/replay/health.hpp"
#include "engine/replay/settings.hpp"
#include "engine/time/instant.hpp"

namespace driftless {

class Idling {
  public:
    Idling(Driver& driver, const ReplaySettings& settings);

    Duration guard() const { return guard_; }
    Duration margin() const { return margin_; }

    /// A slice of other work has taken so long; the guard follows.
    void note_slice(Duration length) { slices_.add(length.ns); }
    /// `instants`: of rows due within `guard_window` from now on.
    void set_guard(std::int64_t instants);
    /// A sleep that should have ended at `until` did so at `woke`, later; the margin follows.
    void note_wake(Instant until, Instant woke);

    /// Sends the warming byte where it is worth it: `due` is that of a row that comes alone, and
    /// the latest row left at `last_fire`. Once for each.
    bool warm_send(Instant now, Instant due, Instant last_fire);

    struct Pause {
        bool spun = false;   ///< completions were handled, and no time is known to be lost
        bool slept = false;  ///< else: nothing but time has ended it
        Instant until;       ///< else: when it was to end
    };
    /// Sleeps until `margin` before `due` where that is worth it, for `nap` at most, else spins.
    /// `timer`: of the next timer.
    Pause wait(Instant now, Instant due, Instant timer, Duration nap);

    /// The guard may take a fifth of the time, or tokens are read too late (E.4): of the time that
    /// comes now, because rows may come in bursts.
    static constexpr Duration guard_window = milliseconds(1);

  private:
    Duration warm_window() const;

    Driver& driver_;
    const ReplaySettings& settings_;
    Duration guard_;
    Duration margin_;
    RecentMax<64> slices_{0};  ///< milliseconds of a busy loop: what it does now
    /// Ten or more seconds: their p99.9, or one row in a hundred would wake too late.
    RecentMax<1024> wake_errors_;
    Instant wake_noted_;  ///< when the latest of them was
    Instant warmed_;      ///< the due instant that the last warm send was for
};

}  // namespace driftless
