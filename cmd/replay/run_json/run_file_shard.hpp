/// What run.json says of a run that is one of several: its part of the plan, and how they met.
#pragma once

#include <optional>

#include "cmd/replay/flags/options.hpp"
#include "cmd/replay/run_json/run_file.hpp"
#include "cmd/replay/workload/workload.hpp"
#include "proto/json/write.hpp"

namespace driftless {

/// `shard`: which part of the plan this process sent; null: all of it.
void write_shard(JsonWriter& json, const ShardFlags& flags,
                 const std::optional<WorkloadShare>& share);

/// `meeting`, else `earlier` (JSON), else null: the run began by itself.
void write_meeting(JsonWriter& json, const std::optional<MeetingFacts>& meeting,
                   const std::string& earlier);

}  // namespace driftless
