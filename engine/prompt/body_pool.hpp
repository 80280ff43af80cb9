/// BodyPool: contiguous memory for request bytes, from one region taken before the first fire.
///
/// A buddy allocator: blocks of 4 KiB times a power of two, split and merged, so that bodies of
/// very different sizes come and go for hours without the region falling to pieces. Taking and
/// giving cost O(log n) and never touch the memory itself. One thread. Full is an answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/core/result.hpp"

namespace driftless {

class BodyPool {
  public:
    BodyPool() = default;
    ~BodyPool();
    BodyPool(const BodyPool&) = delete;
    BodyPool& operator=(const BodyPool&) = delete;

    /// Reserves a region of at least `bytes` (rounded up to a power of two), and a spare block of
    /// `spare_bytes` beside it. Pages are touched as they are first used (or by settle_memory
    /// before). Errors: exhausted.
    Result<void> open(std::size_t bytes, std::size_t spare_bytes = 0);

    /// Memory for `bytes`, or nullptr where no free block is large enough now.
    char* take(std::size_t bytes);
    /// The same where others must not starve the taker: the spare block where all else fails, and
    /// it is there.
    char* take_or_spare(std::size_t bytes);
    void give(char* block);

    std::size_t region_bytes() const { return region_bytes_; }
    std::size_t used_bytes() const { return used_bytes_; }  ///< in blocks, rounding included
    std::size_t used_bytes_max() const { return used_bytes_max_; }

    static constexpr std::size_t leaf_bytes = 4096;

  private:
    static constexpr std::uint32_t none = 0xFFFFFFFFu;
    static constexpr unsigned orders_max = 32;
    static constexpr std::uint8_t not_a_head = 0xFF;

    void link(std::uint32_t leaf, unsigned order);
    void unlink(std::uint32_t leaf, unsigned order);

    char* region_ = nullptr;  ///< the spare block stands behind it
    std::size_t region_bytes_ = 0;
    std::size_t spare_bytes_ = 0;
    bool spare_taken_ = false;
    std::size_t used_bytes_ = 0;
    std::size_t used_bytes_max_ = 0;
    unsigned top_order_ = 0;
    std::uint32_t free_[orders_max];     ///< first free block of each order, by its first leaf
    std::vector<std::uint32_t> next_;    ///< [leaves] links of free blocks
    std::vector<std::uint32_t> before_;  ///< [leaves]
    std::vector<std::uint8_t> order_;    ///< [leaves] order of the block that begins here
    std::vector<bool> is_free_;          ///< [leaves] the block that begins here is free
};

}  // namespace driftless
