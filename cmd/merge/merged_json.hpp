/// The run.json of a merged run: that of its first shard, except for what all shards make up
/// together. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/merge/shard_runs.hpp"
#include "engine/stats/judge_merged.hpp"
#include "engine/stats/merged_run.hpp"

namespace driftless {

/// A run with shards that are missing or were killed has no `end`.
std::string merged_run_json(const std::vector<ShardRun>& shards, const MergedRun& merged,
                            std::uint64_t records, const Judgement& verdict);

}  // namespace driftless
