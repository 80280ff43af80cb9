/// Laws of turns that leave before the turn before them has ended: what records say of that is what
/// their instants say. Computed from trace and records alone. Pure functions of a run's result.
#pragma once

#include <string>

#include "proto/trace/row.hpp"
#include "tests/sim/sim_run.hpp"

namespace driftless::sim {

struct KilledRun;

TurnsBefore turns_before(const Trace& trace);

/// "overtaken is what the instants say"
std::string overtaken_is_true(const SimResult& result);
/// "overtaken is what the instants say over segments", in whatever segment each turn ended.
std::string overtaken_is_true_over_segments(const KilledRun& run);

}  // namespace driftless::sim
