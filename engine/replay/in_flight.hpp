/// InFlight: the rows that have left and have not ended: how many they are, when a place among them
/// came free, and how each ended, told to the record (the event ring) and, through `ended`, to the
/// schedule. Owned by the pool.
#pragma once

#include <cstdint>

#include "engine/record/event.hpp"
#include "engine/replay/lane_parts.hpp"

namespace driftless {

/// What an end event says of the row itself.
EndInfo end_info(const RowUnderway& row, Outcome outcome, std::int32_t sys_errno);

class InFlight {
  public:
    explicit InFlight(LaneParts& parts) : parts_(parts) {}

    /// The row has left. One that is sent again has been in flight all along.
    void add(const RowUnderway& row);
    /// Its whole answer has been read, with status 200; the last byte at `at`. What waits for it
    /// may leave, before its lane has done with it and `end` gives it its end.
    void answered(RowUnderway& row, Instant at);
    /// An answer, or the lack of one, ends a row that has left; `event` says how. `freed`: since
    /// when its place is free, as far as that is known.
    void end(RowUnderway& row, const Event& event, Instant freed);
    /// The end of a row that has no lane: one that never left (the ring has room for a row), or
    /// whose retry found no connection. Its bytes were given back.
    void end_without_lane(RowUnderway& row, Outcome outcome, std::int32_t sys_errno = 0);

    std::uint32_t count() const { return count_; }
    bool full() const { return count_ >= parts_.settings.inflight_max; }
    /// There is a place for one more row, and one in the ring for its end.
    bool has_place() const { return !full() && parts_.ring.has_room_for_row(); }
    /// One more row may leave: it has a place, and the token budgets let it.
    bool has_room() const { return has_place() && parts_.budgets.open(); }
    /// When the last answer ended that `--max-inflight` rows were waiting for: as it arrived, as
    /// far as that is known.
    Instant freed() const { return freed_; }
    /// Rows that are answered and have no end yet: their places and their lanes come free at once.
    std::uint32_t settling() const { return settling_; }
    /// Rows that were answered since somebody emptied this, and have no end yet.
    RowList& answered() { return answered_; }
    /// Rows that have got their end since somebody emptied this.
    RowList& ended() { return ended_; }

  private:
    void push_end(RowUnderway& row, const Event& event);

    LaneParts& parts_;
    std::uint32_t count_ = 0;
    std::uint32_t settling_ = 0;
    Instant freed_;
    RowList answered_;
    RowList ended_;
};

}  // namespace driftless
