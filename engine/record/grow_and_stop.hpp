/// What is decided at the end of each period: whether users are added (`--grow`), and whether the
/// run ends before its time (`--stop-when`).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "proto/figures/criteria.hpp"
#include "proto/figures/distribution.hpp"
#include "proto/figures/summary.hpp"
#include "proto/run/record.hpp"

namespace driftless {

// GrowRules: when users are added to a run (`--grow`), and by what figure. Plain values.

/// What of a period (period.hpp) is held against the limit; in the order of StopFigure.
enum class GrowMetric : std::uint8_t { ttft, ttft_due, tpot, e2e };
/// In the order of `shown_statistics`.
enum class GrowFigure : std::uint8_t { avg, p50, p90, p95, p99, max };

struct GrowRules {
    GrowMetric metric = GrowMetric::ttft;
    GrowFigure figure = GrowFigure::avg;
    std::int64_t limit_ns = 0;  ///< 0: the number of users stays
    std::uint32_t users_first = 0;
    std::uint32_t users_max = 0;
    bool any() const { return limit_ns > 0; }
};

/// Growth: how many users a run is to have, by what its last periods have measured (`--grow`).
///
/// At the end of each period of the measurement: the figure of the period joins those of the two
/// before it, and where their mean leaves at least a fifth of the limit users are added, one and
/// one more for each 15 % that it leaves (as kv-cache-tester adds them). Periods before the one at
/// whose begin all of them had begun are not looked at, or forgotten: nothing is added right after.
/// A period without a figure says nothing, and one with failures adds nobody. Users never become
/// fewer.
///
/// Owned by the periods, on the writer's side. The engine reads the one number that it publishes.
class Growth {
  public:
    /// `wanted` outlives this; it is set where users are added.
    Growth(const GrowRules& rules, std::atomic<std::uint32_t>& wanted);

    const GrowRules& rules() const { return rules_; }
    /// A period of the measurement is over. `measured`: of the rules' metric. `failed`: requests
    /// that ended in it without a whole answer. `begun`: users that had begun when it did.
    void look(const Distribution& measured, std::uint64_t failed, std::uint64_t begun);

    static constexpr std::size_t periods_max = 3;  ///< whose mean is taken
    static constexpr double room_min = 0.2;        ///< of the limit, or nobody is added
    static constexpr double room_each = 0.15;      ///< for each user but the first

  private:
    const GrowRules rules_;
    std::atomic<std::uint32_t>& wanted_;
    std::uint32_t users_;
    std::array<double, periods_max> figures_{};  ///< of the last periods, in turn
    std::size_t count_ = 0;                      ///< of those since users were added
    bool has_added_ = false;                     ///< and not all of them may have begun
};

// EarlyStop: whether a run has to end before its time, by what it has measured (`--stop-when`).
//
// Asked at the end of each period of the measurement. A time is that of the answers of the period;
// `errors` and `failed` are of the whole run so far. But for `failed`, a count, nothing is judged
// by fewer than `sample_min` values: of a time those of the periods in which the condition has
// held, of `errors` the requests that have ended. A condition with a time (`for 30s`) has to hold
// in all periods of that time. A period without a value says nothing: it neither meets the
// condition nor breaks it.
//
// Owned by the periods, on the writer's side. The engine reads the one flag that it raises.

/// Requests of the measurement that have ended, `not_sent` and abandoned ones left out.
struct EndedRequests {
    std::uint64_t ended = 0;
    std::uint64_t failed = 0;
    void add(const Record& record);
};

/// What is known at the end of a period. Instants are run time.
struct PeriodMeasured {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::array<Distribution, 4> times{};  ///< [GrowMetric]
};

class EarlyStop {
  public:
    /// `before`: of a run that is resumed, what ended in its earlier segments. `wanted` outlives
    /// this; it is raised once.
    EarlyStop(const std::vector<StopRule>& rules, const EndedRequests& before,
              std::atomic<bool>& wanted);

    /// A request has ended. One that ended after the period that is looked at next counts in a
    /// later one.
    void ended(const Record& record);
    /// A period of the measurement is over.
    void look(const PeriodMeasured& measured);
    /// The first condition that was found to hold.
    const std::optional<StoppedWhen>& found() const { return found_; }

    /// Of fewer a share says little, and a percentile is the greatest value.
    static constexpr std::uint64_t sample_min = 20;

  private:
    struct Watched {
        StopRule rule;
        std::optional<std::int64_t> holds_from_ns;  ///< begin of the first period in which it held
        std::uint64_t values = 0;                   ///< since then
    };
    /// Not counted yet.
    struct Recent {
        std::int64_t ended_ns = 0;
        EndedRequests one;
    };
    struct Figure {
        double value = 0;
        std::uint64_t values = 0;
    };
    Figure figure_of(const StopRule& rule, const PeriodMeasured& measured) const;
    void look_at(Watched& watched, const PeriodMeasured& measured);

    std::vector<Watched> watched_;
    EndedRequests requests_;
    std::vector<Recent> recent_;
    std::atomic<bool>& wanted_;
    std::optional<StoppedWhen> found_;
};

/// PeriodRules: how periods.jsonl is summed up (periods.hpp). Plain values.
struct PeriodRules {
    std::int64_t length_ns = 0;  ///< `--period`; 0: there are none
    std::int64_t begin_ns = 0;   ///< of the segment, from time 0: a resumed run begins later
    GoodputRules goodput;
    bool warms_up = false;  ///< requests of a warm-up go before those of the measurement
    OptionalNs for_ns;      ///< `--for`
    GrowRules grow;
    /// How many users there are to be: told to the engine. Not null where `grow` adds any.
    std::atomic<std::uint32_t>* users_wanted = nullptr;
    std::vector<StopRule> stop_when;
    EndedRequests ended_before;  ///< of a run that is resumed: in its earlier segments
    /// The run has to end early: told to the engine. Not null where `stop_when` has any.
    std::atomic<bool>* stop_wanted = nullptr;
};

}  // namespace driftless
