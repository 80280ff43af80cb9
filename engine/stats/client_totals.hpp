/// ClientTotals: the sums over the samples of a run (one a second), for the verdict and the
/// summary. Fed in any order; can be rebuilt from `client.jsonl`. It judges nothing.
#pragma once

#include <cstdint>

#include "engine/record/client_sample.hpp"

namespace driftless {

/// How the engine thread spent a second, as shares of it.
struct BusySecond {
    std::int64_t from_ns = 0;  ///< as the sample gives it
    double busy = 0;           ///< firing, receiving, preparing
    double taken = 0;          ///< kept from the CPU: run-queue delay and steal
    std::int64_t chunks = 0;
};

struct ClientTotals {
    std::uint64_t seconds = 0;
    BusySecond busiest;  ///< by `busy`
    double taken_max = 0;
    std::int64_t chunks = 0;
    std::int64_t chunks_per_s_max = 0;
    std::int64_t dropped_payloads = 0;
    std::int64_t dropped_entries = 0;
    std::int64_t no_buffers = 0;
    std::int64_t overflows = 0;
    std::int64_t late_arms = 0;
    std::int64_t missing_lanes = 0;
    std::int64_t slow_connects = 0;  ///< a lost SYN costs a second
    std::int64_t spin_gaps = 0;
    std::int64_t spin_gap_max_ns = 0;
    std::int64_t turn_max_ns = 0;
    std::int64_t run_delay_ns = 0;
    std::int64_t steal_ns = 0;
    std::int64_t involuntary_switches = 0;
    std::int64_t major_faults = 0;

    void add(const ClientSample& sample);
};

}  // namespace driftless
