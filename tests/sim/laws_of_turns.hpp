/// Laws of closed sessions: when a turn may leave, and what becomes of those that never may. They
/// hold of themselves where no row waits for another. Pure functions of a run's result.
#pragma once

#include <string>

#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

struct KilledRun;

/// Others go on behind it: it was answered, as far as framing tells (what its content lacks is
/// known too late), or its client gave it up.
inline bool is_answered(const Record& record) {
    return record.outcome == Outcome::abandoned ||
           (record.done_ns.has_value() && record.status == 200);
}

/// "turns wait for their parents"
std::string turns_wait(const SimResult& result);
/// "no release is lost"
std::string no_release_is_lost(const SimResult& result);
/// "failures end their trees"
std::string failures_end_trees(const SimResult& result);
/// "no turn before what its barrier names"
std::string barriers_hold(const SimResult& result);

// The same of a run that dies and goes on, in whatever segment each of them ended. What was sent
// again left when its parents had let it go before, and let others go then.
/// "turns wait over segments"
std::string turns_wait_over_segments(const KilledRun& run);
/// "no release is lost over segments"
std::string no_release_is_lost_over_segments(const KilledRun& run);
/// "failures end trees over segments"
std::string failures_end_trees_over_segments(const KilledRun& run);

}  // namespace driftless::sim
