#include "engine/synth/growing_prompt.hpp"

namespace driftless {

void GrowingPrompt::begin(std::uint64_t first, std::uint64_t tokens) {
    ranges_.clear();
    blocks_ = tokens / block_size_;
    if (blocks_ > 0) {
        ranges_.push_back({first, blocks_});
    }
}

void GrowingPrompt::grow(std::uint64_t tokens, FreshIds& fresh) {
    const std::uint64_t blocks = tokens / block_size_;
    if (blocks <= blocks_) {
        return;
    }
    const std::uint64_t first = fresh.take(blocks - blocks_);
    if (!ranges_.empty() && ranges_.back().first + ranges_.back().count == first) {
        ranges_.back().count += blocks - blocks_;
    } else {
        ranges_.push_back({first, blocks - blocks_});
    }
    blocks_ = blocks;
}

void GrowingPrompt::write(std::vector<std::uint64_t>& ids) const {
    for (const Range& range : ranges_) {
        for (std::uint64_t i = 0; i < range.count; ++i) {
            ids.push_back(range.first + i);
        }
    }
}

}  // namespace driftless
