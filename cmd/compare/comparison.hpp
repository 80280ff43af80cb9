/// Comparison: all that `compare` finds out about two groups of runs. Every output (screen, JSON,
/// Markdown, JUnit, page) is made of it. Values; it reads nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/compare/change_threshold.hpp"
#include "cmd/compare/played_run.hpp"
#include "cmd/compare/row_changes.hpp"
#include "cmd/compare/same_work.hpp"
#include "engine/comparison/compare_groups.hpp"

namespace driftless {

/// What is asked of a comparison.
struct ComparisonWish {
    std::vector<ComparedMetric> metrics;      ///< empty: the usual ones
    std::vector<ChangeThreshold> thresholds;  ///< `--fail-if`
    ComparisonOptions options;
    bool unsure_fails = false;
};

struct Comparison {
    std::vector<PlayedRun> a;
    std::vector<PlayedRun> b;
    std::vector<WorkDifference> differences;
    bool same_work = false;

    // Nothing below where the comparison is refused.
    ComparisonOptions options;
    GroupComparison groups;
    RowValue value = RowValue::ttft;  ///< whose rows are looked at one by one
    std::vector<RowChange> rows;
    std::vector<ChangeView> where;
    OutputChanges outputs;
    std::vector<JudgedThreshold> thresholds;
};

/// "ttft", "ttft_due", "tpot" or "e2e".
const char* name_of(RowValue value);

/// Fills all below `same_work`; the runs and differences are there.
void compare_rows(Comparison& comparison, const ComparisonWish& wish);

}  // namespace driftless
