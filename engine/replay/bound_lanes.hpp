/// BoundLanes: lanes over TLS that are bound to a row each, whose request is turned into records on
/// them before it is due. Which record is made next, which lane is ready, and which rows are late.
/// It takes lanes from no shelf and sends nothing. Owned by the pool, whose lanes outlive it.
#pragma once

#include <cstdint>

#include "engine/replay/lane.hpp"
#include "engine/replay/lane_list.hpp"

namespace driftless {

class BoundLanes {
  public:
    /// The lane has the row's bytes from here on. `late`: the row is due.
    void add(Lane& lane, const DueRow& row, bool late);
    /// The lane is bound no more. Its row, whose bytes are the caller's now.
    DueRow remove(Lane& lane);

    /// The lane whose next record is to be made: of late rows first; nullptr where all are ready.
    Lane* to_seal() const {
        return sealing_late_.first != nullptr ? sealing_late_.first : sealing_.first;
    }
    bool has_late_to_seal() const { return sealing_late_.first != nullptr; }
    /// Makes that record; with the last one the lane is ready, at `now`. False where its
    /// connection makes none any more.
    bool seal(Lane& lane, Instant now);

    /// The row of a lane that is not ready has become due; `row` says what has kept it.
    void now_late(Lane& lane, const DueRow& row);
    /// The ready lane of the late row that goes first; nullptr where there is none.
    Lane* late_front() const { return ready_late_.first; }
    std::uint32_t late_count() const { return late_count_; }

  private:
    LaneList sealing_;       ///< not ready
    LaneList sealing_late_;  ///< the same, and their row is due
    LaneList ready_late_;    ///< ready, and their row is due
    std::uint32_t late_count_ = 0;
};

}  // namespace driftless
