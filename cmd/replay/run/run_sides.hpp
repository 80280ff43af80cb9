/// What a run does beside sending rows, on threads of their own: timed events, reading the servers'
/// own metrics, showing its own. Each step prints what fails and returns an exit code.
#pragma once

#include <sched.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cmd/replay/run/live_page.hpp"
#include "cmd/replay/run/parts.hpp"
#include "cmd/replay/run/run_events.hpp"
#include "cmd/replay/run/run_metrics.hpp"

namespace driftless {

class RunSides {
  public:
    /// `cpus`: where the threads may run.
    RunSides(const ReplayParts& parts, const cpu_set_t& cpus)
        : parts_(parts), cpus_(cpus), events_(parts), metrics_(parts) {}

    /// All probes have been answered, no row was sent, and there is no folder yet.
    int start(std::uint32_t segment);
    int open(const std::string& folder, std::uint32_t segment);
    /// Time 0 is settled; events before `from_ns` are left out.
    int begin(Instant zero, std::int64_t from_ns);
    /// How far the run is. From the writer's thread.
    void show(const Progress& progress) {
        if (page_.listens()) {
            page_.show(progress);
        }
    }
    void stop();
    /// The run is given up before its first row.
    void discard();
    /// Fills `info` with what the servers measured of themselves, earlier segments included, and,
    /// if their power is known, with the number of finished trees in the records. Call it once the
    /// run was stopped.
    void sum_up(const std::string& folder, const SummaryFigures& figures, SummaryInfo& info) const;
    /// A file could not be written.
    bool failed() const { return events_.failed() || metrics_.failed(); }

  private:
    int start_page();

    const ReplayParts& parts_;
    cpu_set_t cpus_;
    RunEvents events_;
    RunMetrics metrics_;
    LivePage page_;
};

}  // namespace driftless
