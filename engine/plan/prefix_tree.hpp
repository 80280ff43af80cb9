/// PrefixTree: every distinct prefix of block ids that rows have had, each with a number.
///
/// A prefix stands for a cached block: the block whose content is at the end of it, which a prefix
/// cache can use for no other beginning. A row's prefixes that are there already are those that an
/// infinite cache would hit.
///
/// A prefix that keeps to the first predecessor of each of its ids has the number of its last id,
/// and an array of those predecessors is all that it costs: 4 bytes a distinct id. Chained ids
/// (Mooncake, Weka) need nothing else, and lie side by side. All other prefixes are numbered behind
/// those by their first use. Behind the first new one of a row all are new: such a run is an edge
/// of a tree, spelled by the ids of the row that was there first. A row adds two edges at most, 24
/// bytes each and 8 to 16 in the table, and is looked up once for each edge on its path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "proto/trace/row.hpp"

namespace driftless {

class PrefixTree {
  public:
    /// No id may be appended to the trace's while the tree is used.
    explicit PrefixTree(const Trace& trace);

    /// The prefixes of one row, or of its first blocks.
    struct Path {
        std::uint64_t ids_begin = 0;
        std::uint32_t blocks = 0;   ///< prefixes
        std::uint32_t edge = none;  ///< the last one, which may go on behind the row; `none`: array
        std::uint32_t known = 0;    ///< so many of the first were there before
        std::uint32_t chained = 0;  ///< so many of the first are in the array
    };

    Path enter(const TraceRow& row) { return enter(row, row.ids_count); }
    /// The first blocks of a row alone.
    Path enter(const TraceRow& row, std::uint32_t blocks);
    /// No row enters any more: frees what only that needs.
    void settle() {
        before_ = std::vector<std::uint32_t>();  // frees it, which `= {}` does not
        slots_ = std::vector<std::uint32_t>();
    }

    /// The numbers of the path's prefixes, shortest first. Valid until the next call.
    std::span<const std::uint32_t> nodes(const Path& path);
    /// The number of the longest prefix of a path that has blocks.
    std::uint32_t last_node(const Path& path) const;
    /// All numbers of prefixes so far are below this.
    std::uint32_t nodes_end() const { return nodes_end_; }

    /// Of an id in the array: the number of the id behind which it was first there; at the
    /// beginning of a prompt a number above those of ids.
    std::uint32_t first_before(std::uint32_t number) const { return before_[number]; }
    static constexpr std::uint32_t none = 0xFFFFFFFFu;

  private:
    /// Prefixes of `begin` + 1 to `end` ids. Number of the one that ends with the id at depth d:
    /// `node` + d - `begin`.
    struct Edge {
        std::uint64_t ids_at = 0;  ///< in `numbers_`: the beginning of a row that passes here
        std::uint32_t begin = 0;
        std::uint32_t end = 0;
        std::uint32_t node = 0;
        std::uint32_t parent = 0;  ///< `from_edge` + the edge before it, or a node of the array
    };
    static constexpr std::uint32_t from_edge = std::uint32_t{1} << 31;

    void along_first_uses(Path& path, std::uint32_t& node);
    void along_edges(Path& path, std::uint32_t node);
    std::size_t slot_of(std::uint32_t parent, std::uint32_t number) const;
    std::uint32_t first_number(const Edge& edge) const {
        return numbers_[edge.ids_at + edge.begin];
    }
    std::uint32_t add(const Edge& edge);
    void place(std::uint32_t edge);
    std::uint32_t split(std::uint32_t edge, std::uint32_t depth);
    const Edge& edge_at(const Path& path) const;

    std::span<const std::uint32_t> numbers_;
    std::vector<std::uint32_t> before_;  ///< [number of an id] its first predecessor, or `none`
    std::uint32_t roots_ = 0;            ///< a namespace's beginning is this node + its number
    std::vector<Edge> edges_;
    std::vector<std::uint32_t> slots_;  ///< edge + 1, by its parent and first id; 0: free
    std::uint32_t nodes_end_ = 0;
    std::vector<std::uint32_t> nodes_;  ///< of one row
};

}  // namespace driftless
