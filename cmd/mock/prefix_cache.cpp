#include "cmd/mock/prefix_cache.hpp"

#include "proto/core/check.hpp"

namespace driftless::mock {

namespace {
constexpr std::size_t cells_first = 1024;
}

PrefixCache::PrefixCache(std::size_t blocks_max)
    : blocks_max_(blocks_max), cells_(cells_first, none) {
    CHECK(blocks_max_ <= none);
}

/// The cell that holds the block, or the empty one where it belongs. Names are mixed already.
std::size_t PrefixCache::cell_of(std::uint64_t block) const {
    const std::size_t mask = cells_.size() - 1;
    std::size_t cell = block & mask;
    while (cells_[cell] != none && nodes_[cells_[cell]].block != block) {  // half of them are empty
        cell = (cell + 1) & mask;
    }
    return cell;
}

std::size_t PrefixCache::longest_prefix(std::span<const std::uint64_t> blocks) const {
    std::size_t found = 0;
    while (found < blocks.size() && cells_[cell_of(blocks[found])] != none) {
        ++found;
    }
    return found;
}

void PrefixCache::enter(std::span<const std::uint64_t> blocks) {
    for (std::size_t i = blocks.size(); i-- > 0;) {
        const std::uint32_t known = cells_[cell_of(blocks[i])];
        if (known != none) {
            unlink(known);
            link_newest(known);
        } else {
            link_newest(add(blocks[i]));
        }
    }
}

/// Puts a new block into the table, in a new node or in that of the oldest block.
std::uint32_t PrefixCache::add(std::uint64_t block) {
    std::uint32_t node = oldest_;
    if (blocks_max_ != 0 && nodes_.size() == blocks_max_) {
        empty_cell(cell_of(nodes_[node].block));
        unlink(node);
    } else {
        CHECK(nodes_.size() < none);
        node = static_cast<std::uint32_t>(nodes_.size());
        nodes_.push_back({});
        if (2 * nodes_.size() > cells_.size()) {
            grow();
        }
    }
    nodes_[node].block = block;
    cells_[cell_of(block)] = node;
    return node;
}

void PrefixCache::unlink(std::uint32_t node) {
    const Node& out = nodes_[node];
    (out.newer == none ? newest_ : nodes_[out.newer].older) = out.older;
    (out.older == none ? oldest_ : nodes_[out.older].newer) = out.newer;
}

void PrefixCache::link_newest(std::uint32_t node) {
    nodes_[node].newer = none;
    nodes_[node].older = newest_;
    (newest_ == none ? oldest_ : nodes_[newest_].newer) = node;
    newest_ = node;
}

/// Takes a block out of the table and moves up what had been pushed behind it (Knuth, 6.4 R).
void PrefixCache::empty_cell(std::size_t cell) {
    const std::size_t mask = cells_.size() - 1;
    std::size_t next = cell;
    while (true) {  // ends at the next empty cell
        cells_[cell] = none;
        do {
            next = (next + 1) & mask;
            if (cells_[next] == none) {
                return;
            }
            // An entry may move up unless its home lies cyclically in (cell, next].
        } while (((next - nodes_[cells_[next]].block) & mask) < ((next - cell) & mask));
        cells_[cell] = cells_[next];
        cell = next;
    }
}

void PrefixCache::grow() {
    std::vector<std::uint32_t> before(2 * cells_.size(), none);
    before.swap(cells_);
    for (const std::uint32_t node : before) {
        if (node != none) {
            cells_[cell_of(nodes_[node].block)] = node;
        }
    }
}

}  // namespace driftless::mock
