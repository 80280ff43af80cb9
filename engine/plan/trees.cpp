#include "engine/plan/trees.hpp"

#include <algorithm>
#include <numeric>

namespace driftless {

namespace {

/// Ends: a session never points to a later one.
std::uint32_t root_of(std::vector<std::uint32_t>& roots, std::uint32_t session) {
    while (roots[session] != session) {
        roots[session] = roots[roots[session]];
        session = roots[session];
    }
    return session;
}

}  // namespace

std::vector<std::uint32_t> roots_of_sessions(const Trace& trace) {
    std::vector<std::uint32_t> roots(trace.sessions.size());
    std::iota(roots.begin(), roots.end(), 0U);
    if (trace.dependencies.empty() || roots.empty()) {
        return roots;
    }
    std::uint32_t index_max = 0;
    for (const TraceRow& row : trace.rows) {
        index_max = std::max(index_max, row.index);
    }
    std::vector<std::uint32_t> sessions(std::size_t{index_max} + 1, no_session);  // [row index]
    for (const TraceRow& row : trace.rows) {
        sessions[row.index] = row.session;
    }
    for (const Dependency& one : trace.dependencies) {
        if (one.row > index_max || one.on > index_max || sessions[one.row] == no_session ||
            sessions[one.on] == no_session) {
            continue;
        }
        const std::uint32_t a = root_of(roots, sessions[one.row]);
        const std::uint32_t b = root_of(roots, sessions[one.on]);
        roots[std::max(a, b)] = std::min(a, b);
    }
    for (std::uint32_t session = 0; session < roots.size(); ++session) {
        roots[session] = root_of(roots, session);
    }
    return roots;
}

}  // namespace driftless
