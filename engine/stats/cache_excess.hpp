/// CacheExcess: hits that no row of the run can have left in the cache, so that it was warm before.
///
/// The sum of all hits does not show them where the cache is smaller than the trace: blocks that
/// are evicted at the end hide those that were there at the beginning. So each stretch of rows is
/// looked at by itself, rows i to k of the file. Let m be the last row that left before all of
/// these had their first token: the server has seen no row behind it by then. Each forecast assumes
/// that every row before is in the cache. So rows i to k cannot hit more than the forecasts of rows
/// i to m in sum, in whatever order the server took them and whatever it evicted. What they hit
/// beyond that is the excess.
///
/// Takes records in any order, those of failed rows too. 32 bytes a row. Pure.
#pragma once

#include <cstdint>
#include <deque>

#include "proto/record/record.hpp"

namespace driftless {

/// Two prompts may begin with so many equal tokens by accident; a server with small blocks hits
/// them.
inline constexpr std::uint64_t alike_tokens_max = 16;
/// A server with smaller blocks than the trace also hits a part of the block behind the last whole
/// one that is shared. Mooncake's 512 is the largest block of the known formats.
inline constexpr std::uint64_t trace_block_max = 512;

class CacheExcess {
  public:
    /// `template_pre`: tokens before every prompt, which all rows share.
    void add(const Record& record, std::uint64_t template_pre);
    /// Tokens of the stretch that has the most; 0 where none has any. Sorts a copy.
    std::uint64_t tokens() const;

  private:
    struct Row {
        std::uint32_t row;
        std::uint32_t cached;    ///< tokens; 0 where the server does not say
        std::uint32_t forecast;  ///< tokens at most
        std::int64_t fired_ns;
        std::int64_t seen_ns;  ///< its prompt had been looked up by then
    };

    std::deque<Row> rows_;
};

}  // namespace driftless
