/// The parts of run.json that have a story of their own. Called by run_file.cpp alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/flags/options.hpp"
#include "cmd/replay/run_file.hpp"
#include "cmd/replay/server.hpp"
#include "cmd/replay/workload.hpp"
#include "engine/server/checks.hpp"
#include "proto/figures/goodput.hpp"
#include "proto/figures/warm_cache.hpp"
#include "proto/json/write.hpp"

namespace driftless {

// A list of strings in run.json. Included by the files that write parts of it.

inline void strings(JsonWriter& json, const char* key, const std::vector<std::string>& values) {
    json.key(key).begin_array();
    for (const std::string& value : values) {
        json.string(value);
    }
    json.end_array();
}

// What run.json says of `--goodput`: the limits of the rows of no group, and of each group.

void write_goodput(JsonWriter& json, const GoodputRules& rules);

// The part of run.json that the server answered before time 0: what the preflight found, and the
// prompts that were held against its tokenizer. Called by run_file.cpp alone.

/// Key and value of `preflight`: an object, or null where there was none. `warnings` stand behind
/// its own notes.
void write_preflight(JsonWriter& json, const Server& server,
                     const std::vector<std::string>& warnings);

/// Key and value of `cache_probe`.
void write_cache_probe(JsonWriter& json, const CacheProbe& probe);

/// Key and value of `verified`: an object, or null where nothing was.
void write_verified(JsonWriter& json, const std::optional<VerifyFindings>& verified);

// What run.json says of a run that is one of several: its part of the plan, and how they met.

/// `shard`: which part of the plan this process sent; null: all of it.
void write_shard(JsonWriter& json, const ShardFlags& flags,
                 const std::optional<WorkloadShare>& share);

/// `meeting`, else `earlier` (JSON), else null: the run began by itself.
void write_meeting(JsonWriter& json, const std::optional<MeetingFacts>& meeting,
                   const std::string& earlier);

// What run.json says of those who decide at run time when a row is sent: users, and gaps behind
// answers.

/// `users`: null where there are none.
void write_users(JsonWriter& json, const UserRules& rules, const std::optional<GrowRules>& grow);

/// `abandon`: which requests their clients give up; null: none.
void write_abandon(JsonWriter& json, const std::optional<AbandonRules>& rules, std::uint64_t seed);
/// `gaps`: null where nothing waits.
void write_gaps(JsonWriter& json, const WorkloadFlags& flags,
                const std::optional<Waiting>& waiting);

/// The key `arrivals`: null where rows do not arrive at a rate.
void write_arrivals(JsonWriter& json, const WorkloadFlags& flags, const Workload& workload);

// The last part of run.json: what the end of a run adds. Called by run_file.cpp alone.

/// Key and value of `end`: an object, or null while the run has not ended.
void write_run_end(JsonWriter& json, const std::optional<RunEnd>& end);

}  // namespace driftless
