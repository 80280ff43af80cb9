/// Rehearsal: a schedule played in thought, to know what a run will need. Pure: no clock, no
/// server; each output token takes the same time, and a prompt none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/plan/plan.hpp"
#include "engine/schedule/schedule.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// The first `requests_max` requests of the schedule, by the instants at which they would be due if
/// each output token took `token_ns`. A row comes as often as it would be sent. Sums of tokens and
/// digests are those of `plan`.
Plan rehearse(const Trace& trace, const Plan& plan, Schedule schedule, std::int64_t token_ns,
              std::size_t requests_max);

}  // namespace driftless
