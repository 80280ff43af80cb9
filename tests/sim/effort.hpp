/// How much the simulator's tests try. `DRIFTLESS_SIM_SEEDS` is how many seeds a swarm runs, fewer
/// where each costs more, as under sanitizers; tests that go through every byte go in longer steps
/// then. Reads the environment, keeps nothing.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace driftless::sim {

/// `all`: without the variable.
inline std::uint64_t seeds(std::uint64_t all) {
    const char* text = std::getenv("DRIFTLESS_SIM_SEEDS");
    return text != nullptr ? std::strtoull(text, nullptr, 10) : all;
}

/// From byte to byte: 1 where nobody asks for fewer seeds than a swarm has.
inline std::uint64_t byte_step() {
    constexpr std::uint64_t swarm = 1000;
    constexpr std::uint64_t longer = 5;
    return seeds(swarm) < swarm ? longer : 1;
}

}  // namespace driftless::sim
