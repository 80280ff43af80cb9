/// CacheForecast: what an infinite prefix cache would hold for each row, rows in file order.
///
/// A prefix that keeps to the first predecessor of each of its ids is known by its last id alone:
/// an array says which predecessor that was. Traces whose ids are chained (Mooncake, Weka) need
/// nothing else, and their ids lie side by side. A prefix that leaves the array (ids of contents
/// alone, blocks that the template's closing tokens cut short) is one 64-bit number in a PrefixSet
/// from there on. Which way a prefix goes never changes once it was seen.
///
/// Lives while the plan is made: memory follows the distinct blocks, 4 bytes each in the array, and
/// is gone afterwards. Copies of a trace share no block, so that each begins with an empty cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/plan/prefix_set.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

class CacheForecast {
  public:
    /// For a server whose template puts `post_tokens` behind the prompt. Refers to the trace.
    CacheForecast(const Trace& trace, std::uint32_t post_tokens);

    /// Tokens that the cache holds for this row; it holds the row's blocks then.
    std::uint32_t next(const TraceRow& row);

  private:
    static constexpr std::uint32_t none = 0xFFFFFFFFu;

    void begin_copy(std::uint32_t copy);
    std::size_t along_first_uses(const TraceRow& row, const BlockIdSpan& ids, std::size_t cut,
                                 std::size_t& held);
    void hash_from(const TraceRow& row, const BlockIdSpan& ids, std::size_t begin,
                   std::uint32_t node);
    std::uint64_t as_served(const TraceRow& row, std::size_t block, std::uint64_t id) const;
    std::size_t uncut_blocks(const TraceRow& row, std::size_t blocks) const;

    const Trace& trace_;
    std::uint32_t post_tokens_;
    std::uint32_t copy_ = 0;
    std::vector<std::uint32_t> before_;  ///< [number of an id] its first predecessor, or `none`
    std::uint32_t node_ = 0;             ///< where `along_first_uses` stopped
    PrefixSet seen_;
    std::vector<std::uint64_t> prefixes_;  ///< scratch: of one row
};

}  // namespace driftless
