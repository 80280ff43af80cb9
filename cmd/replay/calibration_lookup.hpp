/// Calibration lookup: what a replay knows of its host before it starts: figures from a file, those
/// that it measures itself, or none; and the limits that follow from them. `--calibration`.
#pragma once

#include <cstdint>
#include <string>

#include "cmd/base/measuring.hpp"
#include "cmd/flags/options.hpp"
#include "cmd/replay/host_choice.hpp"
#include "cmd/replay/workload.hpp"
#include "engine/history/run_facts.hpp"
#include "proto/figures/client_totals.hpp"
#include "proto/figures/verdict.hpp"

namespace driftless {

/// Tokens per second that the plan asks for in its busiest 10 s of due instants, one a chunk: what
/// a server would send that keeps up. Plans shorter than that count as 10 s long.
std::int64_t chunks_asked(const Trace& trace, const Plan& plan);

/// Before anything is sent: a file that is named must be one, and `--require-certified` with a file
/// that does not hold for this host can only end in exit 6. Prints why; returns an exit code.
int check_calibration(const CalibrationFlags& flags, const EngineSetup& run,
                      const HostFacts& facts);

/// The same for a run that goes on: it keeps the calibration that it began with, and where that is
/// missing, or was made on another host, its verdict cannot be certified.
int check_calibration_again(const CalibrationFlags& flags, const std::string& folder,
                            const RunFacts& run, const HostFacts& facts);

/// Finds the calibration or measures it for up to 2 s (the calling thread is pinned as the engine
/// will be), prints what follows from it, and warns where the plan asks for more than this host was
/// measured to do. A stop ends the measuring; what is returned then means nothing. Refuses, and
/// prints why, what `check_calibration` refuses and could not yet know.
OrExit<CalibrationFacts> look_up_calibration(const CalibrationFlags& flags, bool realtime,
                                             const HostFacts& facts, const HostChoice& host,
                                             const Workload& workload);

/// Throws figures away that an earlier run has kept and this one contradicts, and says so: on
/// average its wakes were several times later than nearly all were then, though nobody else wanted
/// its CPU.
void check_kept(const CalibrationFacts& calibration, const ClientTotals& client);

}  // namespace driftless
