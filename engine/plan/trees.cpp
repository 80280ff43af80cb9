#include "engine/plan/trees.hpp"

#include <algorithm>
#include <numeric>

#include "engine/plan/disjoint_sets.hpp"

namespace driftless {

namespace {

/// [row index] session of each row.
std::vector<std::uint32_t> sessions_by_index(const Trace& trace) {
    std::uint32_t index_max = 0;
    for (const TraceRow& row : trace.rows) {
        index_max = std::max(index_max, row.index);
    }
    std::vector<std::uint32_t> sessions(std::size_t{index_max} + 1, no_session);
    for (const TraceRow& row : trace.rows) {
        sessions[row.index] = row.session;
    }
    return sessions;
}

}  // namespace

std::vector<std::uint32_t> roots_of_sessions(const Trace& trace) {
    std::vector<std::uint32_t> roots(trace.sessions.size());
    std::iota(roots.begin(), roots.end(), 0U);
    if (trace.dependencies.empty() || roots.empty()) {
        return roots;
    }
    DisjointSets sets(roots.size());
    const std::vector<std::uint32_t> sessions = sessions_by_index(trace);
    for (const Dependency& one : trace.dependencies) {
        const bool known = one.row < sessions.size() && one.on < sessions.size();
        if (known && sessions[one.row] != no_session && sessions[one.on] != no_session) {
            sets.join(sessions[one.row], sessions[one.on]);
        }
    }
    for (std::uint32_t session = 0; session < roots.size(); ++session) {
        roots[session] = sets.smallest_of(session);
    }
    return roots;
}

std::vector<std::uint32_t> parents_of_sessions(const Trace& trace) {
    std::vector<std::uint32_t> parents(trace.sessions.size(), no_session);
    if (trace.dependencies.empty() || parents.empty()) {
        return parents;
    }
    const std::vector<std::uint32_t> sessions = sessions_by_index(trace);
    const std::vector<std::uint32_t> roots = roots_of_sessions(trace);
    std::vector<std::uint32_t> first(parents.size(), no_row);  // [session] index of its first row
    for (std::uint32_t index = 0; index < sessions.size(); ++index) {
        if (sessions[index] != no_session && first[sessions[index]] == no_row) {
            first[sessions[index]] = index;
        }
    }
    for (const Dependency& one : trace.dependencies) {
        const bool known = one.row < sessions.size() && one.on < sessions.size();
        const std::uint32_t own = known ? sessions[one.row] : no_session;
        const std::uint32_t other = known ? sessions[one.on] : no_session;
        if (own != no_session && other != own && first[own] == one.row && roots[own] != own) {
            parents[own] = std::min(parents[own], other);  // no_session is the greatest
        }
    }
    return parents;
}

}  // namespace driftless
