/// Runs whose truth is known: the times of B are those of A's law, times a ratio. For the unit
/// tests of cmd/reading and for comparison_truth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cmd/reading/compare_judge.hpp"

namespace driftless {

enum class Law : std::uint8_t {
    independent,  ///< lognormal, deviation 1 shared by both sides and 0.5 of each side's own
    heavy,        ///< lognormal, deviation 1.2 shared and 0.9 of its own
    series,       ///< lognormal of AR(1), deviation 0.5, of each run's own
    trees,  ///< lognormal; each tree has an intercept of 0.7 shared and 0.4 of each side's own
};
const char* name_of(Law law);

struct MadeLaw {
    Law law = Law::independent;
    std::size_t rows = 1000;
    double ratio = 1;           ///< of B's times to A's
    double noise = 1;           ///< times the deviation of each side's own
    double run_deviation = 0;   ///< of the logarithm of all times of one run
    double fails = 0;           ///< share of requests that fail in A
    double fails_more = 0;      ///< so many more fail in B
    double memory = 0.8;        ///< of `series`: exp(-1 / n) falls to 1 / e in n rows
    std::size_t tree_rows = 8;  ///< mean of a tree; sizes are lognormal with deviation 1, to 100
};

struct MadeGroups {
    std::vector<ComparedRun> a;
    std::vector<ComparedRun> b;
};

/// Runs of the same rows; ttft is the made time, one row is due each second. Same seed, same runs.
MadeGroups make_groups(const MadeLaw& law, std::size_t runs_a, std::size_t runs_b,
                       std::uint64_t seed);

/// A server of `places` that serve one request at a time, each for a lognormal time of mean 1 s;
/// those of B last `ratio` times as long. `load` 0: a closed loop that keeps every place busy; else
/// Poisson arrivals, the same for both sides, at this share of A's capacity.
struct MadeQueue {
    std::size_t rows = 2000;
    std::size_t places = 16;
    double ratio = 1;
    double load = 0;
};
MadeGroups make_queues(const MadeQueue& queue, std::uint64_t seed);

}  // namespace driftless
