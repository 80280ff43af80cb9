/// IdleFigures: what caps on idle time have done. Plain values.
#pragma once

#include <cstdint>

namespace driftless {

struct IdleFigures {
    std::uint64_t tree_jumps = 0;  ///< how often dues of a tree were moved left
    std::int64_t tree_skipped_ns = 0;
    std::uint64_t system_jumps = 0;  ///< how often all dues were
    std::int64_t system_skipped_ns = 0;
};

}  // namespace driftless
