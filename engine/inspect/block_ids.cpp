#include "engine/inspect/block_ids.hpp"

#include <algorithm>

#include "proto/core/hash.hpp"

namespace driftless {

/// One use of an id; its number.
std::uint32_t BlockIdCounter::note(const TraceRow& row, std::uint64_t id, const Id& use,
                                   bool new_prefix) {
    // As in PrefixSet: an id in a namespace is what it extends the empty prefix to.
    const Numbering::Given given =
        numbers_.number_of(PrefixSet::extend(PrefixSet::start(row.name_space), id));
    if (given.is_new) {
        ids_.push_back(use);
        return given.number;
    }
    Id& known = ids_[given.number];
    known.two_lengths = known.two_lengths || known.tokens != use.tokens;
    known.shared = true;
    if (new_prefix) {
        known.moving = known.moving || known.position != use.position;
        known.joining = known.joining || known.before != use.before;
    }
    return given.number;
}

void BlockIdCounter::add(const Trace& trace, const TraceRow& row, const PrefixTree::Path& path) {
    const auto ids = trace.ids_of(row);
    const auto count = static_cast<std::uint32_t>(ids.size());
    block_size_ = trace.block_size;
    sums_.references += count;
    sums_.prefixes += count - path.known;
    sums_.rows_without_ids += count == 0 ? 1 : 0;
    sums_.rows_complete += count > 0 && path.known == count ? 1 : 0;
    sums_.rows_in_part += path.known > 0 && path.known < count ? 1 : 0;
    sums_.rows_new += count > 0 && path.known == 0 ? 1 : 0;
    // A prefix that was there says nothing new about its ids, but the last may be cut shorter. The
    // id before the first new one is looked up for its number.
    std::uint32_t before = none;
    const std::uint32_t first = path.known == 0 ? 0 : path.known - 1;
    for (std::uint32_t at = first; at < count; ++at) {
        const std::uint64_t begin = std::uint64_t{at} * block_size_;
        const auto tokens = static_cast<std::uint32_t>(std::min<std::uint64_t>(
            block_size_, std::max<std::uint64_t>(row.input_length, begin) - begin));
        before = note(row, ids[at], {at, before, tokens}, at >= path.known);
    }
}

BlockFigures BlockIdCounter::figures() const {
    BlockFigures figures = sums_;
    figures.ids = ids_.size();
    for (const Id& id : ids_) {
        figures.ids_moving += id.moving ? 1 : 0;
        figures.ids_joining += id.joining ? 1 : 0;
        figures.ids_of_two_lengths += id.two_lengths ? 1 : 0;
        figures.ids_partial += id.tokens < block_size_ ? 1 : 0;
        figures.ids_partial_shared += id.tokens < block_size_ && id.shared ? 1 : 0;
    }
    return figures;
}

}  // namespace driftless
