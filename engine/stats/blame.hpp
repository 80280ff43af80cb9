/// Blame: whose doing the tainted rows were. A row is held against the seconds of the client that
/// coincide with it: a program that had the CPU in one second excuses nothing in another. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/stats/client_totals.hpp"
#include "engine/stats/tainted.hpp"

namespace driftless {

/// Of a second, kept from the CPU: above, what was late in it may be the host's doing.
inline constexpr double taken_max = 0.1;

/// Tainted rows by whose doing they were, and what the host did in the seconds that say so.
struct Blame {
    std::uint64_t client = 0;
    std::uint64_t host = 0;
    std::uint64_t network = 0;
    double taken_share = 0;         ///< the most of such a second that others had of our CPU
    std::int64_t taken_ns = 0;      ///< and how long that was
    std::int64_t taken_engine = 0;  ///< of which engine
    std::int64_t gap_max_ns = 0;    ///< the longest stretch without the CPU, or stopped
    std::int64_t gap_engine = 0;    ///< of which engine; it can be longer than a second
};

Blame blame_of(std::span<const TaintedRow> rows, const ClientTotals& client);

}  // namespace driftless
