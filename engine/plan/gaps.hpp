/// Gaps: how long turns of closed sessions wait behind what they wait for (`--gap`, `--gap-cap`).
///
/// Pure: a trace with its dependencies as recorded in, the same trace with its dependencies
/// re-timed out. The order of the steps is fixed: the gap is derived, then capped; whoever plays it
/// divides it by the speed (engine/schedule). Which rows wait for which never changes.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/plan/plan.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// From where the gap of a turn counts.
enum class GapRule : std::uint8_t {
    end_to_start,  ///< from the end of what it waits for, as recorded
    /// The recorded distance of the two starts, less what the answer takes in this run, at least 0:
    /// a row waits for the end of the other (no delay), and for its start (the distance).
    start_to_start,
    none,  ///< a turn is due as soon as what it waits for lets it go
};

struct GapRules {
    GapRule rule = GapRule::end_to_start;
    /// Longest gap of a turn, in time of the trace; of `start_to_start` the longest distance.
    std::optional<std::int64_t> cap_ns;
};

/// Gaps above 0 between rows that are both in the plan. Sums stop at the largest int64.
struct GapFigures {
    std::uint64_t gaps = 0;
    std::uint64_t capped = 0;
    std::int64_t derived_ns = 0;  ///< their sum before the cap; of `none`: as recorded
    std::int64_t kept_ns = 0;     ///< what is left of it
};

struct RetimedTrace {
    Trace trace;
    GapFigures figures;
};

/// A turn that waits for a row of its own session joins the others that it waits for: of those only
/// the end counts under `start_to_start`. Keeps the order of the dependencies: by row, and of one
/// row as recorded, the wait for an end before that for the start of the same row.
RetimedTrace retime(const GapRules& rules, const Plan& plan, Trace trace);

}  // namespace driftless
