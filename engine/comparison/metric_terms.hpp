/// MetricTerms: what each row adds to a metric in each run. A mean, a share and a rate are all a
/// sum of tops over a sum of bottoms; a percentile is of the tops that have a bottom. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/comparison/compared_metric.hpp"
#include "engine/comparison/paired_rows.hpp"

namespace driftless {

struct RowTerm {
    double top = 0;
    double bottom = 0;  ///< both 0: the row does not count
};

struct MetricTerms {
    ComparedMetric metric;
    std::size_t runs_a = 0;
    std::vector<std::vector<RowTerm>> runs;  ///< [runs, those of A first][rows]
    RowUnits units;
    std::uint64_t pairs =
        0;  ///< rows that count in every run; of rates, in the run with the fewest
};

/// - a mean and a percentile: top is the value, bottom 1, of rows whose value every run knows;
/// - errors, good: top 1 where it is so, bottom 1 of those that could be;
/// - rates: top is the count, bottom the time in s since the request before it ended, scaled so
///   that the times of a run add up to its duration. Here a row is the n-th end of each run: a rate
///   belongs to a time. Each is a unit.
MetricTerms terms_of(const ComparedMetric& metric, const PairedRows& paired);

/// Of a dual run: those of the rows that left to A first, or to B. Not for rates, whose rows are
/// ends. A row that left to neither side is in neither.
MetricTerms terms_of_order(const MetricTerms& terms, const PairedRows& paired, bool a_first);

}  // namespace driftless
