/// Run: one replay from the first arm to the last closed connection. The loop of the product.
///
///     Run run(driver, parts, settings);
///     while (!run.warm()) run.turn();   // connections are open, the first requests are armed
///     run.begin(zero);                  // time 0: at least 30 ms ahead
///     while (run.turn()) {}             // fires, receives, prepares; false when all is over
///
/// Priority: fire, then receive, then prepare; nothing starts that could still run when the next
/// row is due (`guard`). But what has come is read within `unread_max`, whatever is due: where both
/// are behind, each gets half of the time. The simulator turns the same code in virtual time.
/// Single-threaded; the caller's thread is the engine thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/history/fired_marks.hpp"
#include "engine/host/threads.hpp"
#include "engine/io/driver.hpp"
#include "engine/plan/schedule.hpp"
#include "engine/prompt/arm.hpp"
#include "engine/prompt/recorded_bodies.hpp"
#include "engine/record/ring.hpp"
#include "engine/replay/between_fires.hpp"
#include "engine/replay/health.hpp"
#include "engine/replay/lanes.hpp"
#include "engine/replay/pacer.hpp"
#include "engine/replay/settings.hpp"

namespace driftless {

/// What a run is made of. Everything outlives the run.
struct RunParts {
    const Trace& trace;
    Schedule& schedule;
    Armer& armer;
    BodyPool& bodies;
    EventRing& ring;
    std::vector<Endpoint> targets;
    /// How often the user has asked to stop (SIGINT, SIGTERM); written by a signal handler.
    const std::atomic<int>& stop_requests;
    /// Of the engine's thread. Null: what the kernel counts of it is not asked (the simulator).
    const ThreadMeter* meter = nullptr;
    /// By positions in the trace. Null: this run is not resumed (benchmarks).
    FiredMarks* marks = nullptr;
    /// Words of answers that later requests hold. Null: none do.
    Replies* replies = nullptr;
    /// How many users are to play; written by the writer's side. Null: all that there are.
    const std::atomic<std::uint32_t>* users_wanted = nullptr;
    /// The run has to end early (`--stop-when`); raised by the writer's side. Null: it never has.
    const std::atomic<bool>* stop_wanted = nullptr;
    /// Of an engine's thread that runs before all ordinary ones. Null: it does not.
    StepsAside* steps_aside = nullptr;
};

class Run {
  public:
    Run(Driver& driver, const RunParts& parts, const ReplaySettings& settings);
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    /// The connections and requests that time 0 needs are there, or cannot be had.
    bool warm();
    /// `zero` may lie in the past, as that of a run that is resumed does. Rows that are due already
    /// are late.
    void begin(Instant zero);
    /// One turn. False when every row has its end and every connection is closed.
    bool turn();

    /// Fires nothing more, drains, and ends as after an interruption (a disk that is full).
    void stop() { stop_asked_ = true; }
    /// Ends a run that was never begun, or cannot go on: closes every connection, gives no row an
    /// end.
    void abandon();

    /// The user stopped it before its end.
    bool interrupted() const { return interrupted_; }
    /// The writer's side has stopped it before its end.
    bool stopped_early() const { return stopped_early_; }
    /// What was still open when the time for it was over was cancelled.
    bool drained() const { return drained_; }
    const LaneCounts& lane_counts() { return lanes_.parts.counts; }
    /// How long the servers keep an idle connection: the shortest that is known.
    IdleLimit idle_limit() { return lanes_.shelf.shortest_limit(); }
    const ClockSample& clock() const { return clock_; }
    /// Of the first row to be sent, from time 0.
    std::int64_t first_due_ns() const { return parts_.schedule.first_due_ns(); }
    std::uint64_t rows_fired() const { return pacer_.rows_fired(); }
    /// Requests whose turn has come, sent or not: all that there were, at the end.
    std::uint64_t rows_taken() const { return parts_.schedule.taken(); }
    /// Begin of the measurement, from time 0; nothing where it did not come to that.
    std::optional<std::int64_t> measured_from_ns() const {
        return parts_.schedule.measured_from_ns();
    }
    /// What caps on idle time have done; nothing where no users play.
    std::optional<IdleFigures> idle() const {
        const Users* const users = parts_.schedule.users();
        return users == nullptr ? std::nullopt : std::optional(users->idle());
    }
    Duration guard() const { return idling_.guard(); }
    Duration margin() const { return idling_.margin(); }
    const FramePool::Marks& frame_marks() { return loop_.frames().marks(); }

  private:
    bool over() const;
    bool closed(Instant now);
    void note_gap(Instant from, Instant to);
    void set_guard(Instant now);
    bool serve_next(Instant now, Instant due);
    bool arm_soon(Instant now);
    void serve_others(Instant now, Instant due);
    Instant drains_at() const;
    bool watch_stop(Instant now);
    void take_replies(Instant now);
    void watch_users(Instant now);
    bool sample_clock(Instant now);
    bool prepare(Instant now, Instant due);
    void wait(Instant now, Instant due);
    Instant spent(Work work, Instant from);

    Driver& driver_;
    RunParts parts_;
    ReplaySettings settings_;
    Loop loop_;
    Lanes lanes_;
    Health health_;
    Pacer pacer_;
    Reading reading_;
    Preparing preparing_;
    Idling idling_;
    Sampler sampler_;

    Instant zero_ = never;
    Instant started_;
    bool stop_asked_ = false;
    bool stopping_ = false;
    bool interrupted_ = false;
    bool drained_ = false;
    bool stopped_early_ = false;
    bool closing_ = false;
    Instant grace_ends_ = never;
    Instant last_fire_;
    ClockSample clock_;
    Instant clock_due_;
    Instant last_look_;
    Instant armed_behind_;      ///< the look that `arms_until_` is of
    Instant arms_until_;        ///< until then rows are armed before the next look
    bool sealed_last_ = false;  ///< records of a row that is late went before all else
    bool last_was_spin_ = false;
};

}  // namespace driftless
