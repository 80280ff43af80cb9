/// ByShard: the rows of a merged run by the shard that played them.
///
/// Fed record by record, in any order. It owns its numbers: 8 bytes a row that left. Records
/// without a shard, which are those of all other runs, are not counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/stats/distribution.hpp"
#include "proto/record/record.hpp"

namespace driftless {

struct ShardFigures {
    std::uint32_t index = 0;
    std::uint64_t records = 0;
    std::uint64_t completed = 0;
    std::uint64_t tainted = 0;
    Distribution drift;  ///< ns, of the rows that `drift_ns` of the summary counts
};

class ByShard {
  public:
    void add(const Record& record);
    /// By index; a shard without a record is not there.
    std::vector<ShardFigures> figures() const;

  private:
    struct One {
        ShardFigures figures;
        Sample drift;
    };
    One& of(std::uint32_t index);

    std::vector<One> shards_;  ///< by index
};

}  // namespace driftless
