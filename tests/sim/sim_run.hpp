/// One whole replay in virtual time: the product's plan, prompts, lanes, pacer and assembler, over
/// the simulator's world. What comes out is the JSONL, byte for byte, and the counts that the laws
/// are held against.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/record/record.hpp"
#include "proto/trace/row.hpp"
#include "tests/sim/sim_driver.hpp"

namespace driftless::sim {

struct SimOptions {
    std::uint64_t seed = 0;
    Weather weather;
    mock::CoreOptions server;
    std::uint32_t inflight_max = 64;
    std::uint32_t connections_fixed = 0;
    std::size_t body_bytes = 4 << 20;
    std::size_t ring_bytes = 1 << 20;
    double drain_share = 0.2;         ///< of the turns, after which the event ring is drained
    std::int64_t stop_at_ns = -1;     ///< run time of a first interruption; -1: never
    std::int64_t stop_again_ns = -1;  ///< and of a second one
    PromptKind prompt = PromptKind::text;
};

struct SimResult {
    std::string jsonl;
    std::vector<Record> records;
    std::uint64_t rows = 0;
    std::uint64_t bytes_delivered = 0;
    std::uint64_t bytes_in_records = 0;
    std::size_t sockets_open = 0;
    std::uint32_t ops_in_flight = 0;
    std::size_t body_bytes_held = 0;
    std::uint64_t turns = 0;
    bool ended = false;  ///< within the bound on turns
    std::vector<std::string> broken_laws;
};

/// A Mooncake-like trace: bursts on a grid, chained ids, short outputs.
Trace make_trace(std::uint64_t seed, std::uint32_t rows);

/// Weather and faults of the server drawn from the seed: some runs see few kinds, some many.
SimOptions swarm(std::uint64_t seed);

SimResult run(const Trace& trace, const SimOptions& options);

}  // namespace driftless::sim
