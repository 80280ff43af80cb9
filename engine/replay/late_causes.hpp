/// LateCauses: why rows leave late, and how long each was held back.
#pragma once

#include <array>
#include <cstddef>

#include "engine/io/driver.hpp"
#include "engine/record/ring.hpp"
#include "engine/replay/lane_parts.hpp"
#include "engine/replay/lanes.hpp"
#include "engine/replay/settings.hpp"

namespace driftless {

/// Told by the pacer and the loop what kept rows from leaving, and until when. It holds back
/// nothing itself. Owned by the pacer.
class LateCauses {
  public:
    LateCauses(Driver& driver, const ReplaySettings& settings, Lanes& lanes, EventRing& ring)
        : driver_(driver), settings_(settings), lanes_(lanes), ring_(ring) {
        lost_.fill(Instant{});
    }

    /// At the beginning of each step: a cap that is full, a budget that is used up, or a ring
    /// without room, holds back every row, whatever else it waits for.
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

}  // namespace driftless
