/// Firing: hands a row that has its lane to the kernel, at its instant, and says so: to the record
/// (the event ring), the schedule, the marks and the health counters. Between `prepare` and
/// `let_go` nothing but the clock is looked at. Owned by the pacer.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/io/loop.hpp"
#include "engine/record/fired_marks.hpp"
#include "engine/record/ring.hpp"
#include "engine/replay/health.hpp"
#include "engine/replay/lanes.hpp"
#include "engine/replay/late_causes.hpp"
#include "engine/replay/settings.hpp"
#include "engine/schedule/schedule.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

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

}  // namespace driftless
