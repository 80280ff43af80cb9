/// What the loop does between two fires: it reads what has come, prepares what comes next, and
/// waits.
#pragma once

#include <cstdint>

#include "engine/base/time.hpp"
#include "engine/io/driver.hpp"
#include "engine/plan/schedule.hpp"
#include "engine/prompt/arm.hpp"
#include "engine/replay/health.hpp"
#include "engine/replay/lanes.hpp"
#include "engine/replay/pacer.hpp"
#include "engine/replay/settings.hpp"
#include "engine/replay/waiting_rows.hpp"

namespace driftless {

/// Reading: takes what has come, in slices, and the work that goes with it: the coroutines that it
/// wakes, deadlines, the rest of large bodies, transmit stamps. It says when reading must go before
/// what is due, and when everything else must get a turn. Owned by the run.
class Reading {
  public:
    Reading(Driver& driver, Loop& loop, Lanes& lanes)
        : driver_(driver), loop_(loop), lanes_(lanes), suspended_ns_(driver.suspended_ns()) {}

    /// Something may have been waiting for too long, and what is due has had its half of the time.
    /// Asked at the beginning of each turn of the loop.
    bool is_overdue(Instant now);
    /// A slice went before what was due: it took until `to`.
    void note_first(Instant from, Instant to);

    /// Lanes whose answers were read are done with: rows find them. False where there were none.
    bool settle();
    /// Something has come, and the last slice has left it for the next one.
    bool has_more() const { return has_more_; }
    /// When the turn began that last looked for what has come.
    Instant looked() const { return looked_; }
    /// Completions and the coroutines that they wake. False where there were none.
    bool slice();
    /// A slice, and behind it what is late: the rest of a large body, or deadlines. Nothing that is
    /// long begins within `guard` of `due`. False where there was nothing to do.
    bool step(Instant now, Instant due, Duration guard);
    /// Behind a step that has read: all other work gets a turn now. Not where a row may be due for
    /// an answer that was just read.
    bool gives_way();
    /// Transmit stamps that have come; false where there are none, or `due` is too close.
    bool collect_stamps(Instant now, Instant due, Duration guard);

  private:
    void note_suspension();
    std::size_t resume();

    Driver& driver_;
    Loop& loop_;
    Lanes& lanes_;
    Instant unread_since_;  ///< of the driver, when the turn began
    Instant read_again_;    ///< no read goes before what is due until then
    bool has_more_ = false;
    Instant began_;  ///< the turn
    Instant looked_;
    bool last_was_first_ = false;  ///< one that did: a turn for all else comes next
    std::uint32_t receives_ = 0;   ///< since a look found nothing to read
    /// Receive count at which unsent parts of large bodies get a turn.
    std::uint32_t rest_after_ = 0;
    std::uint32_t others_after_ = 0;  ///< receive count at which all other work gets a turn
    std::int64_t suspended_ns_;       ///< of the host, so far
};

/// LaneSupply: keeps as many connections ready as rows to come need: opens them ahead of need, and
/// ends idle ones before their server does, once they have a successor. Owned by the run.
class LaneSupply {
  public:
    LaneSupply(const ReplaySettings& settings, Lanes& lanes, const RowsAhead& ahead)
        : settings_(settings), lanes_(lanes), ahead_(ahead) {}

    /// Starts one connection that is wanted; false where enough are open or connecting, or none can
    /// be had.
    bool open_one(Instant now);
    /// Ends at most one idle lane that its server may soon close; nothing is due for `gap`. False
    /// where there is nothing to do.
    bool age_slice(Instant now, Duration gap);

    /// Lanes to the target that rows to come can count on, those connecting not included; under
    /// `--connections` busy ones, too.
    std::uint32_t in_stock(std::uint32_t target) const;

    /// Kept ready ahead of need, at most; more where more rows of one instant come within a second.
    static constexpr std::uint32_t idle_max = RowsAhead::crowd_min;

  private:
    std::uint32_t wanted(std::uint32_t target) const;

    const ReplaySettings& settings_;
    Lanes& lanes_;
    const RowsAhead& ahead_;
};

/// Preparing: what is made ready between two rows, in slices: prompts, records of TLS, connections,
/// handshakes. It looks at no answer and fires nothing; its caller has just read the clock.
/// Owned by the run.
class Preparing {
  public:
    Preparing(Driver& driver, const ReplaySettings& settings, const Schedule& schedule,
              Armer& armer, Lanes& lanes, Pacer& pacer)
        : driver_(driver),
          settings_(settings),
          schedule_(schedule),
          armer_(armer),
          lanes_(lanes),
          pacer_(pacer),
          supply_(settings, lanes, pacer.ahead()) {}

    void begin(Instant zero) { zero_ = zero; }
    /// No connection is opened from here on.
    void stop() { stopped_ = true; }

    /// At most one slice: a part of a prompt, one record, one connect, or a step of a handshake.
    /// Nothing is due before `due`, and nothing may begin within `guard` of it. False where there
    /// is nothing to do.
    bool slice(Instant now, Instant due, Duration guard);

    // One kind of slice each.
    bool arm_slice(Instant now);
    /// Of a row that an answer may release: before the loop looks for that answer.
    bool arm_soon_slice(Instant now) { return armer_.arms_soon() && arm_slice(now); }
    bool seal_slice(Instant now);
    bool open_lane(Instant now);

  private:
    std::int64_t place_in_run_ns(Instant now) const;
    bool handshake_slice(Instant now, Instant due, Duration guard);

    Driver& driver_;
    const ReplaySettings& settings_;
    const Schedule& schedule_;
    Armer& armer_;
    Lanes& lanes_;
    Pacer& pacer_;
    LaneSupply supply_;
    Instant zero_ = never;
    bool stopped_ = false;
    RecentMax<64> handshake_steps_{0};
};

/// Idling: when nothing is to be done: how near to a due instant other work may begin (`guard`),
/// how long before it a sleep ends (`margin`), when the loop spins, and the byte that keeps the
/// path of a send warm. Both distances adapt to the host. Owned by the run.
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
