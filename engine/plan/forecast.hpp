/// Forecast: what prompts share, as sets and trees of prefixes, and what an infinite prefix cache
/// would hold of each row: in blocks of the trace, in blocks of the server, and in any order.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/plan/plan.hpp"
#include "proto/core/hash.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// PrefixSet: which prefixes of block ids have been seen, as an infinite prefix cache would know.
///
/// A prefix is one 64-bit number, chained from its namespace and ids, so that it may be asked for
/// any trace, whether its ids are chained already or name contents only. A flat table that doubles
/// at three quarters full: memory follows the number of distinct prefixes, 11 to 22 bytes each, not
/// the length of the trace. Two prefixes share a number with a probability of 2^-64 a pair.
class PrefixSet {
  public:
    /// The empty prefix of a namespace. Mixed twice, so that it never is what `extend` makes of an
    /// id: id a in namespace b would else be id b in namespace a.
    static constexpr std::uint64_t start(std::uint64_t name_space) {
        return mix64(mix64(golden_gamma + name_space) + golden_gamma);
    }
    /// The prefix one block longer.
    static constexpr std::uint64_t extend(std::uint64_t prefix, std::uint64_t id) {
        return mix64(prefix ^ mix64(id + golden_gamma));
    }

    bool contains(std::uint64_t prefix) const {
        prefix = prefix == empty ? ~empty : prefix;
        return slots_[find(prefix)] == prefix;
    }

    /// True where the prefix was new.
    bool insert(std::uint64_t prefix) {
        prefix = prefix == empty ? ~empty : prefix;
        std::size_t at = find(prefix);
        if (slots_[at] == prefix) {
            return false;
        }
        if (size_ >= slots_.size() / 4 * 3) {
            grow();
            at = find(prefix);
        }
        ++size_;
        slots_[at] = prefix;
        return true;
    }

  private:
    static constexpr std::uint64_t empty = 0;
    static constexpr std::size_t slots_min = 1024;

    /// Where the prefix is, or would go.
    std::size_t find(std::uint64_t prefix) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = static_cast<std::size_t>(prefix) & mask;
        while (slots_[at] != empty && slots_[at] != prefix) {
            at = (at + 1) & mask;
        }
        return at;
    }

    void grow() {
        const std::vector<std::uint64_t> old = std::move(slots_);
        slots_.assign(old.size() * 2, empty);
        for (const std::uint64_t prefix : old) {
            if (prefix != empty) {
                slots_[find(prefix)] = prefix;
            }
        }
    }

    std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(slots_min, empty);
    std::size_t size_ = 0;
};

/// PrefixMap: a value for each prefix that was asked for. A flat table of a fixed size, a third of
/// which stays free, with the same odds against two prefixes of one number as PrefixSet. Addresses
/// of values stay.
template <typename Value>
class PrefixMap {
  public:
    explicit PrefixMap(std::uint64_t prefixes_max)
        : keys_(std::bit_ceil(prefixes_max + prefixes_max / 2 + 2), empty), values_(keys_.size()) {}

    /// As default-made where the prefix is new.
    Value& operator[](std::uint64_t prefix) {
        prefix = prefix == empty ? ~empty : prefix;
        const std::size_t mask = keys_.size() - 1;
        std::size_t at = static_cast<std::size_t>(prefix) & mask;
        while (keys_[at] != empty && keys_[at] != prefix) {  // ends: a third of it stays empty
            at = (at + 1) & mask;
        }
        keys_[at] = prefix;
        return values_[at];
    }

  private:
    static constexpr std::uint64_t empty = 0;
    std::vector<std::uint64_t> keys_;
    std::vector<Value> values_;
};

/// Calls `visit` with each prefix of the row's first `most` blocks, shortest first, while that is
/// true. Returns for how many it was.
template <typename Visit>
std::uint32_t for_each_prefix(const Trace& trace, const TraceRow& row, std::uint32_t most,
                              Visit visit) {
    const BlockIdSpan ids = trace.ids_of(row);
    std::uint64_t prefix = PrefixSet::start(row.name_space);
    std::uint32_t block = 0;
    for (; block < std::min(most, row.ids_count); ++block) {
        prefix = PrefixSet::extend(prefix, ids[block]);
        if (!visit(prefix)) {
            break;
        }
    }
    return block;
}

/// How many block ids two rows have in common in front, in one namespace.
std::uint32_t common_blocks(const Trace& trace, const TraceRow& a, const TraceRow& b);

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

/// CacheForecast: what an infinite prefix cache would hold for each row, rows in file order.
///
/// Blocks that the template's closing tokens cut short are others than those of the trace. A prefix
/// with such blocks is one 64-bit number in a PrefixSet; all others are in the tree of prefixes.
///
/// Lives while the plan is made: memory follows the distinct blocks, and is gone
/// afterwards. Copies of a trace share no block, so that each begins with an empty cache.
class CacheForecast {
  public:
    /// For a server whose template puts `post_tokens` behind the prompt. Refers to the trace.
    CacheForecast(const Trace& trace, std::uint32_t post_tokens);

    /// Tokens that the cache holds for this row; it holds the row's blocks then.
    std::uint32_t next(const TraceRow& row);

  private:
    std::uint64_t as_served(const TraceRow& row, std::size_t block, std::uint64_t id) const;

    const Trace& trace_;
    std::uint32_t post_tokens_;
    std::uint32_t copy_ = 0;
    PrefixTree tree_;  ///< of whole blocks
    PrefixSet seen_;   ///< prefixes with others
};

// ServerForecast: what an infinite prefix cache would hold of each row in the server's own blocks,
// beside the forecast in the trace's (plan.hpp).
//
// A server hashes blocks of 16 tokens, say, where the trace names blocks of 512. It also holds the
// part of a trace's last block that two rows share: rows of 1,902 tokens that are the same share
// 1,888 of them in blocks of 16, where the trace's full blocks count 1,536. Shared are the
// template's head, whole blocks of equal ids, and of the first block that is not whole in both
// rows the shorter part of it; all where two prompts are the same. Accidental sharing (other ids
// that begin alike) is not counted.

/// Block references of the selected rows up to which it is made: it takes 18 to 36 bytes for each,
/// and for each row, while it works.
inline constexpr std::uint64_t server_forecast_ids_max = 2'000'000;

/// Tokens that stand around every prompt.
struct AroundPrompt {
    std::uint32_t pre = 0;
    std::uint32_t post = 0;
};

/// What `Plan::server_cached` is for server blocks of so many tokens (at least 1): one number for
/// each row of the trace (by its position there; 0 for those that are not selected). Rows count in
/// file order, as in the other forecast. Under dual fire it is that of one server, either of them.
/// Nothing where the plan has more references.
std::optional<std::vector<std::uint32_t>> expect_server_cached(const Trace& trace,
                                                               AroundPrompt around,
                                                               std::uint32_t server_block,
                                                               const Plan& plan);

// PromptPaths: how far the prompts of rows are the same, as a tree.
//
// A node is where prompts part, or where one of them ends; its depth is the number of tokens from
// the beginning of the prompt to there. What an infinite cache holds of a row is the depth of the
// deepest node on the row's path that another row has been to. Looking that up costs a step for
// each node that is new to the cache, and one more, however many block ids the row has: a row has
// three nodes at most.
//
// The template's tokens are behind the words and displace the last of them. So two prompts that
// are the same, those tokens included, share one node more than two of which one is longer.
//
// A plain table, made once, before time 0, in one pass over the block ids: 8 bytes a node, 4 a row
// of the trace, and 40 more a node meanwhile. Namespaces share nothing.

/// How the server counts a row's tokens.
struct ServedLengths {
    std::uint32_t least = 0;  ///< with the template's and one word a prompt has at least so many
    std::uint32_t post = 0;   ///< so many are the template's, behind the words

    std::uint32_t of(const TraceRow& row) const {
        return row.input_length > least ? row.input_length : least;
    }
};

class PromptPaths {
  public:
    /// `rows`: positions in `Trace::rows` of those that may be asked for. `shared_blocks`: [row
    /// index] so many of its first blocks are the same in each pass; may be empty.
    PromptPaths(const Trace& trace, std::span<const std::uint32_t> rows, ServedLengths lengths,
                std::span<const std::uint32_t> shared_blocks = {});

    static constexpr std::uint32_t none = 0xFFFFFFFFu;

    /// Where the prompt of that row ends: a position in `Trace::rows`. It is one of `rows`.
    std::uint32_t end_of(std::uint32_t row) const { return ends_[row]; }
    /// The node before it; `none` before the first of a namespace.
    std::uint32_t before(std::uint32_t node) const { return nodes_[node].before; }
    /// Tokens from the beginning.
    std::uint32_t tokens(std::uint32_t node) const { return nodes_[node].tokens; }
    /// All that leads to it is the same in each pass.
    bool is_shared(std::uint32_t node) const { return !shared_.empty() && shared_[node]; }
    /// All nodes are below this.
    std::uint32_t count() const { return static_cast<std::uint32_t>(nodes_.size()); }

  private:
    friend class PathBuilder;

    struct Node {
        std::uint32_t before = none;
        std::uint32_t tokens = 0;
    };

    std::vector<Node> nodes_;
    std::vector<bool> shared_;         ///< [node]; empty: none is
    std::vector<std::uint32_t> ends_;  ///< [rows of the trace]
};

/// SystemBlocks: which blocks at the begin of prompts are those of system prompt and tools, which
/// all conversations of a kind have in common, and passes through the corpus may share
/// (`--recycle-share system`).
///
/// A conversation declares how many tokens they have; its first blocks that lie wholly within are
/// meant. Where the first requests of all sessions of a tree begin with more blocks in common,
/// those are. Whatever row begins with the same blocks shares them. Source: agentic-rules.md 4.2.
///
/// Pure; one pass over the block ids of the plan's rows. Memory: 4 bytes a row, and 22 a block that
/// is shared meanwhile.
struct SystemBlocks {
    std::vector<std::uint32_t> blocks;  ///< [row index] so many of its first blocks
    std::uint64_t rows = 0;             ///< that have any
    std::uint32_t most = 0;             ///< of a row
};

SystemBlocks system_blocks(const Trace& trace, const Plan& plan);

}  // namespace driftless
