/// RunHost: what the order of a run (run_order.hpp) asks of whoever runs it: folders, run.json,
/// shared memory, the writer's thread. `cmd/replay` does it for real; the simulator does it to a
/// world of its own, in which the process may die before any of these calls.
///
/// Calls come from the engine thread, in the order in which they stand here. A call that returns
/// false, or nothing, refuses: the host has said why, and the order gives the run up.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "engine/history/run_facts.hpp"
#include "engine/record/fired_marks.hpp"
#include "engine/record/writer.hpp"
#include "engine/time/instant.hpp"

namespace driftless {

class RunHost {
  public:
    virtual ~RunHost() = default;

    /// The files of the run: a new folder with empty ones, or, where it is resumed, those of its
    /// folder, continued behind their last whole lines.
    virtual std::optional<RecordSinks> open_files() = 0;
    /// New marks of that name, none of them set, for the first engine; the host makes those of the
    /// others. Empty: there are none, and the run goes on without them.
    virtual FiredMarks create_marks(const std::string& run_id, std::size_t rows) = 0;
    /// All memory is taken now: what the kernel grants the engine threads is asked for.
    virtual void settle_engine() = 0;

    /// run.json names the segment, as its last one, with a first guess at time 0, and outlives the
    /// power.
    virtual bool name_segment(const RunSegment& segment, Instant zero) = 0;
    /// Takes the name of marks away, where they have one.
    virtual void remove_marks(const std::string& run_id) = 0;
    /// Time 0 of a run whose first row, at `first_due` behind it, may be due from `ready` on: by
    /// itself as early as that. Asked again, with a later `ready`, where there was no time left.
    virtual std::optional<Instant> time_zero(Instant ready, Duration first_due) {
        return ready - first_due;
    }
    /// run.json has this time 0. Waits for no disk.
    virtual bool set_time_zero(Instant zero) = 0;

    /// Events of the run are drained into `writer` from here on.
    virtual bool start_writer(RecordWriter& writer) = 0;
    /// After each turn of the loop. False: the order is left at once, as by a process that dies.
    virtual bool turned() { return true; }
    /// No event comes any more: all are drained, and `writer` has finished.
    virtual void stop_writer(RecordWriter& writer) = 0;
    /// summary.json, and the end in run.json. All engines are over, or had nothing to send.
    virtual void close_books(const RecordWriter& writer) = 0;

    /// Of a run that was given up before its first row: takes away what `open_files` and
    /// `name_segment` made. `writer` is null where no files were opened. Never of a resumed run.
    virtual void discard(const RecordWriter* writer) = 0;
};

}  // namespace driftless
