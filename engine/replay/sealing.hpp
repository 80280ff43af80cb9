/// Sealing: lanes over TLS that are bound to a row each, whose request is turned into records on
/// them before it is due. Which record is made next, which lane is ready, which rows are late, and
/// what becomes of a row whose lane will not carry it. It takes lanes from no shelf and sends
/// nothing. Owned by the pool, whose lanes outlive it.
#pragma once

#include <cstdint>

#include "engine/replay/in_flight.hpp"
#include "engine/replay/lane.hpp"
#include "engine/replay/lane_parts.hpp"

namespace driftless {

class Sealing {
  public:
    Sealing(LaneParts& parts, InFlight& in_flight) : parts_(parts), in_flight_(in_flight) {}

    /// The lane is the row's from here on. `late`: the row is due.
    void bind(Lane& lane, RowUnderway& row, bool late);
    /// The lane is bound no more, and its row anybody's.
    RowUnderway& unbind(Lane& lane);

    /// The lane whose next record is to be made: of late rows first; nullptr where all are ready.
    Lane* next() const { return sealing_late_.empty() ? sealing_.first : sealing_late_.first; }
    /// What is to be made first is of a late row.
    bool next_is_late() const { return !sealing_late_.empty(); }
    /// Makes that record; with the last one the lane is ready, at `now`. False where its
    /// connection makes none any more.
    bool seal(Lane& lane, Instant now);

    /// The row of a lane that is not ready has become due.
    void now_late(Lane& lane);
    /// The ready lane of the late row that goes first; nullptr where there is none.
    Lane* late_front() const { return ready_late_.first; }
    std::uint32_t late_count() const { return late_count_; }

    /// The row of a lane that will not carry it. Its bytes are worth nothing, but it keeps their
    /// storage: it must not wait for memory behind rows that cannot leave before it.
    RowUnderway& drop(Lane& lane);
    /// The connection has ended under its row: the row is built again, or it ends, where it is late
    /// and no connection will do. `young`: the connection had not ended of its age.
    void lose(Lane& lane, bool young);
    /// Nothing more is to be sent: a late row comes back to be built again, any other waits for its
    /// turn without its bytes.
    void give_up(Lane& lane);

    /// Connections that may end under one row before it is fired, none of them of its age.
    static constexpr std::uint16_t losses_max = 3;

  private:
    LaneParts& parts_;
    InFlight& in_flight_;
    LaneList sealing_;       ///< not ready
    LaneList sealing_late_;  ///< the same, and their row is due
    LaneList ready_late_;    ///< ready, and their row is due
    std::uint32_t late_count_ = 0;
};

}  // namespace driftless
