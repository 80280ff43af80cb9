#include "engine/plan/cache_forecast.hpp"

#include <algorithm>

#include "proto/core/hash.hpp"

namespace driftless {
namespace {

/// Prefixes whose slots are fetched ahead of the one that is looked up.
constexpr std::size_t fetched_ahead = 12;

}  // namespace

CacheForecast::CacheForecast(const Trace& trace, std::uint32_t post_tokens)
    : trace_(trace),
      post_tokens_(post_tokens),
      before_(trace.block_size == 0 ? 0 : trace.ids.numbers_end(), none) {
    // The beginning of each namespace is a predecessor, too.
    const std::uint64_t nodes = std::uint64_t{trace.ids.numbers_end()} + trace.name_spaces;
    if (nodes >= none) {
        before_.clear();  // no room for them: all prefixes are hashed
    }
}

/// Namespaces of copies are their own (`apply_load`).
void CacheForecast::begin_copy(std::uint32_t copy) {
    copy_ = copy;
    seen_ = PrefixSet();
    std::fill(before_.begin(), before_.end(), none);
}

/// What stands for a block in the server's eyes: its id, or, where the template's closing tokens
/// displace the end of it, a mark of how much is left of it.
std::uint64_t CacheForecast::as_served(const TraceRow& row, std::size_t block,
                                       std::uint64_t id) const {
    const std::int64_t begin = static_cast<std::int64_t>(block) * trace_.block_size;
    const std::int64_t left = std::int64_t{row.input_length} - post_tokens_ - begin;
    if (left >= std::int64_t{trace_.block_size}) {
        return id;
    }
    const std::uint64_t visible = left > 0 ? mix64(id + golden_gamma) : ~std::uint64_t{0};
    return mix64(static_cast<std::uint64_t>(left) * golden_gamma ^ visible);
}

/// How many of the blocks the closing tokens leave whole.
std::size_t CacheForecast::uncut_blocks(const TraceRow& row, std::size_t blocks) const {
    const std::uint32_t visible = row.input_length - std::min(row.input_length, post_tokens_);
    return std::min<std::size_t>(blocks, visible / trace_.block_size);
}

/// Follows the row while each id stands behind its first predecessor. Gives the number of blocks
/// passed; `held`: those that were there.
std::size_t CacheForecast::along_first_uses(const TraceRow& row, const BlockIdSpan& ids,
                                            std::size_t cut, std::size_t& held) {
    node_ = trace_.ids.numbers_end() + row.name_space;
    std::size_t block = 0;
    for (; block < cut; ++block) {
        const std::uint32_t number = ids.number(block);
        std::uint32_t& before = before_[number];
        if (before == none) {
            before = node_;
        } else if (before == node_) {
            held += held == block ? 1 : 0;
        } else {
            break;
        }
        node_ = number;
    }
    return block;
}

/// The prefixes of the blocks from `begin` on, which stand behind a node of the array.
void CacheForecast::hash_from(const TraceRow& row, const BlockIdSpan& ids, std::size_t begin,
                              std::uint32_t node) {
    prefixes_.clear();
    std::uint64_t prefix = PrefixSet::start(node);
    for (std::size_t block = begin; block < ids.size(); ++block) {
        prefix = PrefixSet::extend(prefix, as_served(row, block, ids.number(block)));
        prefixes_.push_back(prefix);
    }
}

std::uint32_t CacheForecast::next(const TraceRow& row) {
    const std::uint32_t size = trace_.block_size;
    if (size == 0 || row.ids_count == 0) {
        return 0;
    }
    if (trace_.copy_of(row) != copy_) {
        begin_copy(trace_.copy_of(row));
    }
    const BlockIdSpan ids =
        trace_.ids_of(row).first(std::min(row.ids_count, row.input_length / size));
    const std::uint64_t usable = (row.input_length - std::uint64_t{1}) / size;
    std::size_t held = 0;
    node_ = row.name_space;
    const std::size_t cut = before_.empty() ? 0 : uncut_blocks(row, ids.size());
    const std::size_t passed = before_.empty() ? 0 : along_first_uses(row, ids, cut, held);
    hash_from(row, ids, passed, node_);
    for (std::size_t i = 0; i < prefixes_.size(); ++i) {
        if (i + fetched_ahead < prefixes_.size()) {
            seen_.fetch(prefixes_[i + fetched_ahead]);
        }
        const bool known = !seen_.insert(prefixes_[i]);
        held += known && held == passed + i ? 1 : 0;
    }
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(held, usable) * size);
}

}  // namespace driftless
