/// PeriodRules: how periods.jsonl is summed up (periods.hpp). Plain values.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/record/early_stop.hpp"
#include "engine/record/grow_rules.hpp"
#include "engine/stats/summary.hpp"

namespace driftless {

struct PeriodRules {
    std::int64_t length_ns = 0;  ///< `--period`; 0: there are none
    std::int64_t begin_ns = 0;   ///< of the segment, from time 0: a resumed run begins later
    GoodputRules goodput;
    bool warms_up = false;  ///< requests of a warm-up go before those of the measurement
    OptionalNs for_ns;      ///< `--for`
    GrowRules grow;
    /// How many users there are to be: told to the engine. Not null where `grow` adds any.
    std::atomic<std::uint32_t>* users_wanted = nullptr;
    std::vector<StopRule> stop_when;
    EndedRequests ended_before;  ///< of a run that is resumed: in its earlier segments
    /// The run has to end early: told to the engine. Not null where `stop_when` has any.
    std::atomic<bool>* stop_wanted = nullptr;
};

}  // namespace driftless
