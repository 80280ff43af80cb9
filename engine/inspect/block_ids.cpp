#include "engine/inspect/block_ids.hpp"

#include <algorithm>

#include "proto/core/hash.hpp"

namespace driftless {

BlockIdCounter::BlockIdCounter(const Trace& trace)
    : one_namespace_(trace.name_spaces == 1),
      ids_(one_namespace_ ? trace.ids.numbers_end() : 0),
      block_size_(trace.block_size) {
    static_assert(sizeof(Id) == 12);
}

/// The number of the row's id at that place, in its namespace.
std::uint32_t BlockIdCounter::number_of(const TraceRow& row, const BlockIdSpan& ids,
                                        std::uint32_t at) {
    if (one_namespace_) {
        return ids.number(at);
    }
    // As in PrefixSet: an id in a namespace is what it extends the empty prefix to.
    const Numbering::Given given =
        numbers_.number_of(PrefixSet::extend(PrefixSet::start(row.name_space), ids[at]));
    if (given.is_new) {
        ids_.emplace_back();
    }
    return given.number;
}

/// One use of an id.
void BlockIdCounter::note(std::uint32_t number, const Id& use, bool new_prefix) {
    Id& known = ids_[number];
    if (known.position == unused) {
        known = use;
        return;
    }
    known.two_lengths = known.two_lengths || known.tokens != use.tokens;
    known.shared = 1;
    if (new_prefix) {
        known.moving = known.moving || known.position != use.position;
        known.joining = known.joining || known.before != use.before;
    }
}

void BlockIdCounter::add(const Trace& trace, const TraceRow& row, const PrefixTree::Path& path) {
    const auto ids = trace.ids_of(row);
    const auto count = static_cast<std::uint32_t>(ids.size());
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
        Id use;
        use.before = before;
        use.position = at & unused;
        use.tokens = tokens;
        before = number_of(row, ids, at);
        note(before, use, at >= path.known);
    }
}

BlockFigures BlockIdCounter::figures() const {
    BlockFigures figures = sums_;
    for (const Id& id : ids_) {
        if (id.position == unused) {
            continue;
        }
        ++figures.ids;
        figures.ids_moving += id.moving ? 1 : 0;
        figures.ids_joining += id.joining ? 1 : 0;
        figures.ids_of_two_lengths += id.two_lengths ? 1 : 0;
        figures.ids_partial += id.tokens < block_size_ ? 1 : 0;
        figures.ids_partial_shared += id.tokens < block_size_ && id.shared ? 1 : 0;
    }
    return figures;
}

}  // namespace driftless
