/// TurnEnds: when the turns of a run ended, for the rows that come after them: was a row sent
/// before a turn before it had ended? Owned by the assembler, which tells it of every end in the
/// order of the ring. Reads no clock; instants are run time, in ns from time 0.
///
/// The turns before a row are those whose answers it came after when it was recorded. Where the
/// trace says what the row waited for, they are the rows whose answers it waited for
/// (Trigger::completion); a row that was sent while an answer still came has none. Elsewhere it is
/// the row before it in its session, in the order of the trace.
///
/// All memory is taken when it is made: 12 bytes a row where the trace has sessions, 8 where it
/// only has dependencies, else none. At its end a row costs two look-ups by its index, and where
/// the trace has dependencies a binary search in them and a look-up for each of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/schedule/earlier_rows.hpp"
#include "proto/record/record.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

class TurnEnds {
  public:
    /// `plan`: the rows that are sent; of dual fire, those to this side are meant. `earlier`: of a
    /// run that is resumed, the rows that have a record, whose turns are over; else null. The trace
    /// outlives this.
    TurnEnds(const Trace& trace, const Plan& plan, const RowEnds* earlier, Side side = Side::none);

    /// Whether a row that was sent then and is over now was sent before one of the turns before it
    /// had ended; that turn may still be open. Nothing where it has none, or where the end of one
    /// is not known: that one was not selected, not sent, or lost with its segment.
    std::optional<bool> overtaken(const TraceRow& row, std::int64_t fired_ns) const;

    /// The row is over, whatever its outcome; nothing: it was not sent, or nobody knows when.
    void end(const TraceRow& row, OptionalNs ended_ns);

  private:
    void link_sessions(const Trace& trace);
    std::int64_t end_of(std::uint32_t index) const;

    const Trace& trace_;
    std::vector<std::int64_t> ended_ns_;  ///< [row index] or one of those below
    std::vector<std::uint32_t> before_;   ///< [row index] the row before it in its session

    static constexpr std::int64_t unknown = INT64_MIN;
    /// In an earlier segment: the clock of this one began anew, behind all of its instants.
    static constexpr std::int64_t long_ago = INT64_MIN + 1;
    static constexpr std::int64_t pending = INT64_MAX;  ///< later than the fire of any row
};

}  // namespace driftless
