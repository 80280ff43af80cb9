/// BlockDraws: how often each unit of a series is drawn, in circular blocks of neighbours. The same
/// seed gives the same draws, whatever is measured on them: so both sides of a comparison, and all
/// its runs, are drawn alike. Owns 8 bytes a unit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "proto/core/hash.hpp"

namespace driftless {

class BlockDraws {
  public:
    /// `units` from 1 to 2^32 - 1, `block` from 1 to `units`.
    BlockDraws(std::size_t units, std::size_t block, std::uint64_t seed);

    /// [units], in sum `units`. Valid until the next call.
    std::span<const std::uint32_t> next();

  private:
    void draw_singly();
    void draw_blocks();

    std::size_t block_;
    Random random_;
    std::vector<std::uint32_t> counts_;
    std::vector<std::int32_t> steps_;  ///< where blocks begin and end
};

}  // namespace driftless
