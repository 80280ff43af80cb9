/// Trust: what a replay knows of its host before it starts, and what it says about itself in the
/// end. The wiring between calibration file, limits and verdict.
#pragma once

#include <cstdint>
#include <string>

#include "cmd/calibration_file.hpp"
#include "cmd/replay/options.hpp"
#include "cmd/replay/workload.hpp"
#include "engine/history/run_facts.hpp"
#include "engine/stats/verdict.hpp"

namespace driftless {

struct Trust {
    FoundCalibration found;
    std::int64_t chunks_per_s = 0;  ///< that the plan asks for, see `chunks_asked`
    TaintLimits limits;             ///< none without a calibration
};

/// Tokens per second that the plan asks for in its busiest 10 s of due instants, one a chunk: what
/// a server would send that keeps up. Plans shorter than that count as 10 s long.
std::int64_t chunks_asked(const Trace& trace, const Plan& plan);

/// Finds the calibration, prints what follows from it, and warns where the plan asks for more than
/// this host was measured to do.
Trust find_trust(const ReplayOptions& options, const HostFacts& host, const Workload& workload);

/// What run.json says of it.
CalibrationFacts facts_of(const Trust& trust);

}  // namespace driftless
