/// EarlyStop: whether a run has to end before its time, by what it has measured (`--stop-when`).
///
/// Asked at the end of each period of the measurement. A time is that of the answers of the period;
/// `errors` and `failed` are of the whole run so far. Nothing is judged by fewer than `sample_min`
/// values: of a time those of the periods in which the condition has held, of the others the
/// requests that have ended. A condition with a time (`for 30s`) has to hold in all periods of that
/// time. A period without a value says nothing: it neither meets the condition nor breaks it.
///
/// Owned by the periods, on the writer's side. The engine reads the one flag that it raises.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/stats/distribution.hpp"
#include "engine/stats/stop_rule.hpp"
#include "proto/record/record.hpp"

namespace driftless {

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
    Distribution ttft;
    Distribution ttft_due;
    Distribution tpot;
    Distribution e2e;
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

}  // namespace driftless
