/// RowTrees: which rows of a plan belong together: those of one session, and all that wait for each
/// other, as a session and its sub-agents do. A plain table, made once; 12 bytes a row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/plan/plan.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

class RowTrees {
  public:
    /// A row without a session that waits for none, and for which none waits, is a tree of its own.
    RowTrees(const Trace& trace, const Plan& plan);
    /// Each row is a tree of its own.
    static RowTrees of_single_rows(const Trace& trace, const Plan& plan);

    /// Trees are numbered in the order of their first rows in the file.
    std::uint32_t count() const { return static_cast<std::uint32_t>(begin_.size()) - 1; }
    /// Of the row at that position in the plan.
    std::uint32_t tree_of(std::uint32_t position) const { return tree_of_[position]; }
    /// Its rows, as positions in the plan, in the plan's order; at least one.
    std::span<const std::uint32_t> rows_of(std::uint32_t tree) const {
        return std::span(rows_).subspan(begin_[tree], begin_[tree + 1] - begin_[tree]);
    }

  private:
    RowTrees() = default;

    std::vector<std::uint32_t> tree_of_;  ///< [plan rows]
    std::vector<std::uint32_t> begin_;    ///< [trees + 1] into `rows_`
    std::vector<std::uint32_t> rows_;     ///< by tree
};

}  // namespace driftless
