/// Due: one request, and the instant at which it must be sent. A plain value that goes with the
/// request all the way to its record, so that nobody behind the schedule looks anything up.
#pragma once

#include <cstdint>

#include "engine/plan/plan.hpp"

namespace driftless {

struct Due {
    std::int64_t due_ns = 0;    ///< from time 0
    std::uint32_t request = 0;  ///< number of the sending: where each row is sent once, its
                                ///< position in the plan
    std::uint32_t row = 0;      ///< position in `Trace::rows`
    std::uint32_t rank = 0;     ///< how many requests of the same instant go before it
};
static_assert(sizeof(Due) == 24);

/// That of one row of a plan whose instants are all known, in O(log rows).
Due due_at(const Plan& plan, std::uint32_t position);

}  // namespace driftless
