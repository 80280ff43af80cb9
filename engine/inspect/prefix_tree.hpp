/// PrefixTree: every distinct prefix of block ids that rows have had, each with a number.
///
/// A prefix stands for a cached block: the block whose content is at the end of it, which a prefix
/// cache can use for no other beginning. A row's prefixes that are there already are those that an
/// infinite cache would hit.
///
/// In a trace of one namespace, a prefix that keeps to the first predecessor of each of its ids has
/// the number of its last id, and an array of those predecessors is all that it costs: 4 bytes a
/// distinct id. Chained ids (Mooncake) need nothing else. All other prefixes are hashed, and
/// numbered by their first use behind those.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/inspect/numbering.hpp"
#include "engine/plan/prefix_set.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

class PrefixTree {
  public:
    explicit PrefixTree(const Trace& trace)
        : before_(trace.name_spaces == 1 ? trace.ids.numbers_end() : 0, none) {}

    /// The prefixes of one row, shortest first.
    struct Path {
        std::span<const std::uint32_t> nodes;  ///< valid until the next `enter`
        std::uint32_t known = 0;               ///< so many of the first were there before
    };

    Path enter(const Trace& trace, const TraceRow& row) {
        nodes_.clear();
        std::uint32_t known = 0;
        const BlockIdSpan ids = trace.ids_of(row);
        const std::size_t passed = before_.empty() ? 0 : along_first_uses(ids, known);
        // What goes on behind a node of the array begins with its number, in place of a namespace.
        std::uint64_t prefix =
            PrefixSet::start(passed == 0 ? row.name_space : first_hashed() + nodes_.back());
        for (std::size_t i = passed; i < ids.size(); ++i) {
            prefix = PrefixSet::extend(prefix, ids[i]);
            const Numbering::Given given = numbers_.number_of(prefix);
            nodes_.push_back(first_hashed() + given.number);
            known += given.is_new ? 0 : 1;
        }
        return {nodes_, known};
    }

    /// All numbers of prefixes so far are below this.
    std::uint32_t nodes_end() const { return first_hashed() + numbers_.size(); }

  private:
    static constexpr std::uint32_t none = 0xFFFFFFFFu;
    static constexpr std::uint32_t beginning = none - 1;  ///< predecessor of a prompt's first id

    std::uint32_t first_hashed() const { return static_cast<std::uint32_t>(before_.size()); }

    /// Follows the row while each id stands behind its first predecessor; gives the ids passed.
    std::size_t along_first_uses(const BlockIdSpan& ids, std::uint32_t& known) {
        std::uint32_t node = beginning;
        std::size_t i = 0;
        for (; i < ids.size(); ++i) {
            const std::uint32_t number = ids.number(i);
            std::uint32_t& before = before_[number];
            if (before != node && before != none) {
                break;
            }
            known += before == node ? 1 : 0;
            before = node;
            node = number;
            nodes_.push_back(number);
        }
        return i;
    }

    std::vector<std::uint32_t> before_;  ///< [number of an id] its first predecessor; or empty
    Numbering numbers_;
    std::vector<std::uint32_t> nodes_;
};

}  // namespace driftless
