/// PrefixCache: which prefix blocks the server would still hold, least recently used out first.
///
/// A block is named by the 64-bit value of PromptCount, which covers everything before it. Nothing
/// is stored but the names. Within one prompt the first blocks count as used last, so that a prefix
/// is forgotten from its end. Owned by the core; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace driftless::mock {

class PrefixCache {
  public:
    /// `blocks_max` 0: without limit.
    explicit PrefixCache(std::size_t blocks_max);

    /// How many of the first blocks are present, counted up to the first one that is not.
    std::size_t longest_prefix(std::span<const std::uint64_t> blocks) const;

    /// Enters all blocks, or marks them as used now.
    void enter(std::span<const std::uint64_t> blocks);

    std::size_t size() const { return nodes_.size(); }

  private:
    static constexpr std::uint32_t none = 0xFFFFFFFFu;
    struct Node {
        std::uint64_t block = 0;
        std::uint32_t newer = none;
        std::uint32_t older = none;
    };

    std::size_t cell_of(std::uint64_t block) const;
    void unlink(std::uint32_t node);
    void link_newest(std::uint32_t node);
    std::uint32_t add(std::uint64_t block);
    void empty_cell(std::size_t cell);
    void grow();

    std::size_t blocks_max_;
    std::uint32_t newest_ = none;
    std::uint32_t oldest_ = none;
    std::vector<Node> nodes_;
    std::vector<std::uint32_t> cells_;  ///< open addressing over nodes; a power of two, half empty
};

}  // namespace driftless::mock
