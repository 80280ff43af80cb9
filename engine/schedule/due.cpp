#include "engine/schedule/due.hpp"

#include <algorithm>

#include "proto/core/check.hpp"

namespace driftless {

Due due_at(const Plan& plan, std::uint32_t position) {
    CHECK(position < plan.rows.size());
    const auto row = plan.rows.begin() + position;
    const auto first = std::lower_bound(
        plan.rows.begin(), row, row->due_ns,
        [](const Planned& planned, std::int64_t due_ns) { return planned.due_ns < due_ns; });
    Due due;
    due.due_ns = row->due_ns;
    due.request = position;
    due.row = row->row;
    due.side = row->side;
    due.rank = static_cast<std::uint32_t>(row - first);
    return due;
}

}  // namespace driftless
