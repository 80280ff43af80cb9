#include "engine/inspect/block_ids.hpp"

#include <algorithm>

#include "engine/plan/prefix_set.hpp"
#include "proto/core/hash.hpp"

namespace driftless {

BlockIdCounter::BlockIdCounter(const Trace& trace, const PrefixTree& tree)
    : tree_(tree),
      one_namespace_(trace.name_spaces == 1),
      ids_(one_namespace_ ? trace.ids.numbers_end() : 0),
      block_size_(trace.block_size) {
    static_assert(sizeof(Id) == 2);
}

/// The number of the row's id at that place, in its namespace.
std::uint32_t BlockIdCounter::number_of(const TraceRow& row, const BlockIdSpan& ids,
                                        std::uint32_t at) {
    if (one_namespace_) {
        return ids.number(at);
    }
    // As in PrefixSet: an id in a namespace is what it extends the empty prefix to.
    const Numbering::Given given =
        numbers_.number_of(PrefixSet::extend(PrefixSet::start(row.name_space), ids.number(at)));
    if (given.is_new) {
        ids_.emplace_back();
    }
    return given.number;
}

void BlockIdCounter::note_first(std::uint32_t number, const Use& use) {
    Id& known = ids_[number];
    known.position = static_cast<std::uint16_t>(use.position % unused) & unused;
    if (use.position >= unused) {
        if (number >= positions_high_.size()) {
            positions_high_.resize(ids_.size(), 0);
        }
        positions_high_[number] = static_cast<std::uint16_t>(use.position / unused);
    }
    if (use.tokens < block_size_) {
        known.partial = 1;
        (void)partial_.number_of(mix64(number + golden_gamma));
        partial_tokens_.push_back(use.tokens);
    }
    if (!use.chained) {
        if (number >= before_.size()) {
            before_.resize(ids_.size(), PrefixTree::none);
        }
        before_[number] = use.before;
    }
}

std::uint32_t BlockIdCounter::first_before(std::uint32_t number) const {
    if (number < before_.size() && before_[number] != PrefixTree::none) {
        return before_[number];
    }
    const std::uint32_t before = tree_.first_before(number);
    return before < ids_.size() ? before : beginning;
}

std::uint32_t BlockIdCounter::first_position(std::uint32_t number) const {
    const std::uint32_t high = number < positions_high_.size() ? positions_high_[number] : 0;
    return high * unused + ids_[number].position;
}

std::uint32_t BlockIdCounter::first_tokens(std::uint32_t number) {
    return ids_[number].partial
               ? partial_tokens_[partial_.number_of(mix64(number + golden_gamma)).number]
               : block_size_;
}

/// One use of an id.
void BlockIdCounter::note(std::uint32_t number, const Use& use) {
    Id& known = ids_[number];
    if (known.position == unused) {
        note_first(number, use);
        return;
    }
    known.two_lengths = known.two_lengths || first_tokens(number) != use.tokens;
    known.shared = 1;
    if (use.new_prefix) {
        known.moving = known.moving || first_position(number) != use.position;
        known.joining = known.joining || first_before(number) != use.before;
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
    constexpr std::uint32_t ahead = 8;
    Use use;
    const std::uint32_t first = path.known == 0 ? 0 : path.known - 1;
    for (std::uint32_t at = first; at < count; ++at) {
        const std::uint64_t begin = std::uint64_t{at} * block_size_;
        use.tokens = static_cast<std::uint32_t>(std::min<std::uint64_t>(
            block_size_, std::max<std::uint64_t>(row.input_length, begin) - begin));
        use.position = at;
        use.new_prefix = at >= path.known;
        use.chained = one_namespace_ && at < path.chained;
        if (one_namespace_ && at + ahead < count) {
            __builtin_prefetch(&ids_[ids.number(at + ahead)]);
        }
        const std::uint32_t number = number_of(row, ids, at);
        note(number, use);
        use.before = number;
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
        figures.ids_partial += id.partial ? 1 : 0;
        figures.ids_partial_shared += id.partial && id.shared ? 1 : 0;
    }
    return figures;
}

}  // namespace driftless
