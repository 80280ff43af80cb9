/// The shards of a merged run, as a short table for people. Pure.
#pragma once

#include <string>

#include "engine/stats/summary.hpp"

namespace driftless {

/// A line for each shard; empty where the run is not merged.
std::string shards_table(const SummaryFigures& figures, const SummaryInfo& info);

}  // namespace driftless
