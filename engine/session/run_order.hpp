/// RunOrder: the order of a run, from warm connections to closed books. `cmd/replay` and the
/// simulator play it, each by a RunHost of its own; why each step stands where it does is in
/// README.md.
///
/// It owns the writer and the segment; the loops (Engines), their parts and the host are the
/// caller's and outlive it. It prints nothing and opens nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/io/driver.hpp"
#include "engine/record/fired_marks.hpp"
#include "engine/record/writer.hpp"
#include "engine/session/engines.hpp"
#include "engine/session/resumed_run.hpp"
#include "engine/session/run_host.hpp"
#include "engine/stats/summary.hpp"
#include "engine/time/instant.hpp"

namespace driftless {

/// The first row to be sent is due so long after everything is ready: run.json is written without
/// waiting for a disk (1 ms), the writer's thread starts, and the engine sleeps once before.
inline constexpr Duration time_zero_lead = milliseconds(60);
/// ... of which so much is left when run.json is written: a few slices of other programs on the
/// writer's CPU.
inline constexpr Duration time_zero_lead_min = milliseconds(30);

/// What a run is made of, beside the loop.
struct OrderParts {
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

class RunOrder {
  public:
    RunOrder(Driver& driver, RunHost& host, OrderParts parts);

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
    OrderParts parts_;
    std::optional<RecordWriter> writer_;
    bool named_ = false;  ///< run.json names the segment
};

}  // namespace driftless
