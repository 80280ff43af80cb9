/// PromptPaths: how far the prompts of rows are the same, as a tree.
///
/// A node is where prompts part, or where one of them ends; its depth is the number of tokens from
/// the beginning of the prompt to there. What an infinite cache holds of a row is the depth of the
/// deepest node on the row's path that another row has been to. Looking that up costs a step for
/// each node that is new to the cache, and one more, however many block ids the row has: a row has
/// three nodes at most.
///
/// The template's tokens stand behind the words and displace the last of them. So two prompts that
/// are the same, those tokens included, share one node more than two of which one is longer.
///
/// A plain table, made once, before time 0, in one pass over the block ids: 8 bytes a node, 4 a row
/// of the trace, and 40 more a node meanwhile. Namespaces share nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proto/trace/row.hpp"

namespace driftless {

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

}  // namespace driftless
