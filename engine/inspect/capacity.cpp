#include "engine/inspect/capacity.hpp"

#include <algorithm>

#include "proto/core/check.hpp"

namespace driftless {

CapacityCounter::CapacityCounter(const Trace& trace, std::uint32_t group, std::uint32_t nodes)
    : trace_block_(trace.block_size),
      group_(group),
      ceil_(trace.tail_rule == TailRule::ceil),
      recency_(nodes) {
    CHECK(trace_block_ > 0 && group_ > 0);
    sums_.block_size = trace_block_ * group_;
    hits_.reserve(nodes);  // what is not used of it takes no memory
}

/// The path's nodes at the ends of groups, and at the end of the prompt where it has a name.
void CapacityCounter::pick(const TraceRow& row, std::span<const std::uint32_t> path) {
    nodes_.clear();
    for (std::size_t end = group_; end <= path.size(); end += group_) {
        nodes_.push_back(path[end - 1]);
    }
    const std::uint64_t covered = path.size() * std::uint64_t{trace_block_};
    const bool to_the_end = ceil_ ? covered >= row.input_length : covered > row.input_length;
    if (path.size() % group_ != 0 && to_the_end) {
        nodes_.push_back(path.back());
    }
}

void CapacityCounter::add(const TraceRow& row, std::span<const std::uint32_t> path) {
    pick(row, path);
    ranks_.clear();
    recency_.ranks(nodes_, ranks_);
    const std::uint64_t size = sums_.block_size;
    for (std::size_t block = 0; block < ranks_.size(); ++block) {
        const std::size_t rank = ranks_[block];
        if (rank > hits_.size()) {
            hits_.resize(rank, 0);
        }
        const std::uint64_t begin = block * size;
        const std::uint64_t tokens =
            std::min(size, std::max<std::uint64_t>(row.input_length, begin) - begin);
        ++hits_[rank - 1];
        if (tokens < size) {
            shorts_.push_back({ranks_[block], static_cast<std::uint32_t>(size - tokens)});
        }
        sums_.hit_tokens += tokens;
    }
    sums_.hit_blocks += ranks_.size();
    sums_.references += nodes_.size();
    sums_.input_tokens += row.input_length;
    recency_.use(nodes_);
}

CapacityFigures CapacityCounter::figures() const {
    CapacityFigures figures = sums_;
    figures.distinct = recency_.size();
    std::vector<Short> shorts = shorts_;
    std::sort(shorts.begin(), shorts.end(),
              [](const Short& a, const Short& b) { return a.rank < b.rank; });
    auto missing = shorts.begin();
    CapacityPoint point;
    std::uint64_t power = 1;
    std::size_t share = 0;
    for (std::size_t rank = 1; rank <= hits_.size() && point.hit_blocks < sums_.hit_blocks;
         ++rank) {
        point.blocks = rank;
        point.hit_blocks += hits_[rank - 1];
        point.hit_tokens += hits_[rank - 1] * std::uint64_t{sums_.block_size};
        for (; missing != shorts.end() && missing->rank == rank; ++missing) {
            point.hit_tokens -= missing->missing;
        }
        const bool ideal = point.hit_blocks == sums_.hit_blocks;
        if (rank == power || ideal) {
            figures.curve.push_back(point);
            power *= rank == power ? 2 : 1;
        }
        for (; share < ideal_shares.size() &&
               static_cast<unsigned __int128>(point.hit_tokens) * 1000 >=
                   static_cast<unsigned __int128>(sums_.hit_tokens) * ideal_shares[share];
             ++share) {
            figures.blocks_for[share] = rank;
        }
    }
    return figures;
}

}  // namespace driftless
