/// Likeness: how well a trace that was made of another one keeps what that one is.
///
/// Distributions are held against each other by their greatest distance (Kolmogorov-Smirnov: 0 for
/// equal ones, 1 at most), caches by the hit rates of LRU caches of the same sizes
/// (capacity.hpp). Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proto/core/result.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// A trace, and which rows belong together.
struct TreeTrace {
    const Trace& trace;
    std::span<const std::uint32_t> tree_of_row;  ///< [position in its rows]
};

/// Hit rates of one cache size, as shares of all prompt tokens.
struct HitRatePair {
    std::uint64_t blocks = 0;
    double before = 0;
    double after = 0;
};

struct Likeness {
    double input = 0;               ///< distance of the input lengths
    double output = 0;              ///< of the output lengths
    double gaps = 0;                ///< of the times from one row of a tree to its next
    std::uint64_t gaps_before = 0;  ///< how many; 0: no tree has two rows
    /// At five sizes, each four times the one before, up to the largest power of two that is not
    /// beyond what the trace before can use. Empty where rows have no block ids.
    std::vector<HitRatePair> curve;
    double curve_worst = 0;  ///< the greatest difference of two rates
};

/// Errors: those of `inspect_trace`.
Result<Likeness> likeness_of(const TreeTrace& before, const TreeTrace& after);

/// The greatest distance of two distributions, given by values in any order; 1 where one is empty
/// and the other is not.
double greatest_distance(std::vector<double> a, std::vector<double> b);

}  // namespace driftless
