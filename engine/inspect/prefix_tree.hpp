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

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/inspect/numbering.hpp"
#include "engine/plan/prefix_set.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

class PrefixTree {
  public:
    /// `again`: rows will be asked for once more. That takes 4 bytes for each block of a row that
    /// leaves the array.
    enum class Keep : std::uint8_t { nothing, again };

    explicit PrefixTree(const Trace& trace, Keep keep = Keep::nothing)
        : keeps_(keep == Keep::again),
          before_(trace.name_spaces == 1 ? trace.ids.numbers_end() : 0, none),
          first_hashed_(static_cast<std::uint32_t>(before_.size())) {}

    /// The prefixes of one row, shortest first.
    struct Path {
        std::span<const std::uint32_t> nodes;  ///< valid until the next `enter`
        std::uint32_t known = 0;               ///< so many of the first were there before
        std::uint32_t chained = 0;             ///< so many of the first are in the array
    };

    Path enter(const Trace& trace, const TraceRow& row) {
        Path path{numbers_of(trace, row)};
        if (!before_.empty()) {
            along_first_uses(path);
        }
        const bool leaves = path.chained < path.nodes.size();
        if (leaves) {
            hash_from(row.name_space, path);
        }
        if (keeps_) {
            leaves_.push_back(leaves);
        }
        return path;
    }

    /// No row enters any more: frees what only that needs.
    void settle() {
        hashed_end_ = numbers_.size();
        before_ = std::vector<std::uint32_t>();
        numbers_ = {};
    }
    /// From here on `again` gives the rows that entered, from the first on.
    void rewind() { row_ = node_ = 0; }
    /// The nodes of the row's path, rows in the order in which they entered.
    std::span<const std::uint32_t> again(const Trace& trace, const TraceRow& row) {
        if (!leaves_[row_++]) {
            return numbers_of(trace, row);
        }
        node_ += row.ids_count;
        return {hashed_nodes_.data() + node_ - row.ids_count, row.ids_count};
    }

    /// All numbers of prefixes so far are below this.
    std::uint32_t nodes_end() const {
        return first_hashed_ + std::max(hashed_end_, numbers_.size());
    }

    /// Of an id in the array: the number of the id behind which it was first there, `beginning`, or
    /// `none`.
    std::uint32_t first_before(std::uint32_t number) const { return before_[number]; }
    static constexpr std::uint32_t none = 0xFFFFFFFFu;
    static constexpr std::uint32_t beginning = none - 1;  ///< predecessor of a prompt's first id

  private:
    static std::span<const std::uint32_t> numbers_of(const Trace& trace, const TraceRow& row) {
        return trace.ids.numbers().subspan(row.ids_begin, row.ids_count);
    }

    /// Follows the row while each id stands behind its first predecessor.
    void along_first_uses(Path& path) {
        std::uint32_t node = beginning;
        for (const std::uint32_t number : path.nodes) {
            std::uint32_t& before = before_[number];
            if (before != node && before != none) {
                return;
            }
            path.known += before == node ? 1 : 0;
            before = node;
            node = number;
            ++path.chained;
        }
    }

    /// Numbers the prefixes that are not in the array. Where the first of them goes on behind a
    /// node of the array, it begins with the node's number, in place of a namespace.
    void hash_from(std::uint32_t name_space, Path& path) {
        constexpr std::size_t ahead = 8;
        if (!keeps_) {
            hashed_nodes_.clear();
        }
        const auto chained = path.nodes.first(path.chained);
        hashed_nodes_.insert(hashed_nodes_.end(), chained.begin(), chained.end());
        const std::span<const std::uint32_t> numbers = path.nodes;  // as good as the ids
        prefixes_.clear();
        std::uint64_t prefix =
            PrefixSet::start(chained.empty() ? name_space : first_hashed_ + chained.back());
        for (std::size_t i = chained.size(); i < numbers.size(); ++i) {
            prefix = PrefixSet::extend(prefix, numbers[i]);
            prefixes_.push_back(prefix);
        }
        for (std::size_t i = 0; i < prefixes_.size() + 2 * ahead; ++i) {
            if (i < prefixes_.size()) {
                numbers_.fetch_slot(prefixes_[i]);
            }
            if (i >= ahead && i - ahead < prefixes_.size()) {
                numbers_.fetch_key(prefixes_[i - ahead]);
            }
            if (i >= 2 * ahead) {
                const Numbering::Given given = numbers_.number_of(prefixes_[i - 2 * ahead]);
                hashed_nodes_.push_back(first_hashed_ + given.number);
                path.known += given.is_new ? 0 : 1;
            }
        }
        path.nodes = std::span<const std::uint32_t>(hashed_nodes_).last(numbers.size());
    }

    bool keeps_;
    std::vector<std::uint32_t> before_;  ///< [number of an id] its first predecessor; or empty
    std::uint32_t first_hashed_;         ///< numbers of hashed prefixes begin here
    std::uint32_t hashed_end_ = 0;       ///< of settled ones
    Numbering numbers_;
    std::vector<std::uint64_t> prefixes_;      ///< of one row
    std::vector<std::uint32_t> hashed_nodes_;  ///< of rows that leave the array, all of their path
    std::vector<bool> leaves_;                 ///< [row, as they entered] it left the array
    std::size_t row_ = 0;
    std::size_t node_ = 0;
};

}  // namespace driftless
