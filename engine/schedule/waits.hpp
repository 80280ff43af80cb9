/// Waits: what can be said before a closed run of the rows that wait for others. Pure functions of
/// trace and plan; which of them leaves when is the schedule's to find out.
#pragma once

#include <cstdint>

#include "engine/plan/plan.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// Assumed time per output token where needs are estimated. Nearly all servers need more, and the
/// prompt is counted as 0: more requests are open in truth, and a closed run takes longer.
inline constexpr std::int64_t token_ns_estimated = 5'000'000;

struct WaitFigures {
    std::uint64_t rows = 0;     ///< of the plan: they wait for others of it
    std::uint64_t outside = 0;  ///< of the plan: they would wait for rows that are not in it
    /// From time 0, of the rows that wait for none: the last due instant.
    std::int64_t last_due_ns = 0;
    /// From time 0: no run of this plan fires its last row before this. Recorded gaps alone, as if
    /// answers took no time.
    std::int64_t least_ns = 0;
};

/// The same rows with the instants at which they would be due if each output token took so long,
/// and a prompt no time: what a closed run may need is estimated by it.
Plan answered_in(const Trace& trace, const Plan& plan, Speed speed, std::int64_t token_ns);

WaitFigures waits_of(const Trace& trace, const Plan& plan, Speed speed);

/// In the place of `Plan::schedule_digest` where dues are decided at run time: of the rows, their
/// recorded instants and what they wait for.
std::uint64_t digest_of_waits(const Trace& trace, const Plan& plan, Speed speed);

}  // namespace driftless
