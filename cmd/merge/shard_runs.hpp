/// ShardRuns: the shards of one replay as their folders tell of them, before a record is read: by
/// index, of one replay, and kept from being resumed while they are merged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/run_folder.hpp"
#include "engine/history/run_facts.hpp"

namespace driftless {

struct ShardRun {
    std::string folder;
    std::string run_json;  ///< its text
    RunFacts facts;        ///< `shard` is there
    FolderLock lock;

    std::uint32_t index() const { return facts.shard->index; }
    std::string path(const char* name) const { return folder + "/" + name; }
    std::string records_path() const {
        return facts.records_path.empty() ? path("requests.jsonl") : facts.records_path;
    }
};

/// Reads run.json of each folder, and sorts them by index. Returns the exit code; `why` says what
/// is wrong: no shard, shards of different replays, or one that still goes on.
int read_shards(const std::vector<std::string>& folders, std::vector<ShardRun>& out,
                std::string& why);

/// Why the merged run cannot be made at `out`: it would lie in one of these folders. Empty: it can.
std::string why_inside_a_shard(const std::vector<std::string>& folders, std::string out);

}  // namespace driftless
