/// BlockIdCounter: what the block ids of a trace are like, and how many of them repeat.
///
/// Chained ids name whole prefixes: each occurs at one place and behind one other id only. Ids of
/// contents alone may occur anywhere. Ids of different namespaces are different ids.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/inspect/numbering.hpp"
#include "engine/plan/prefix_tree.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

struct BlockFigures {
    std::uint64_t references = 0;   ///< ids in all rows
    std::uint64_t ids = 0;          ///< distinct ones
    std::uint64_t prefixes = 0;     ///< distinct prefixes: the blocks that a prefix cache can hold
    std::uint64_t ids_moving = 0;   ///< at more than one position
    std::uint64_t ids_joining = 0;  ///< behind more than one other id
    /// With different numbers of tokens, seen where the id ends a row or is new behind its prefix.
    std::uint64_t ids_of_two_lengths = 0;
    std::uint64_t ids_partial = 0;         ///< of partial blocks
    std::uint64_t ids_partial_shared = 0;  ///< of those, in more than one row
    /// Rows by what an infinite cache holds of their blocks. Those without any begin with a block
    /// that no row had before: so many first blocks there are.
    std::uint64_t rows_complete = 0;
    std::uint64_t rows_in_part = 0;
    std::uint64_t rows_new = 0;
    std::uint64_t rows_without_ids = 0;

    /// Whether equal ids mean equal prefixes throughout.
    bool chained() const { return ids_moving == 0 && ids_joining == 0; }
};

class BlockIdCounter {
  public:
    /// Of the rows that enter the tree, which outlives it.
    BlockIdCounter(const Trace& trace, const PrefixTree& tree);

    /// A row and its path, in the order in which the tree saw them.
    void add(const Trace& trace, const TraceRow& row, const PrefixTree::Path& path);
    BlockFigures figures() const;

  private:
    static constexpr std::uint32_t position_bits = 11;
    static constexpr std::uint32_t unused = (1U << position_bits) - 1;

    /// What the first use of an id showed, and what later uses contradicted. 2 bytes.
    struct Id {
        std::uint16_t position : position_bits = unused;  ///< modulo `unused`; or that
        std::uint16_t moving : 1 = 0;
        std::uint16_t joining : 1 = 0;
        std::uint16_t two_lengths : 1 = 0;
        std::uint16_t shared : 1 = 0;
        std::uint16_t partial : 1 = 0;  ///< its length is among `partial_tokens_`
    };
    static constexpr std::uint32_t beginning =
        PrefixTree::none - 1;  ///< before a prompt's first id

    struct Use {
        std::uint32_t before = beginning;  ///< number of the id before it
        std::uint32_t position = 0;
        std::uint32_t tokens = 0;
        bool new_prefix = false;
        bool chained = false;  ///< the tree knows what was before it
    };

    std::uint32_t number_of(const TraceRow& row, const BlockIdSpan& ids, std::uint32_t at);
    void note(std::uint32_t number, const Use& use);
    void note_first(std::uint32_t number, const Use& use);
    std::uint32_t first_before(std::uint32_t number) const;
    std::uint32_t first_position(std::uint32_t number) const;
    std::uint32_t first_tokens(std::uint32_t number);

    const PrefixTree& tree_;
    bool one_namespace_;   ///< the trace's own numbers of ids are used
    Numbering numbers_;    ///< else these
    std::vector<Id> ids_;  ///< [number]
    /// [number] the id before it, where its first use was not in the tree's array. May be short.
    std::vector<std::uint32_t> before_;
    /// [number] first position / `unused`: a row has at most 2^27 tokens, and no more ids. May be
    /// short: most traces have no long prompts.
    std::vector<std::uint16_t> positions_high_;
    Numbering partial_;  ///< ids of partial blocks
    std::vector<std::uint32_t> partial_tokens_;
    BlockFigures sums_;
    std::uint32_t block_size_ = 0;
};

}  // namespace driftless
