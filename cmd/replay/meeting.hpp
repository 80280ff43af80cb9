/// RunMeeting: how a run gets a time 0 that was agreed on: by `--start-at`, or by processes that
/// meet (`--meet`); and what is known of their clocks. Used before time 0 and after the run; prints
/// what it does and what stops it. Owns the listening socket of shard 0.
#pragma once

#include <optional>

#include "cmd/base/exit_codes.hpp"
#include "cmd/replay/parts.hpp"
#include "cmd/replay/run_file.hpp"
#include "engine/base/time.hpp"
#include "engine/history/run_facts.hpp"
#include "engine/machines/meet.hpp"

namespace driftless {

class RunMeeting {
  public:
    /// `parts` outlives it. `resumes`: no process is met, because time 0 is in the past.
    RunMeeting(const ReplayParts& parts, bool resumes);

    /// Called when everything is warm (`RunHost::time_zero`): waits for the others, or until the
    /// agreed instant is near; if there is none, time 0 is as early as possible. `progress` gets
    /// what is known of it. Empty if something stopped it; `code` is the exit code then.
    std::optional<Instant> time_zero(Instant ready, Duration first_due, RunProgress& progress,
                                     int& code);
    /// Due instant from which this run looks at its schedule: all shards begin at the first row of
    /// the whole plan.
    Duration begin_due(Duration first_due) const;
    /// The run has ended here. Shard 0 waits until the others have ended, and compares the clocks
    /// once more for `progress`.
    void wait_for_others(RunProgress& progress);
    /// The other shards contact shard 0 for that, once their files are written. True if `progress`
    /// has changed.
    bool meet_host_again(RunProgress& progress);

  private:
    void meet_again(RunProgress& progress);
    bool meets_again() const;
    int listen();
    OrExit<Instant> named_zero();
    int refuse_late() const;
    MeetSetting setting(MeetPhase phase) const;
    OrExit<Instant> at_named_instant();
    void warn_of_clock(const std::optional<ClockDifference>& difference) const;

    const ReplayParts& parts_;
    const ShardFlags& flags_;
    const bool resumes_;
    std::optional<MeetHost> host_;
    std::optional<MeetingFacts> facts_;
};

// The two clocks at time 0, as run.json has them. Reads clocks; keeps nothing.

/// The tightest of a few bracketed readings (timing-and-io.md, B.1).
ClockAnchors anchor(Instant zero);

}  // namespace driftless
