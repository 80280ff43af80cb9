/// Pacer: fires rows at their due instants, and nothing else.
///
/// It takes rows from the schedule, one after the other. A row whose bytes, lane or place in flight
/// is missing at its due instant waits in order, is fired as soon as it can be, and says why it was
/// late. It builds nothing and receives nothing. Owned by the run.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "engine/prompt/arm.hpp"
#include "engine/record/fired_marks.hpp"
#include "engine/record/ring.hpp"
#include "engine/replay/health.hpp"
#include "engine/replay/lanes.hpp"
#include "engine/replay/room_times.hpp"
#include "engine/replay/settings.hpp"
#include "engine/schedule/schedule.hpp"

namespace driftless {

class Pacer {
  public:
    Pacer(Loop& loop, const Trace& trace, Schedule& schedule, Armer& armer, LanePool& lanes,
          EventRing& ring, FiredMarks* marks, Health& health, const ReplaySettings& settings);

    /// Time 0 is set; nothing is fired before this.
    void begin(Instant zero);

    /// Fires at most one row. True where it did anything.
    bool step(Instant now);

    /// Fires the next row, which is due within the guard, as exactly as it can be done: everything
    /// is prepared first, then nothing but the clock is looked at until the instant. False, at
    /// once, where the row has no bytes, no lane or no place in flight: then `step` fires it when
    /// it can.
    bool fire_on_time();

    /// TLS: binds the next row that is armed and due before `horizon_ns` (from time 0) to an idle
    /// lane. False where there is no such row, or no lane.
    bool bind_ahead(std::int64_t horizon_ns);

    /// When the pacer next has something to do: the past where it is late, `never` where only
    /// somebody else (an answer, a connect) can bring it on.
    Instant next_due(Instant now) const;
    /// The next row is due and its bytes are not ready.
    bool needs_arm(Instant now) const;

    /// Something else ran until this instant; rows that were due before it are late by `guard`.
    void note_work_end(Instant when) { busy_until_ = when; }
    /// The loop did not run in between: stopped, frozen, or without its CPU. What was due then is
    /// late for that, and not for what it entailed.
    void note_away(Instant from, Instant until);

    /// Nothing is left to fire.
    bool done() const;

    /// No row is fired from here on. Rows that wait get their end; those still to come get it by
    /// `drop_unsent`, in portions that the event ring has room for.
    void stop();
    /// After `stop`, where a run is taken down without records: rows that wait are not ended, only
    /// their bytes are given back.
    void forget_waiting();
    bool drop_unsent(std::uint32_t rows_max);

    std::uint64_t rows_fired() const { return rows_fired_; }
    std::int64_t now_in_run(Instant now) const { return (now - zero_).ns; }
    /// Looks at the rows due within the next second, for `connections_wanted`.
    void look_ahead_a_second(Instant now);
    /// How many instants of rows to come lie within `horizon`: rows that follow each other faster
    /// than one can be fired count as one, like those of a burst. The same horizon each time.
    std::uint32_t instants_within(Instant now, Duration horizon);
    std::uint32_t rows_left() const;
    /// Idle lanes that rows to come need: those due within the next second, as of the last look,
    /// and at least the largest instant.
    std::uint32_t connections_wanted(std::uint32_t target) const;

    /// Drift up to this counts as on time: two clock reads, an entry and the call (B.1, C.3).
    static constexpr std::int64_t on_time_ns = 5'000;

  private:
    std::uint32_t target_of(const Due& due) const { return armer_.target_of(due); }
    Duration due_in(const Due& due) const;
    void note_all_dues();
    Instant due_instant(const Due& due) const { return zero_ + Duration{due.due_ns}; }
    bool has_due(Instant now) const;
    LaneWish wish_of(const Due& due, bool fresh) const;
    Lane* take_lane(std::uint32_t target, DueRow& row);
    bool fire_waiting();
    bool bind(const Due& due, ArmedRequest& armed);
    void note_ends();
    bool end_dropped();
    bool take_retries();
    bool answer_failures();
    bool fire_next(Instant now);
    bool set_aside_next(Instant now);
    bool fire_late();
    bool can_fire_late() const;
    void note_full(Instant now);
    Duration held_until(Instant due, LateCause cause) const;
    void note_held(DueRow& row) const;
    void take_again(const DueRow& row);
    LateCause what_blocks_next() const;
    LateCause cause_of_cap() const;
    LateCause cause_of_no_lane() const;
    LateCause what_held_next() const;
    DueRow take_next(Instant now);
    void fire(Lane& lane, const DueRow& row);
    FiredInfo prepare(Lane& lane, const DueRow& row);
    void let_go(Lane& lane, const DueRow& row, FiredInfo info);
    void push_fired(const Lane& lane, const DueRow& row, const FiredInfo& info, Instant at);
    LateCause cause_of(const DueRow& row, std::int64_t drift_ns, Instant due) const;
    void end_waiting(const DueRow& row, Outcome outcome, std::int32_t sys_errno = 0);
    Due move_on();
    bool has_tls(std::uint32_t target) const { return lanes_.targets()[target].tls != nullptr; }
    bool can_fire_waiting() const;
    bool has_lane_for_first(const std::vector<std::deque<DueRow>>& rows,
                            std::uint32_t target) const;
    bool wants_connection(std::uint32_t target) const;
    void make_room(bool retry);
    bool has_room() const;

    Loop& loop_;
    const Trace& trace_;
    Schedule& schedule_;
    Armer& armer_;
    LanePool& lanes_;
    EventRing& ring_;
    FiredMarks* marks_;  ///< null: none are kept
    Health& health_;
    const ReplaySettings& settings_;

    Instant zero_ = never;
    /// Before the first: so far that the first row begins an instant.
    static constexpr std::int64_t none_before_ns = -1'000'000'000;
    std::int64_t taken_ns_ = none_before_ns;  ///< due of the row that was taken last
    std::int64_t near_ns_ = none_before_ns;   ///< ... that `instants_within` has counted last
    std::uint32_t near_rows_ = 0;  ///< that `instants_within` has counted, and were not taken
    std::uint32_t instants_ = 0;   ///< that begin with them
    Instant busy_until_;
    Instant away_from_;
    Instant away_until_;
    LateCause blocked_by_ = LateCause::none;                 ///< what kept the next row, last asked
    std::array<Instant, late_cause_count> blocked_until_{};  ///< rows due before it waited for that
    bool full_ = false;  ///< as many rows were in flight as may be, when last asked
    RoomTimes room_;
    bool stopped_ = false;
    std::uint64_t rows_fired_ = 0;
    /// [sessions] the last request of each; empty but for `--connection sticky`.
    std::vector<std::uint32_t> last_of_session_;
    /// Rows that were due and found no lane. [targets] first-in first-out
    std::vector<std::deque<DueRow>> waiting_;
    std::vector<std::deque<DueRow>> retrying_;  ///< [targets] want an unused connection
    std::vector<DueRow> again_;                 ///< being armed again
    std::vector<std::uint32_t> soon_;           ///< [targets] rows to come within a second
    std::vector<std::uint32_t> bursts_;         ///< [targets] most rows at one instant
};

}  // namespace driftless
