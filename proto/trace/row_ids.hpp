/// RowIds: the block ids of the row that is being read, at the end of the trace's arena.
///
/// A format begins them, adds ids, and may cut surplus ones; adding the row keeps them, and those
/// of a row that was not added are dropped. It counts how numbers of ids go with lengths, and the
/// rows without a list, for the checks of the whole trace. Part of a TraceDraft.
#pragma once

#include <cstdint>
#include <span>

#include "proto/trace/id_counts.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

class RowIds {
  public:
    /// The arena outlives this.
    explicit RowIds(BlockIds& arena) : arena_(arena) {}

    /// Starts the ids of a row; those of a row that was not added are dropped.
    void begin() { arena_.truncate(kept_); }
    void add(std::uint64_t id) { arena_.push_back(id); }
    void add(std::span<const std::uint64_t> ids) { arena_.append(ids); }
    std::uint64_t count() const { return arena_.size() - kept_; }
    void cut(std::uint64_t count) { arena_.truncate(kept_ + count); }
    /// The ids since `begin` are this row's.
    void keep(TraceRow& row);

    /// How numbers of ids went with lengths, of rows that were refused, too.
    IdCounts& counts() { return counts_; }

    /// A row has no list of ids: its prompt is private. If other rows have one, the trace is
    /// refused.
    void note_missing(std::uint64_t line);
    std::uint64_t rows_missing() const { return rows_missing_; }
    std::uint64_t first_line_missing() const { return first_line_missing_; }

    /// After the last row: loose ids are dropped.
    void finish();

  private:
    BlockIds& arena_;
    std::uint64_t kept_ = 0;  ///< where the ids of added rows end
    std::uint64_t rows_missing_ = 0;
    std::uint64_t first_line_missing_ = 0;
    IdCounts counts_;
};

}  // namespace driftless
