/// Comparison: all that `compare` finds out about two groups of runs. Every output (screen, JSON,
/// Markdown, JUnit, page) is made of it. Values; it reads nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/compare/change_threshold.hpp"
#include "cmd/compare/paired_requests.hpp"
#include "cmd/compare/played_run.hpp"
#include "cmd/compare/same_work.hpp"
#include "engine/comparison/compare_groups.hpp"

namespace driftless {

/// What is asked of a comparison.
struct ComparisonWish {
    std::vector<ComparedMetric> metrics;      ///< empty: the usual ones
    std::vector<ChangeThreshold> thresholds;  ///< `--fail-if`
    /// Half of the library's default number of draws: the ends of an interval then vary by some 4 %
    /// of its width from seed to seed, and comparing two runs of an hour takes half the time.
    ComparisonOptions options{.resamples = 1000};
    bool unsure_fails = false;
    bool within_runs = false;      ///< `--within-runs`
    std::optional<double> detect;  ///< `--detect`: a change, of which is asked how much shows it
};

struct Comparison {
    std::vector<PlayedRun> a;
    std::vector<PlayedRun> b;
    std::vector<WorkDifference> differences;
    bool same_work = false;

    // Empty from here on if the comparison is refused.
    ComparisonOptions options;
    std::optional<double> detect;
    GroupComparison groups;
    RowValue value = RowValue::ttft;  ///< whose rows are looked at one by one
    std::vector<PairedRequest> requests;
    std::vector<ChangeView> where;
    OutputChanges outputs;
    std::vector<JudgedThreshold> thresholds;
};

/// "ttft", "ttft_due", "tpot" or "e2e".
const char* name_of(RowValue value);

/// How `value` changed, by group, over the requests that all runs have.
std::vector<ChangeView> where_of(const Comparison& comparison, RowValue value);

/// Fills everything below `same_work`; runs and differences must be there already. Returns why a
/// threshold cannot be judged by runs of this size, or the empty text.
[[nodiscard]] std::string compare_rows(Comparison& comparison, const ComparisonWish& wish);

}  // namespace driftless
