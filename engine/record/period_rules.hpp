/// PeriodRules: how periods.jsonl is summed up (periods.hpp). Plain values.
#pragma once

#include <cstdint>

#include "engine/stats/summary.hpp"

namespace driftless {

struct PeriodRules {
    std::int64_t length_ns = 0;  ///< `--period`; 0: there are none
    std::int64_t begin_ns = 0;   ///< of the segment, from time 0: a resumed run begins later
    GoodputLimits goodput;
    bool warms_up = false;  ///< requests of a warm-up go before those of the measurement
    OptionalNs for_ns;      ///< `--for`
};

}  // namespace driftless
