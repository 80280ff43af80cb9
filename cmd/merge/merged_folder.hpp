/// MergedFolder: the folder of a merged run while it is written. It makes a new folder, and removes
/// it again with its contents unless `keep` is called. Records are copied unchanged; each line gets
/// the number of its shard at its end.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cmd/merge/record_lines.hpp"
#include "cmd/merge/shard_runs.hpp"
#include "cmd/run_folder.hpp"

namespace driftless {

class MergedFolder {
  public:
    explicit MergedFolder(std::string path) : path_(std::move(path)) {}
    ~MergedFolder();
    MergedFolder(const MergedFolder&) = delete;
    MergedFolder& operator=(const MergedFolder&) = delete;

    /// Prints what is in the way. Returns the exit code.
    int take();
    const std::string& path() const { return path_; }
    /// What is in it stays.
    void keep() { is_kept_ = true; }

    // Each returns the exit code, and in `why` what cannot be read or written.
    int write_records(const std::vector<ShardRun>& shards, const RecordLines& records,
                      std::string& why);
    /// Of rows that left and have no record; the records tell of all others.
    int write_fired(const std::vector<ShardRun>& shards, const RecordLines& records,
                    std::string& why);
    /// client.jsonl, events.jsonl, responses.jsonl: the lines of all shards, by their instants
    /// where they have any; server.jsonl: that of the first shard that read metrics.
    int write_others(const std::vector<ShardRun>& shards, std::string& why);
    int write_text(const char* name, const std::string& text, std::string& why);

  private:
    int write_server(const std::vector<ShardRun>& shards, std::string& why);
    std::string file(const char* name);

    std::string path_;
    std::optional<NewFolder> folder_;
    std::vector<std::string> names_;  ///< of the files that were made
    bool is_kept_ = false;
};

}  // namespace driftless
