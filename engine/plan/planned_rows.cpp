#include "engine/plan/planned_rows.hpp"

#include <algorithm>

namespace driftless {

PlannedRows::PlannedRows(const Trace& trace, const Plan& plan) {
    std::uint32_t index_max = 0;
    for (const Planned& planned : plan.rows) {
        index_max = std::max(index_max, trace.rows[planned.row].index);
    }
    positions_.assign(std::size_t{index_max} + 1, unplanned);
    for (std::uint32_t position = 0; position < plan.rows.size(); ++position) {
        positions_[trace.rows[plan.rows[position].row].index] = position;
    }
}

}  // namespace driftless
