#include "engine/plan/cache_forecast.hpp"

#include <algorithm>

#include "proto/core/hash.hpp"

namespace driftless {

CacheForecast::CacheForecast(const Trace& trace, std::uint32_t post_tokens)
    : trace_(trace), post_tokens_(post_tokens), tree_(trace) {}

/// What stands in the server's eyes for a block whose end the template's closing tokens displace: a
/// mark of how much is left of it.
std::uint64_t CacheForecast::as_served(const TraceRow& row, std::size_t block,
                                       std::uint64_t id) const {
    const std::int64_t begin = static_cast<std::int64_t>(block) * trace_.block_size;
    const std::int64_t left = std::int64_t{row.input_length} - post_tokens_ - begin;
    const std::uint64_t visible = left > 0 ? mix64(id + golden_gamma) : ~std::uint64_t{0};
    return mix64(static_cast<std::uint64_t>(left) * golden_gamma ^ visible);
}

/// How many of the blocks the closing tokens leave whole.
std::uint32_t CacheForecast::uncut_blocks(const TraceRow& row, std::size_t blocks) const {
    const std::uint32_t visible = row.input_length - std::min(row.input_length, post_tokens_);
    return std::min(static_cast<std::uint32_t>(blocks), visible / trace_.block_size);
}

std::uint32_t CacheForecast::next(const TraceRow& row) {
    const std::uint32_t size = trace_.block_size;
    if (size == 0 || row.ids_count == 0) {
        return 0;
    }
    if (trace_.copy_of(row) != copy_) {
        copy_ = trace_.copy_of(row);
        tree_ = PrefixTree(trace_);
        seen_ = PrefixSet();
    }
    const BlockIdSpan ids =
        trace_.ids_of(row).first(std::min(row.ids_count, row.input_length / size));
    const std::uint64_t usable = (row.input_length - std::uint64_t{1}) / size;
    const std::uint32_t whole = uncut_blocks(row, ids.size());
    const PrefixTree::Path path = tree_.enter(row, whole);
    std::uint64_t held = path.known;
    // A number of a prefix is as good as its ids, and is no namespace.
    std::uint64_t prefix = PrefixSet::start(
        whole == 0 ? row.name_space : std::uint64_t{1} << 32 | tree_.last_node(path));
    for (std::size_t block = whole; block < ids.size(); ++block) {
        prefix = PrefixSet::extend(prefix, as_served(row, block, ids.number(block)));
        const bool known = !seen_.insert(prefix);
        held += known && held == block ? 1 : 0;
    }
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(held, usable) * size);
}

}  // namespace driftless
