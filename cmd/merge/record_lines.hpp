/// RecordLines: the lines of the shards' requests.jsonl in the order in which their rows were due.
///
/// The files are mapped, and the pages of them that were used are given back again and again; what
/// stays in memory is a place of 40 bytes for each line. Of a line only the keys that order it are
/// read. Owns the mappings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/merge/shard_runs.hpp"
#include "proto/record/record_order.hpp"

namespace driftless {

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
    std::string_view text(const RecordLine& line) const;
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

}  // namespace driftless
