/// CapacityCounter: the hit rate of a prefix cache as a function of its size, exact for all sizes.
///
/// What is simulated, for one block size: a cache of C equal places, each for one block of a
/// prompt. A block is named by the whole prefix that it ends (its namespace and all ids up to it),
/// as prefix caches of servers name theirs. Rows come one after the other, by time. A row first
/// looks up its blocks from the first on, in the cache as the row before left it: a block hits
/// where it and all blocks before it are there. Then its blocks are used from the last to the
/// first, so that a block is always more recent than those behind it, and the least recently used
/// blocks are evicted: the end of a prompt goes before its beginning, and a cached block never
/// lacks the ones before it. A row with more blocks than C leaves its first C. So the cache of C
/// places holds the C blocks of the best ranks (recency.hpp), and block k of a row hits where its
/// rank is <= C.
///
/// Rows take no time here: what a server does while a row runs (blocks in use are not evicted,
/// answers are cached too) is left out.
///
/// A coarser block groups blocks of the trace; the last group of a prompt may be smaller, and has a
/// name of its own as the trace's last partial block has, where the trace names that one. A block
/// takes a place of the full size whatever it holds; hits in tokens count what it holds.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/inspect/recency.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

struct CapacityPoint {
    std::uint64_t blocks = 0;  ///< places of the cache
    std::uint64_t hit_blocks = 0;
    std::uint64_t hit_tokens = 0;
};

/// Shares of the ideal whose cache size is told, in per mille.
inline constexpr std::array<std::uint32_t, 4> ideal_shares = {500, 900, 990, 1000};

struct CapacityFigures {
    std::uint32_t block_size = 0;
    std::uint64_t references = 0;  ///< blocks of all prompts
    std::uint64_t distinct = 0;    ///< blocks with names of their own
    std::uint64_t input_tokens = 0;
    std::uint64_t hit_blocks = 0;  ///< of an infinite cache
    std::uint64_t hit_tokens = 0;
    /// At the powers of two, and last at the smallest size that hits as much as an infinite cache.
    std::vector<CapacityPoint> curve;
    /// The smallest sizes, in blocks, that hit `ideal_shares` of `hit_tokens`; 0 without hits.
    std::array<std::uint64_t, ideal_shares.size()> blocks_for{};
};

class CapacityCounter {
  public:
    /// `group`: blocks of the trace that make one of the cache. `nodes`: prefixes that are
    /// expected.
    CapacityCounter(const Trace& trace, std::uint32_t group, std::uint32_t nodes = 0);

    /// The rows in order, each with its path through the one tree of all counters.
    void add(const TraceRow& row, std::span<const std::uint32_t> path);

    CapacityFigures figures() const;

  private:
    void pick(const TraceRow& row, std::span<const std::uint32_t> path);

    std::uint32_t trace_block_;
    std::uint32_t group_;
    bool ceil_;
    Recency recency_;
    CapacityFigures sums_;
    /// A hit of a block that is smaller than the others.
    struct Short {
        std::uint32_t rank = 0;
        std::uint32_t missing = 0;  ///< tokens that it lacks
    };

    std::vector<std::uint32_t> hits_;   ///< [rank - 1] blocks
    std::vector<Short> shorts_;         ///< at most one a row
    std::vector<std::uint32_t> nodes_;  ///< of the row, at this block size
    std::vector<std::uint32_t> ranks_;
};

}  // namespace driftless
