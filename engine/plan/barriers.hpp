/// Barriers: turns that wait for whatever of their tree had ended, in the recording, before they
/// began (`--barrier tree`), beside their own stream and its joins.
///
/// A row waits, of each other session of its tree, for the latest row whose answer had ended when
/// it began; not for one that another row of those has waited for itself. Rows that overlapped, or
/// began at one instant, do not wait for each other. An answer without a recorded end ended where
/// it began. Any end of the other row will do, and there is no gap behind it (Trigger::over). As
/// AgentX does: aiperf src/aiperf/timing/replay_dependencies.py (agentic-rules.md 1.4, step 10).
///
/// Pure. Rows of a tree times its sessions are looked at.
#pragma once

#include <cstdint>

#include "engine/plan/plan.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

struct BarrierFigures {
    std::uint64_t waits = 0;  ///< that were added
    std::uint64_t rows = 0;   ///< that wait so
    /// Trees without: there a row waits for one that was recorded behind it, and barriers, which go
    /// by time, could make both wait for ever.
    std::uint64_t trees_out_of_order = 0;
};

struct BarredTrace {
    Trace trace;
    BarrierFigures figures;
};

/// Barriers between rows of the plan, behind the other dependencies of each row.
BarredTrace add_barriers(const Plan& plan, Trace trace);

}  // namespace driftless
