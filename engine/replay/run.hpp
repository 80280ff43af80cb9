/// Run: one replay from the first arm to the last closed connection. The loop of the product.
///
///     Run run(driver, parts, settings);
///     while (!run.warm()) run.turn();   // connections stand, the first requests are armed
///     run.begin(zero);                  // time 0: at least 200 ms ahead
///     while (run.turn()) {}             // fires, receives, prepares; false when all is over
///
/// Priority: fire, then receive, then prepare; nothing starts that could still run when the next
/// row is due (`guard`). But what has come is read within `unread_max`, whatever is due: where both
/// are behind, each gets half of the time. The simulator turns the same code in virtual time.
/// Single-threaded; the caller's thread is the engine thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/host/thread_meter.hpp"
#include "engine/io/loop.hpp"
#include "engine/prompt/arm.hpp"
#include "engine/record/fired_marks.hpp"
#include "engine/record/ring.hpp"
#include "engine/replay/health.hpp"
#include "engine/replay/lanes.hpp"
#include "engine/replay/pacer.hpp"
#include "engine/replay/settings.hpp"
#include "engine/schedule/schedule.hpp"

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
    /// By positions in the trace. Null: nobody will resume this run (benchmarks).
    FiredMarks* marks = nullptr;
};

class Run {
  public:
    Run(Driver& driver, const RunParts& parts, const ReplaySettings& settings);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    /// The connections and requests that time 0 needs are there, or cannot be had.
    bool warm();
    /// `zero` may lie in the past, as that of a run that is resumed does; the first row's due may
    /// not.
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
    const LaneCounts& lane_counts() { return lanes_.counts(); }
    IdleLimit idle_limit() const { return lanes_.idle_limit(); }
    const ClockSample& clock() const { return clock_; }
    std::uint64_t rows_fired() const { return pacer_.rows_fired(); }
    Duration guard() const { return guard_; }
    Duration margin() const { return margin_; }
    const FramePool::Marks& frame_marks() { return loop_.frames().marks(); }

  private:
    bool over() const;
    bool closed(Instant now);
    void note_gap(Instant from, Instant to);
    bool watch_stop(Instant now);
    bool must_read(Instant now);
    void read_now(Instant now);
    bool read_slice();
    void note_suspension();
    bool receive(Instant now, Instant due);
    bool collect_stamps(Instant now, Instant due);
    bool sample_clock(Instant now);
    bool prepare(Instant now, Instant due);
    bool seal_slice(Instant now);
    bool handshake_slice(Instant now, Instant due);
    bool arm_slice(Instant now);
    bool open_lane(Instant now);
    void wait(Instant now, Instant due);
    void note_wake(Instant until, Instant woke);
    bool warm_send(Instant now, Instant due);
    Duration warm_window() const;
    void tell_second(Instant now);
    void tell_stamps(ClientSample& sample);
    void tell_use(ClientSample& sample);
    Instant spent(Work work, Instant from);
    void note_slice(std::int64_t slice_ns);
    void set_guard(Instant now);
    std::uint32_t lanes_wanted(std::uint32_t target) const;
    std::int64_t place_in_run_ns(Instant now) const;
    std::int64_t arm_horizon_ns(Instant now) const;

    Driver& driver_;
    RunParts parts_;
    ReplaySettings settings_;
    Loop loop_;
    LanePool lanes_;
    Health health_;
    Pacer pacer_;

    Instant zero_ = never;
    Instant started_;
    bool stop_asked_ = false;
    bool stopping_ = false;
    bool interrupted_ = false;
    bool closing_ = false;
    Instant grace_ends_ = never;
    Duration guard_;
    Duration margin_;
    Instant read_again_;          ///< no read goes before what is due until then
    bool last_was_read_ = false;  ///< one that did: a turn for all else comes next
    std::uint32_t receives_ = 0;  ///< since a look found nothing to read
    /// Receive count at which unsent parts of large bodies get a turn.
    std::uint32_t rest_after_ = 0;
    std::uint32_t others_after_ = 0;  ///< receive count at which all other work gets a turn
    Instant last_fire_;
    Instant warmed_;           ///< the due instant that the last warm send was for
    RecentMax<64> slices_{0};  ///< milliseconds of a busy loop: what it does now
    /// Ten or more seconds: their p99.9, or one row in a hundred would wake too late.
    RecentMax<1024> wake_errors_;
    Instant wake_noted_;  ///< when the latest of them was
    RecentMax<64> handshake_steps_{0};
    DriverCounters told_;     ///< as of the last sample
    LaneCounts stamps_told_;  ///< as of the last sample
    ThreadUse use_told_;      ///< as of the last sample
    ClockSample clock_;
    Instant clock_due_;
    std::int64_t suspended_ns_;  ///< of the host, so far
    Instant last_look_;
    bool last_was_spin_ = false;
};

}  // namespace driftless
