/// Breakdowns: figures of the parts of a run: by server, by the sides of dual fire, by tree; and
/// what the shards of a merged run say of themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "proto/figures/distribution.hpp"
#include "proto/figures/server_counts.hpp"
#include "proto/json/write.hpp"
#include "proto/run/record.hpp"

namespace driftless {

/// A number of tokens; 0 where it is not known, or below 0.
inline std::uint64_t token_count(const OptionalNs& tokens) {
    return tokens.value_or(0) > 0 ? static_cast<std::uint64_t>(*tokens) : 0;
}
/// Tokens of a prompt as the server counted them, else as recorded; 0: neither.
inline std::int64_t prompt_tokens_of(const Record& record) {
    return record.prompt_tokens.value_or(std::int64_t{record.input_length.value_or(0)});
}

/// What counts of a request's times, ns: the TTFT where `counts_ttft`, the others where it is ok.
struct CountedTimes {
    OptionalNs ttft_ns;
    OptionalNs ttft_due_ns;
    std::optional<double> tpot_ns;
    OptionalNs e2e_ns;
};
CountedTimes counted_times(const Record& record);

/// Those of many requests. Owns 8 bytes a time.
class TimeSamples {
  public:
    void add(const CountedTimes& times);
    /// Sets `ttft`, `tpot`, `e2e`, and `ttft_due` where it has one.
    template <typename Figures>
    void put(Figures& out) const {
        out.ttft = ttft_.distribution();
        out.tpot = tpot_.distribution();
        out.e2e = e2e_.distribution();
        if constexpr (requires { out.ttft_due; }) {
            out.ttft_due = ttft_due_.distribution();
        }
    }

  private:
    Sample ttft_;
    Sample ttft_due_;
    Sample tpot_;
    Sample e2e_;
};

// ByUrl: the rows of a run by the server that they were sent to.
//
// Fed record by record, in any order. It owns its numbers: 8 bytes a row that is ok. Rows that
// left for no server, in a run with several, have no URL and are not counted.

struct UrlFigures {
    std::string url;
    std::uint64_t rows = 0;  ///< records that name it
    std::uint64_t completed = 0;
    std::uint64_t failed = 0;  ///< sent, and neither ok nor of another length
    Distribution ttft;         ///< ns, of rows that are ok
    std::uint64_t cached_tokens = 0;
    PromptFigures prompts;  ///< the server's counts against the trace
};

/// Where the prompts that are off went, if servers differ in it: their URLs, with the remedy. Empty
/// where they do not differ.
std::string explain_by_url(const std::vector<UrlFigures>& urls);

class ByUrl {
  public:
    explicit ByUrl(Overhead overhead = {}) : overhead_(overhead) {}

    void add(const Record& record);
    /// By URL: the order of the records must not show.
    std::vector<UrlFigures> figures() const;

  private:
    struct One {
        explicit One(Overhead overhead) : prompts(overhead) {}
        UrlFigures figures;
        Sample ttft;
        PromptCounts prompts;
    };

    Overhead overhead_;
    std::map<std::string, One, std::less<>> urls_;
};

// SideFigures: the two sides of a dual-fire run beside each other, and the rows that both
// answered, pair by pair.
//
// Fed record by record, in any order. It owns its numbers: 48 bytes a request that is ok, and 24 a
// row of which one side has a record and the other has none yet. Records without a side, and those
// of a warm-up, are not counted. It judges nothing: whether a difference is more than chance is
// `compare`'s.

/// What one server did with its copy of the rows.
struct OneSideFigures {
    std::string url;                           ///< empty: no record of it
    std::uint64_t requests = 0;                ///< records
    std::uint64_t completed = 0;               ///< ok
    std::uint64_t failed = 0;                  ///< not answered whole; of those not sent, too
    Distribution ttft;                         ///< ns, as those of the whole run
    Distribution tpot;                         ///< ns
    Distribution e2e;                          ///< ns
    Distribution drift;                        ///< ns, but for requests that the user had held back
    std::uint64_t cache_rows = 0;              ///< that reported their hits
    std::uint64_t expected_cached_tokens = 0;  ///< of those, where all are foretold
    std::uint64_t cache_rows_unforetold = 0;
    std::uint64_t cached_tokens = 0;  ///< of those
};

/// Rows whose requests to both sides have a TTFT; ns, b less a.
struct PairFigures {
    Distribution ttft;     ///< of all of them
    Distribution a_first;  ///< of those that left to a first
    Distribution b_first;
    std::uint64_t unpaired = 0;  ///< rows of which a side has no record, or no TTFT
};

struct SideFigures {
    OneSideFigures a;
    OneSideFigures b;
    PairFigures pairs;
};

class BySide {
  public:
    void add(const Record& record);
    /// Nothing where no record has a side.
    std::optional<SideFigures> figures() const;

  private:
    struct One {
        OneSideFigures figures;
        TimeSamples times;
        Sample drift;
    };
    /// What the first record of a row leaves for the second.
    struct Half {
        OptionalNs ttft_ns;
        std::int64_t fired_ns = 0;
    };
    void add_pair(const Record& record);
    void add_one(One& one, const Record& record);

    One a_;
    One b_;
    std::unordered_map<std::uint32_t, Half> waiting_;  ///< by row: the other side is to come
    Sample differences_;
    Sample a_first_;
    Sample b_first_;
    std::uint64_t unpaired_ = 0;
};

/// The block `sides` of summary.json.
void put_value(JsonWriter& json, const SideFigures& sides);

// TreeFigures: what became of the trees of a run: the sessions that wait for each other, as a
// conversation and its sub-agents do. A tree that was answered whole is a job. Owns 24 bytes a
// request and about 200 a tree; reads no clock.

struct TreeTotals {
    std::uint64_t trees = 0;
    std::uint64_t finished = 0;    ///< every request of it was answered whole, in the end
    std::uint64_t failed = 0;      ///< a request of it failed
    std::uint64_t unfinished = 0;  ///< cut off, given up or not sent to its end
    std::uint64_t rows_alone = 0;  ///< requests of no session: they are in no tree
    std::uint64_t users = 0;       ///< that played them; 0: the run had none
    // Of finished trees; s and tokens.
    Distribution duration_s;  ///< from the first fire to the last end
    Distribution turns;       ///< requests
    Distribution answer_s;    ///< some request of it was in flight
    Distribution gap_s;       ///< none was
    Distribution computed;    ///< prompt tokens that no cache had, where the server tells
    Distribution cached;
    Distribution output;  ///< where it was counted
    /// Finished trees per hour of the run; nothing where its time is 0.
    std::optional<double> jobs_per_hour;
    std::optional<double> jobs_per_hour_per_user;
    std::optional<double> joules_per_tree;  ///< of finished ones; set by who knows the energy
};

class TreeFigures {
  public:
    void add(const Record& record);
    TreeTotals totals(std::int64_t duration_ns) const;

  private:
    struct Tree {
        std::vector<std::pair<std::int64_t, std::int64_t>> flights;  ///< fired, ended
        std::set<std::uint32_t> whole;                               ///< rows
        std::set<std::uint32_t> not_whole;
        bool failed = false;
        bool cache_known = true;
        bool output_known = true;
        double computed = 0;
        double cached = 0;
        double output = 0;
    };
    std::unordered_map<std::string, Tree> trees_;
    std::set<std::uint32_t> users_;
    std::uint64_t alone_ = 0;
};

// MergedRun: what the shards of one replay say of themselves, for the summary of the run that
// `driftless merge` makes of them. Plain values, as its run.json has them, and pure functions.
//
// Each shard counts its stamps from its own time 0, and they stay as they are: how far those
// instants lie apart is told beside them.

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

    std::map<std::uint32_t, One> shards_;  ///< by index
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

/// "shard 1 of 4".
std::string shard_text(const MergedRun& run, const MergedShard& shard);

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
