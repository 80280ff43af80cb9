/// What a run does, summed up over stretches of equal length, and how many trees are live in them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/plan/trees.hpp"
#include "engine/record/fill_record.hpp"
#include "engine/record/grow_and_stop.hpp"
#include "proto/figures/distribution.hpp"
#include "proto/run/period.hpp"
#include "proto/run/record.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

// LiveTrees: which trees (a root session and all its sub-agents) are live. A tree is live from the
// fire of its first request until all of its requests have ended; gaps between its turns included.
// A tree of a user is also over when the user's next one begins. Owned by the periods, and told of
// every fire and every end in the order of the ring.
//
// How much of a tree a user skips (`--start-within`) is not known here: such a tree, where no
// other one follows it, is live to the end of the run.
//
// Memory: 12 bytes a row, and 24 a user, or a tree where there are no users.

/// How many trees more, or less, there are.
struct TreeChange {
    std::int32_t live = 0;
    std::int32_t flying = 0;  ///< with a request in flight
};

class LiveTrees {
  public:
    LiveTrees(const Trace& trace, const Plan& plan)
        : rows_(static_cast<std::uint32_t>(plan.rows.size())), trees_(trace, plan) {}

    TreeChange fired(const Due& due);
    TreeChange ended(const Due& due, bool had_left);

  private:
    /// The tree of a user, or one of those that have none.
    struct Played {
        std::uint64_t tree = 0;    ///< by `number_in_pass`
        std::uint32_t ended = 0;   ///< rows
        std::uint32_t flying = 0;  ///< requests in flight
        bool live = false;
    };

    std::uint32_t tree_of(const Due& due) const;
    Played& played(const Due& due);

    std::uint32_t rows_;  ///< of the plan: users send its rows under several numbers
    RowTrees trees_;
    std::vector<Played> played_;  ///< [users], or [trees] where there are none
};

// Periods: what a run does, summed up over stretches of equal length: the lines of periods.jsonl
// (period.hpp). Fed by the assembler with what the events say, each at its own stamp, and by the
// writer with its clock; owned by the writer. It has no thread, no file and no clock.
//
// Two periods are open at a time, because events come a little out of order (a row is fired while
// completions of an earlier instant are still being handled), and because nobody hears of an
// event at its instant. The older one is over when a stamp, or the writer's clock with an empty
// ring, is `settle_ns_max` behind its end. What comes later still counts in the older one of those
// that are open, so that nothing is lost from the sums.
//
// A call costs O(1), but for the line of each period that it ends. Memory: two periods of four
// histograms each (1.7 MB), a bit a user, and LiveTrees.

/// Longest wait for what belongs to a period that is over: far more than events are out of order,
/// and than the engine waits for its CPU on a host that is worth measuring on.
inline constexpr std::int64_t settle_ns_max = 250'000'000;

/// Tokens of a request that had been counted before it ended.
struct CountedTokens {
    std::int64_t input = 0;
    std::int64_t output = 0;
};

class Periods {
  public:
    /// Of a run that has them. What the config names outlives this.
    explicit Periods(const AssemblerConfig& config);

    /// Stamps are absolute, on the clock on which this is time 0. Before all that follows.
    void begin(std::int64_t time_zero_ns);

    void fired(const Due& due, std::int64_t stamp_ns);
    /// `input_tokens`: as far as is known now.
    void first_token(const Due& due, std::int64_t fired_ns, std::int64_t stamp_ns,
                     std::int64_t input_tokens);
    void tokens(std::int64_t stamp_ns, std::uint64_t count) {
        at(stamp_ns).sums.output_tokens += static_cast<std::int64_t>(count);
    }
    /// `stamp_ns` is `no_stamp` where nobody has told of the end.
    void ended(const Due& due, std::int64_t stamp_ns, const Record& record, CountedTokens counted);

    /// It is this late, and all that the engine has told so far was handed over.
    void look(std::int64_t now_ns) { close_until(now_ns); }
    /// The run is over: the last line ends with its last event.
    void finish();

    /// The condition that has ended the run early.
    std::optional<StoppedWhen> stopped_when() const {
        return stop_ ? stop_->found() : std::nullopt;
    }
    /// Lines of periods that are over, for the caller to take.
    std::string& lines() { return lines_; }

  private:
    struct Open {
        Period sums;
        std::array<Histogram, 4> times;  ///< [GrowMetric]
        std::uint64_t landed = 0;        ///< ended, and had been fired
        GoodputCounts goodput;
        bool has_unforetold = false;  ///< hits were reported that no forecast is known for
        std::int64_t live = 0;        ///< trees more, or less
        std::int64_t flying = 0;
        bool measures = false;  ///< requests of the measurement have left

        Histogram& of(GrowMetric metric) { return times[static_cast<std::size_t>(metric)]; }
        bool empty() const {
            return sums.released == 0 && sums.ended == 0 && sums.first_tokens == 0 &&
                   sums.output_tokens == 0;
        }
    };

    Open& older() { return open_[older_ % open_.size()]; }
    Open& newer() { return open_[(older_ + 1) % open_.size()]; }
    Open& at(std::int64_t stamp_ns) { return stamp_ns < older_end_ns_ ? older() : later(stamp_ns); }
    Open& later(std::int64_t stamp_ns);
    void close_until(std::int64_t now_ns);
    void close_older(std::int64_t end_ns, bool is_last);
    void add_cached(Open& open, const Record& record) const;
    bool is_drain(std::int64_t end_ns) const;
    bool begins(std::uint32_t user);

    PeriodRules rules_;
    std::uint32_t segment_;
    bool has_users_;
    std::uint64_t users_begun_ = 0;  ///< before the older period
    std::int64_t settle_ns_;
    std::optional<LiveTrees> trees_;
    std::optional<Growth> growth_;   ///< none: the number of users stays
    std::optional<EarlyStop> stop_;  ///< none: it goes on to its end
    std::vector<bool> users_;        ///< [users] it has begun
    std::array<Open, 2> open_;
    std::uint64_t older_;                    ///< number of the older open period
    std::int64_t older_begin_ns_ = 0;        ///< absolute
    std::int64_t older_end_ns_ = INT64_MAX;  ///< absolute
    std::int64_t latest_ns_ = 0;             ///< the latest fire or end
    std::int64_t time_zero_ns_ = 0;
    std::int64_t warm_ns_ = 0;     ///< the latest end in the warm-up; without one, time 0
    bool measures_ = false;        ///< as that of a period: by its end
    std::uint64_t in_flight_ = 0;  ///< at the beginning of the older one, as those below
    std::int64_t live_ = 0;
    std::int64_t flying_ = 0;
    std::string lines_;
};

}  // namespace driftless
