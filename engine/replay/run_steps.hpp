/// The steps of a run, from warm connections to closed books; the engines that it drives and the
/// host that it asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/base/time.hpp"
#include "engine/history/fired_marks.hpp"
#include "engine/history/resumed_run.hpp"
#include "engine/history/run_facts.hpp"
#include "engine/io/driver.hpp"
#include "engine/record/writer.hpp"
#include "engine/replay/run.hpp"
#include "proto/figures/summary.hpp"

namespace driftless {

/// Engines: the loops of a run, which share nothing but trace, plan and time 0. RunSteps drives
/// them as one: `cmd/replay` has a thread for each but the first, the simulator plays all of them
/// by turns.
class Engines {
  public:
    virtual ~Engines() = default;

    /// Due of the first request of all, from time 0.
    virtual std::int64_t first_due_ns() const = 0;
    /// A step towards standing connections and armed first requests. False once all have them, or
    /// cannot have them.
    virtual bool warm() = 0;
    /// Why one of them could not be set up; nothing was sent then. Empty: none failed.
    virtual bool failed() const { return false; }
    /// Time 0 is settled. As Run::begin, for all of them.
    virtual void begin(Instant zero) = 0;
    /// One turn of the loop that the caller's thread plays. False when all engines are over.
    virtual bool turn() = 0;
    /// Fires nothing more, drains, and ends as after an interruption.
    virtual void stop() = 0;
    /// Ends a run that was never begun: closes every connection, gives no row an end.
    virtual void abandon() = 0;

    /// Once all are over: requests whose turn has come, sent or not.
    virtual std::uint64_t rows_taken() const = 0;
};

/// RunHost: what the steps of a run ask of the program that runs it: folders, run.json, shared
/// memory, the writer's thread. `cmd/replay` does it for real; the simulator does it to a
/// world of its own, in which the process may die before any of these calls.
///
/// Calls come from the engine thread, in the order in which they are here. A call that returns
/// false, or nothing, refuses: the host has said why, and the order gives the run up.
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

// RunSteps: `cmd/replay` and the simulator play the steps, each by a RunHost of its own; the reason
// for their order is in README.md.
//
// It owns the writer and the segment; the loops (Engines), their parts and the host are the
// caller's and outlive it. It prints nothing and opens nothing.

/// The first row to be sent is due so long after everything is ready: run.json is written without
/// waiting for a disk (1 ms), the writer's thread starts, and the engine sleeps once before.
inline constexpr Duration time_zero_lead = milliseconds(60);
/// ... of which so much is left when run.json is written: a few slices of other programs on the
/// writer's CPU.
inline constexpr Duration time_zero_lead_min = milliseconds(30);

/// What a run is made of, beside the loop.
struct StepParts {
    /// Of the records; names the trace and the plan of this segment. The order sets `segment`.
    AssemblerConfig config;
    Summary summary;  ///< of a new run: knows its bounds, and has no record yet
    /// Run id, command and first due instant: of the first row that is to be sent, or, where there
    /// is none, the last of the run. The order counts the rows; the host reads the clocks.
    RunSegment segment;
    FiredMarks& marks;  ///< those that the first engine marks rows in; the order creates them
    const ResumedRun* resumed = nullptr;  ///< null: a new run
};

enum class OrderEnd : std::uint8_t {
    closed,      ///< every row has its record, and the books are closed
    refused,     ///< before the first row; the host, or `writer()` where it failed, says why
    broken_off,  ///< `RunHost::turned` said so
};

class RunSteps {
  public:
    RunSteps(Driver& driver, RunHost& host, StepParts parts);

    /// A run that has rows to send. `engines` are new; after `refused` all of their connections are
    /// closed.
    OrderEnd play(Engines& engines);
    /// A resumed run that has none: all had left before it was killed.
    OrderEnd play_without_rows();

    /// Null until the files are open.
    const RecordWriter* writer() const { return writer_ ? &*writer_ : nullptr; }

  private:
    bool prepare(Engines& engines);
    bool open_files();
    void open_marks();
    bool name_segment(Instant zero);
    bool settle_time_zero(Engines& engines);
    void give_up();
    void close_books(std::uint64_t rows_taken);
    const Plan& plan() const { return *parts_.config.plan; }

    Driver& driver_;
    RunHost& host_;
    StepParts parts_;
    std::optional<RecordWriter> writer_;
    bool named_ = false;  ///< run.json names the segment
};

}  // namespace driftless
