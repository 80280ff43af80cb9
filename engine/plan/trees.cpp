#include "engine/plan/trees.hpp"

#include <algorithm>
#include <numeric>

#include "engine/plan/disjoint_sets.hpp"

namespace driftless {

std::vector<std::uint32_t> roots_of_sessions(const Trace& trace) {
    std::vector<std::uint32_t> roots(trace.sessions.size());
    std::iota(roots.begin(), roots.end(), 0U);
    if (trace.dependencies.empty() || roots.empty()) {
        return roots;
    }
    DisjointSets sets(roots.size());
    std::uint32_t index_max = 0;
    for (const TraceRow& row : trace.rows) {
        index_max = std::max(index_max, row.index);
    }
    std::vector<std::uint32_t> sessions(std::size_t{index_max} + 1, no_session);  // [row index]
    for (const TraceRow& row : trace.rows) {
        sessions[row.index] = row.session;
    }
    for (const Dependency& one : trace.dependencies) {
        const bool known = one.row <= index_max && one.on <= index_max;
        if (known && sessions[one.row] != no_session && sessions[one.on] != no_session) {
            sets.join(sessions[one.row], sessions[one.on]);
        }
    }
    for (std::uint32_t session = 0; session < roots.size(); ++session) {
        roots[session] = sets.smallest_of(session);
    }
    return roots;
}

}  // namespace driftless
