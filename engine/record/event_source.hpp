/// EventSource: one engine's way to the writer, and its events as the run numbers them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/plan/shares.hpp"
#include "engine/record/event.hpp"
#include "engine/record/ring.hpp"

namespace driftless {

struct EventSource {
    EventRing* ring = nullptr;  ///< outlives the last `drain`, or `stop`
    /// [rows of that engine] their positions in the plan; null: they are the same.
    const std::vector<std::uint32_t>* positions = nullptr;
    /// Of users: its requests have numbers below this, so many for each playing of its rows; else
    /// 0.
    std::uint32_t requests_end = 0;
    /// Of the engine, to complete its samples by what the host did to it; 0: nobody looks.
    int thread_id = 0;
};

/// The event with the run's numbers: requests by positions in the plan, which has so many rows;
/// connections and users so that no two engines have one of a number. A request that the engine
/// does not have becomes UINT32_MAX.
Event numbered(const Event& event, const EventSource& engine, ShardPlace place,
               std::size_t rows_in_all);

}  // namespace driftless
