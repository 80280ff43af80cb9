/// Arrivals: rows that come at a rate, in the place of their recorded instants. Rows are taken in
/// the order of the file; what they ask for and share stays.
///
/// The first one arrives at time 0 (or where the rate begins), and arrival i behind i gaps of an
/// arrival process (unit_gaps.hpp), taken through the curve of the rate (rate_curve.hpp). It
/// depends on the rules, the seed and i alone: those who send a part of the trace each take their
/// places from one sequence.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/plan/plan.hpp"
#include "engine/plan/rate_curve.hpp"
#include "engine/plan/unit_gaps.hpp"
#include "proto/core/result.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// A rate that goes by the number of the row, from the first to the last: what vllm bench ramps.
struct RampOverRows {
    double from = 0;  ///< per second, above 0
    double to = 0;
    RampForm form = RampForm::linear;
};

struct ArrivalRules {
    bool all_at_once = false;  ///< `--rate inf`: nothing below means anything
    RateCurve curve = RateCurve(1);
    std::optional<RampOverRows> over_rows;  ///< in the place of the curve
    ArrivalLaw law = ArrivalLaw::poisson;
    double shape = 1;  ///< of a gamma law
    /// The drawn gaps are stretched so that their mean is exactly 1: what vllm bench sends, and no
    /// Poisson process.
    bool scaled = false;
    std::uint64_t seed = 0;
    /// Trees of sessions arrive, each as it was recorded behind its first row; else rows do.
    bool by_trees = false;
    /// `--duration`: what would arrive later is not sent.
    std::optional<std::int64_t> duration_ns;
};

/// So many arrivals, in ns from time 0; fewer, where the rate ends before. `recorded_ns`: of a
/// recorded law, their instants. Errors: invalid, where those are all the same; out_of_range, where
/// the last one is due in 73 years.
Result<std::vector<std::int64_t>> arrival_times(const ArrivalRules& rules, std::size_t count,
                                                const std::vector<std::int64_t>& recorded_ns = {});

/// The plan with the dues of the arrivals, without the rows that do not arrive. Errors: as above;
/// not_found, where none arrives.
Result<Plan> arrive(const ArrivalRules& rules, const Trace& trace, Plan plan);

/// Arrivals a second from the first to the last due; nothing where all come at once. Of trees: of
/// their first rows.
std::optional<double> planned_rate(const ArrivalRules& rules, const Trace& trace, const Plan& plan);

}  // namespace driftless
