#include "engine/comparison/block_draws.hpp"

#include <algorithm>

#include "proto/core/check.hpp"

namespace driftless {

BlockDraws::BlockDraws(std::size_t units, std::size_t block, std::uint64_t seed)
    : block_(block), random_(seed), counts_(units, 0), steps_(block > 1 ? units + 1 : 0, 0) {
    CHECK(units > 0 && units <= UINT32_MAX && block > 0 && block <= units);
}

std::span<const std::uint32_t> BlockDraws::next() {
    if (block_ == 1) {
        draw_singly();
    } else {
        draw_blocks();
    }
    return counts_;
}

/// Two draws from each random number: the bias of 32 bits is below units / 2^32.
void BlockDraws::draw_singly() {
    std::fill(counts_.begin(), counts_.end(), 0);
    const std::uint64_t units = counts_.size();
    constexpr unsigned half = 32;
    constexpr std::uint64_t lower = 0xFFFFFFFF;
    for (std::uint64_t i = 0; i + 1 < units; i += 2) {
        const std::uint64_t bits = random_.next();
        ++counts_[(bits >> half) * units >> half];
        ++counts_[(bits & lower) * units >> half];
    }
    if (units % 2 == 1) {
        ++counts_[random_.below(units)];
    }
}

void BlockDraws::draw_blocks() {
    std::fill(steps_.begin(), steps_.end(), 0);
    const std::size_t units = counts_.size();
    for (std::size_t drawn = 0; drawn < units; drawn += block_) {
        const std::size_t length = std::min(block_, units - drawn);
        const std::size_t begin = random_.below(units);
        const std::size_t end = begin + length;
        ++steps_[begin];
        --steps_[std::min(end, units)];
        if (end > units) {  // round the corner
            ++steps_[0];
            --steps_[end - units];
        }
    }
    std::int32_t open = 0;
    for (std::size_t i = 0; i < units; ++i) {
        open += steps_[i];
        counts_[i] = static_cast<std::uint32_t>(open);
    }
}

}  // namespace driftless
