/// CacheExcess: hits that no row of the run can have left in the cache, so that it was warm before.
///
/// The sum of all hits does not show them where the cache is smaller than the trace: what is
/// evicted makes up for them. So stretches of the run are looked at. Take the rows i to k of the
/// file, and m, the last row that was fired before those had their first tokens. In whatever order
/// the server took the rows up to m, and whatever it evicted, rows i to k hit no more than the
/// forecasts of rows i to m, since the forecast of each takes all rows before it as held. More is
/// an excess.
///
/// Fed with records in any order, those that failed included. 32 bytes a row. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "proto/record/record.hpp"

namespace driftless {

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

    std::vector<Row> rows_;
};

}  // namespace driftless
