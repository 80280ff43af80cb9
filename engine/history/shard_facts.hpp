/// What run.json says of shards: of the one that a run is (`shard`, `meeting`), and of those that a
/// merged run was made of (`merged`). Read and written here; pure.
#pragma once

#include <optional>

#include "engine/history/run_facts.hpp"
#include "engine/stats/merged_run.hpp"
#include "proto/core/result.hpp"
#include "proto/json/document.hpp"
#include "proto/json/write.hpp"

namespace driftless {

/// Nothing where `shard` is null or absent. Errors: bad_json, missing, out_of_range; `doing` is the
/// key.
Result<std::optional<ShardFacts>> read_shard(JsonValue shard, JsonValue meeting);

/// The key `merged` with its object.
void write_merged(JsonWriter& json, const MergedRun& run);
/// Reads it back. Nothing where it is null or absent. Errors: as above.
Result<std::optional<MergedRun>> read_merged(JsonValue merged);

}  // namespace driftless
