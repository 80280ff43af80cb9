/// MergedRun: what the shards of one replay say of themselves, for the summary of the run that
/// `driftless merge` makes of them. Plain values, as its run.json has them, and pure functions.
///
/// Each shard counts its stamps from its own time 0, and they stay as they are: how far those
/// instants lie apart is told beside them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/figures/distribution.hpp"
#include "proto/json/write.hpp"
#include "proto/run/record.hpp"

namespace driftless {

// ByShard: the rows of a merged run by the shard that played them.
//
// Fed record by record, in any order. It owns its numbers: 8 bytes a row that left. Records
// without a shard, which are those of all other runs, are not counted.

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

/// What is known of a shard's clock: it less that of shard 0, and how wrong that may be.
struct ShardClock {
    std::int64_t offset_ns = 0;
    std::int64_t error_ns = 0;
};

struct MergedShard {
    std::uint32_t index = 0;
    std::string folder;  ///< as it was given; empty: the shard is missing
    std::string run_id;
    bool ended = true;               ///< it closed its books
    std::uint64_t rows = 0;          ///< that it was to send; of a missing one not known
    std::uint64_t probes = 0;        ///< requests of its preflight
    std::uint64_t rows_later = 0;    ///< of those: that it was resumed for
    bool interrupted = false;        ///< its user stopped it
    std::string stopped_when;        ///< the condition that stopped it early; empty: none did
    std::uint64_t not_reported = 0;  ///< rows of it without a record
    std::uint64_t rows_left = 0;     ///< those of them that had been fired
    bool all_known = true;           ///< false: there may be more
    std::string verdict = "uncalibrated";
    std::vector<std::string> reasons;
    std::int64_t zero_utc_ns = 0;     ///< its time 0, by its own clock
    std::optional<ShardClock> clock;  ///< nothing: its clock was compared with none

    bool is_missing() const { return folder.empty(); }
};

struct MergedRun {
    std::uint32_t count = 0;              ///< of shards that the replay had
    std::uint64_t rows = 0;               ///< of the whole plan
    std::uint64_t rows_missing = 0;       ///< rows of the shards that are missing
    std::int64_t clock_error_max_ns = 0;  ///< `--clock-error-max`
    std::vector<MergedShard> shards;      ///< [count], by index

    /// Rows without a record, of shards that are missing or were killed.
    std::uint64_t not_reported() const;
    /// Those of them that had been fired, as far as is known; and whether there may be more.
    std::uint64_t rows_left() const;
    bool all_left_known() const;
};

/// How far the time 0 of a shard lies behind that of the first one that is there, by shard 0's
/// clock where it is known; and how wrong that may be. Nothing for missing shards.
struct ZeroDifference {
    std::int64_t ns = 0;
    OptionalNs error_ns;  ///< nothing: the clocks were not compared
};
std::optional<ZeroDifference> zero_difference(const MergedRun& run, std::size_t index);

/// "time 0 of shard 1 was 4000.000 ms after that of the first shard"; empty where no such
/// difference is known beyond the error of the clocks. `too_far`: it is beyond
/// `clock_error_max_ns`, too, so that the shards did not put their load on the servers together.
struct ZeroApart {
    std::string text;
    bool too_far = false;
};
ZeroApart zero_apart(const MergedRun& run, std::size_t index);

/// Shards that are missing or were killed, with the remedy; times 0 that lie apart, but not so far
/// that the verdict says it.
std::vector<std::string> merged_warnings(const MergedRun& run);

/// The keys "not_reported" and "shards"; 0 and null for a run that is not merged.
void write_shards(JsonWriter& json, const std::optional<MergedRun>& run,
                  const std::vector<ShardFigures>& figures);

}  // namespace driftless
