/// How much the simulator's tests try. `DRIFTLESS_SIM_SEEDS` is how many seeds a swarm runs, fewer
/// where each costs more, as under sanitizers; tests that go through every byte go in longer steps
/// then, and some repeat less. Reads the environment, keeps nothing.
#pragma once

#include "tests/std.hpp"

namespace driftless::sim {

/// `all`: without the variable.
inline std::uint64_t seeds(std::uint64_t all) {
    const char* text = std::getenv("DRIFTLESS_SIM_SEEDS");
    return text != nullptr ? std::strtoull(text, nullptr, 10) : all;
}

/// Whether fewer seeds are asked for than a swarm has.
inline bool in_short() {
    constexpr std::uint64_t swarm = 1000;
    return seeds(swarm) < swarm;
}

/// From byte to byte.
inline std::uint64_t byte_step() {
    return in_short() ? 5 : 1;
}

/// Of `all` repetitions in a test that is no swarm.
inline std::uint64_t repeats(std::uint64_t all) {
    return in_short() ? (all + 4) / 5 : all;
}

}  // namespace driftless::sim
