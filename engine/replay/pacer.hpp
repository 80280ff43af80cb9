/// Rows are fired at their due instants.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/history/fired_marks.hpp"
#include "engine/io/driver.hpp"
#include "engine/plan/schedule.hpp"
#include "engine/prompt/arm.hpp"
#include "engine/record/ring.hpp"
#include "engine/replay/health.hpp"
#include "engine/replay/lane_parts.hpp"
#include "engine/replay/lanes.hpp"
#include "engine/replay/settings.hpp"
#include "engine/replay/waiting_rows.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

// LateCauses: why rows leave late, and how long each was held back.

/// Told by the pacer and the loop what kept rows from leaving, and until when. It holds back
/// nothing itself. Owned by the pacer.
class LateCauses {
  public:
    LateCauses(Driver& driver, const ReplaySettings& settings, Lanes& lanes, EventRing& ring)
        : driver_(driver), settings_(settings), lanes_(lanes), ring_(ring) {
        lost_.fill(Instant{});
    }

    /// At the beginning of each step: a cap that is full, a budget that is used up, or a ring
    /// without room, holds back every row, also one that waits for something else.
    void note_caps(Instant now);
    /// A row leaves at that instant, and takes its tokens behind this.
    void note_take(Instant at);
    /// A row has left: it may have taken the last place, or the last tokens.
    void note_fire(Instant at, Instant done);
    /// The next row is due, and this keeps it (`none`: nothing does).
    void note_next(LateCause cause, Instant now);
    /// The writer has handed back words that a row waited for.
    void note_words(Instant now) { blocked_until(LateCause::writer) = now; }
    /// Other work than a fire ran until this instant: rows that were due before are late by
    /// `guard`.
    void note_work_end(Instant when) { worked_until_ = when; }
    /// The loop did not run in between: stopped, frozen, or without its CPU. What was due then is
    /// late for that, and not for what it entailed. `next_due`: of the row that is next.
    void note_away(Instant from, Instant until, Instant next_due);

    /// What a row that is next may wait for, before all else: the writer, its place in flight, or
    /// tokens of a budget.
    LateCause of_caps() const;
    /// Why no lane can be had.
    LateCause of_no_lane() const;

    /// The turn of a row that is due then has come, now: what has kept it so far.
    void begin(RowUnderway& row, Instant due, Instant now) const;
    /// It could not leave then for lack of something: that is why it is late, unless something had
    /// held it back for longer.
    static void lacks(RowUnderway& row, LateCause what);
    /// A row that did not leave when its turn came leaves now: what has held it since then, too.
    void end(RowUnderway& row, Instant due) const;
    /// What its record says, once it has left with this drift.
    LateCause of(const RowUnderway& row, Instant due, Duration drift) const;

    /// Drift up to this counts as on time: two clock reads, an entry and the call (B.1, C.3).
    static constexpr Duration on_time_max = microseconds(5);

  private:
    LateCause of_cap() const;
    LateCause last_wish() const;
    LateCause before_turn(Instant due) const;
    Duration held(Instant due, LateCause cause) const;
    Instant blocked_until(LateCause cause) const {
        return blocked_until_[static_cast<std::size_t>(cause)];
    }
    Instant& blocked_until(LateCause cause) {
        return blocked_until_[static_cast<std::size_t>(cause)];
    }

    Driver& driver_;
    const ReplaySettings& settings_;
    Lanes& lanes_;
    EventRing& ring_;
    Instant worked_until_;
    Instant fired_until_;
    Instant away_from_;
    Instant away_until_;
    LateCause blocked_by_ = LateCause::none;                 ///< what kept the next row, last asked
    std::array<Instant, late_cause_count> blocked_until_{};  ///< rows due before it waited for that
    bool full_ = false;   ///< as many rows were in flight as may be, when last asked
    bool short_ = false;  ///< a token budget was used up, when last asked
    bool shut_ = false;   ///< one of them that the user asked for, when last asked
    RoomTimes room_;      ///< when they let one more row go
    RoomTimes lost_;      ///< when a bucket of tokens ran over
};

// Firing and the pacer: rows leave at their due instants.

/// Firing: hands a row that has its lane to the kernel, at its instant, and says so: to the record
/// (the event ring), the schedule, the marks and the health counters. Between `prepare` and
/// `let_go` nothing but the clock is looked at. Owned by the pacer.
class Firing {
  public:
    /// `marks` null: none are kept.
    Firing(Loop& loop, const Trace& trace, Schedule& schedule, Lanes& lanes, EventRing& ring,
           FiredMarks* marks, Health& health, const ReplaySettings& settings, LateCauses& late)
        : loop_(loop),
          trace_(trace),
          schedule_(schedule),
          lanes_(lanes),
          ring_(ring),
          marks_(marks),
          health_(health),
          settings_(settings),
          late_(late) {}

    /// Everything that can be done before the instant: the exchange, its bounds, the mark that the
    /// row may have left, the entry in the driver's queue. The lane was taken for it.
    FiredInfo prepare(Lane& lane, RowUnderway& row);
    /// The fire: reads the clock and lets the driver flush. `due`: the row's, on the clock.
    void let_go(Lane& lane, RowUnderway& row, Instant due, FiredInfo info);

    /// Rows that have left, each once.
    std::uint64_t rows() const { return rows_; }

  private:
    std::optional<Duration> patience_of(const Due& due) const;
    void push_fired(const Lane& lane, const RowUnderway& row, const FiredInfo& info);

    Loop& loop_;
    const Trace& trace_;
    Schedule& schedule_;
    Lanes& lanes_;
    EventRing& ring_;
    FiredMarks* marks_;
    Health& health_;
    const ReplaySettings& settings_;
    LateCauses& late_;
    std::uint64_t rows_ = 0;
};

/// Pacer: fires rows at their due instants, and nothing else.
///
/// It takes rows from the schedule, one after the other. A row whose bytes, lane or place in flight
/// is missing at its due instant waits in order, is fired as soon as it can be, and says why it was
/// late. It builds nothing and receives nothing. Owned by the run.
class Pacer {
  public:
    Pacer(Loop& loop, const Trace& trace, Schedule& schedule, Armer& armer, Lanes& lanes,
          EventRing& ring, FiredMarks* marks, Health& health, const ReplaySettings& settings);

    /// Time 0 is set; nothing is fired before this.
    void begin(Instant zero);

    /// Tells the schedule what has ended since the last look. `step` does so, too.
    void note_ends();
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

    /// When the pacer next has something to do: the past where it is late, `never` where only an
    /// event from outside (an answer, a connect) can bring it on.
    Instant next_due(Instant now) const;
    /// The next row is due and its bytes are not ready.
    bool needs_arm(Instant now) const;
    /// A row that is due lacks a connection, and none is under way: it gets the next one.
    bool awaits_lane() const { return waiting_.wants_connection(); }
    /// Nothing is left to fire.
    bool done() const;

    /// As LateCauses has them.
    void note_work_end(Instant when) { late_.note_work_end(when); }
    void note_away(Instant from, Instant until);
    void note_words(Instant now) { late_.note_words(now); }

    /// No row is fired from here on. Rows that wait get their end; those still to come get it by
    /// `drop_unsent`, in portions that the event ring has room for.
    void stop();
    bool drop_unsent(std::uint32_t rows_max);
    /// After `stop`, where a run is taken down without records: rows that wait are not ended, only
    /// their bytes are given back.
    void forget_waiting() { waiting_.forget(); }

    RowsAhead& ahead() { return ahead_; }
    std::uint64_t rows_fired() const { return firing_.rows(); }

  private:
    void note_unsent(RowUnderway& row) const;
    Instant due_instant(const Due& due) const { return zero_ + Duration{due.due_ns}; }
    bool has_due(Instant now) const;
    bool may_fire_late() const;

    bool take_retries();
    void take_again(RowUnderway& row);
    bool end_dropped();
    bool fire_next(Instant now);
    bool fire_late();
    bool fire_waiting();
    bool set_aside_next(Instant now);
    RowUnderway& take_next(Instant now);
    Lane* take_lane(const RowUnderway& row);

    void fire(Lane& lane, RowUnderway& row);

    Driver& driver_;
    Schedule& schedule_;
    Armer& armer_;
    Lanes& lanes_;
    EventRing& ring_;
    Health& health_;

    RowsAhead ahead_;
    LateCauses late_;
    WaitingRows waiting_;
    Firing firing_;
    Instant zero_ = never;
    bool stopped_ = false;
    Instant stopped_at_;
};

}  // namespace driftless
