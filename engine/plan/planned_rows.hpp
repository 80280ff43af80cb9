/// PlannedRows: where a row of the trace stands in a plan, if it was selected. A plain table, made
/// once; 4 bytes for each row of the trace.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/plan/plan.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

class PlannedRows {
  public:
    PlannedRows(const Trace& trace, const Plan& plan);

    /// Position in `Plan::rows` of the row of that `index`; nothing where it is not planned.
    std::optional<std::uint32_t> find(std::uint32_t index) const {
        const bool known = index < positions_.size() && positions_[index] != unplanned;
        return known ? std::optional(positions_[index]) : std::nullopt;
    }
    bool contains(std::uint32_t index) const { return find(index).has_value(); }

  private:
    static constexpr std::uint32_t unplanned = UINT32_MAX;
    std::vector<std::uint32_t> positions_;  ///< [row index]
};

}  // namespace driftless
