/// GuideLLM's distributions over time: of rates and of concurrency. Internal to the room.
#pragma once

#include <vector>

#include "engine/views/value_list.hpp"

namespace driftless {

/// Rates of events in [start, end], s: what each counts for, over half the distance between its
/// neighbours, weighted by that. Events within 0.1 ms are one.
WeightedFigures rate_distribution(std::vector<WeightedValue> times, double start, double end);

/// How many of the intervals (begin, end) were open, weighted by time.
WeightedFigures concurrency_distribution(const std::vector<WeightedValue>& intervals, double start,
                                         double end);

}  // namespace driftless
