/// CacheForecast: what an infinite prefix cache would hold for each row, rows in file order.
///
/// Blocks that the template's closing tokens cut short are others than those of the trace. A prefix
/// with such blocks is one 64-bit number in a PrefixSet; all others are in the tree of prefixes.
///
/// Lives while the plan is made: memory follows the distinct blocks (prefix_tree.hpp), and is gone
/// afterwards. Copies of a trace share no block, so that each begins with an empty cache.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/plan/prefix_set.hpp"
#include "engine/plan/prefix_tree.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

class CacheForecast {
  public:
    /// For a server whose template puts `post_tokens` behind the prompt. Refers to the trace.
    CacheForecast(const Trace& trace, std::uint32_t post_tokens);

    /// Tokens that the cache holds for this row; it holds the row's blocks then.
    std::uint32_t next(const TraceRow& row);

  private:
    std::uint64_t as_served(const TraceRow& row, std::size_t block, std::uint64_t id) const;
    std::uint32_t uncut_blocks(const TraceRow& row, std::size_t blocks) const;

    const Trace& trace_;
    std::uint32_t post_tokens_;
    std::uint32_t copy_ = 0;
    PrefixTree tree_;  ///< of whole blocks
    PrefixSet seen_;   ///< prefixes with others
};

}  // namespace driftless
