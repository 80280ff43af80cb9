/// `driftless merge`: the runs of the shards of one replay become one run: its options; the shards,
/// the lines of their records in order, and the folder that takes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/base/exit_codes.hpp"
#include "cmd/base/program.hpp"
#include "cmd/base/run_folder.hpp"
#include "cmd/report/summary_table.hpp"
#include "engine/history/run_facts.hpp"
#include "proto/json/document.hpp"
#include "proto/run/record_lines.hpp"

namespace driftless {

/// Exit codes: 0 done, 2 usage, 3 the runs cannot be merged, 7 the host fails.
int run_merge(int argc, char** argv);

/// What the user asked of `driftless merge`. Parsing touches no file.
struct MergeCommand {
    std::vector<std::string> folders;
    std::string out;
    std::int64_t clock_error_max_ns = 0;
    bool page = true;  ///< report.html
    TableKind table = TableKind::compact;
};

struct MergeCommandLine : CommandLine {
    MergeCommand command;
};

MergeCommandLine parse_merge_options(const std::vector<std::string>& arguments);

// ShardRuns: the shards of one replay as their folders tell of them, before a record is read: by
// index, of one replay, and kept from being resumed while they are merged.

/// Why it cannot go on, and the exit code for that.
struct MergeRefusal {
    int code = exit_done;  ///< exit_done: it can
    std::string why;

    explicit operator bool() const { return code != exit_done; }
};

struct ShardRun {
    std::string folder;
    ParsedJson run;  ///< its run.json
    RunFacts facts;  ///< `shard` is there
    FolderLock lock;

    std::uint32_t index() const { return facts.shard->index; }
    std::string path(const char* name) const { return folder + "/" + name; }
    std::string records_path() const {
        return facts.records_path.empty() ? path("requests.jsonl") : facts.records_path;
    }
};

// RecordLines: the lines of the shards' requests.jsonl in the order in which their rows were due.
//
// The files are mapped, and the pages of them that were used are given back again and again; what
// stays in memory is a place of 40 bytes for each line. Of a line only the keys that order it are
// read. Owns the mappings.

/// Where a line is, and what orders it.
struct RecordLine {
    RecordOrder order;
    std::uint64_t offset = 0;  ///< in the file of its shard
    std::uint32_t bytes = 0;   ///< without the newline
    std::uint32_t place = 0;   ///< of its shard among the shards
};

class RecordLines {
  public:
    RecordLines() = default;
    ~RecordLines();
    RecordLines(const RecordLines&) = delete;
    RecordLines& operator=(const RecordLines&) = delete;

    /// Finds all lines of all shards, and orders them: by due, then row, pass, side, attempt.
    /// Returns why not: a file that cannot be read, or a row that is there twice.
    std::string find(const std::vector<ShardRun>& shards);

    const std::vector<RecordLine>& lines() const { return lines_; }
    /// Rows of a shard, by its place; a row that was sent again counts once.
    std::uint64_t rows(std::size_t place) const { return rows_[place]; }
    /// Bytes behind the last whole line of a shard.
    std::uint64_t torn(std::size_t place) const { return files_[place].torn; }
    /// If the records cannot be summed up: the first line that is not a record, with its file.
    /// Empty if all are.
    std::string first_unreadable(const std::vector<ShardRun>& shards) const;
    /// Valid as long as this is.
    std::string_view text(const RecordLine& line) const {
        return {files_[line.place].text + line.offset, line.bytes};
    }
    /// Gives back the memory of all that was read so far; it is read anew where it is wanted.
    void give_back() const;

  private:
    struct File {
        const char* text = nullptr;
        std::size_t bytes = 0;
        std::uint64_t torn = 0;
    };
    std::string map(const std::string& path);
    std::string find_in(const ShardRun& shard, std::size_t place);
    std::string check_twice(const std::vector<ShardRun>& shards);

    std::vector<File> files_;
    std::vector<RecordLine> lines_;
    std::vector<std::uint64_t> rows_;
};

/// MergedFolder: the folder of a merged run while it is written. It makes a new folder, and removes
/// it again with its contents unless `keep` is called. Records are copied unchanged; each line gets
/// the number of its shard at its end.
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

    // Each says what cannot be read or written.
    MergeRefusal write_records(const std::vector<ShardRun>& shards, const RecordLines& records);
    /// Of rows that left and have no record; the records tell of all others.
    MergeRefusal write_fired(const std::vector<ShardRun>& shards, const RecordLines& records);
    /// client.jsonl, events.jsonl, responses.jsonl: the lines of all shards, by their instants
    /// where they have any; server.jsonl: that of the first shard that read metrics.
    MergeRefusal write_others(const std::vector<ShardRun>& shards);
    MergeRefusal write_text(const char* name, const std::string& text);

  private:
    MergeRefusal write_server(const std::vector<ShardRun>& shards);
    /// A file of the lines that `fill` puts into the sink; it returns what it cannot read.
    template <typename Fill>
    MergeRefusal write_lines(const char* name, Fill fill);

    std::string path_;
    std::optional<NewFolder> folder_;
    std::vector<std::string> names_;  ///< of the files that were made
    bool is_kept_ = false;
};

}  // namespace driftless
