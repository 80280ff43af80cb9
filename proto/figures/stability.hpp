/// Stability: whether a server kept up with the load of a run. Where requests come faster than they
/// are served, the requests that wait and the TTFT both rise until the last one has come, and the
/// percentiles say how long the run was and not what the server can do. Pure.
///
/// The test: rows in the order of their dues, without those due in the first median time of an
/// answer, from its first token to its end (the server fills then; at most half of the run), in 10
/// batches of equal counts. Of each batch: the mean number of rows that were due and had not ended,
/// and the mean TTFT from the due instant (a row without a token: until it ended). Each of the two
/// rises if
/// - the Mann-Kendall test of the 10 means says so (z above 3.3, p < 0.0005, one-sided), and
/// - the last three batches are 1.5 times as high as the first three, and
/// - at least a fifth of that rise comes after the middle: the server does not just fill slowly.
/// Unstable: both rise. Over simulated servers of 8 and 32 places (cmd/runs/find.md): at 90 % of
/// the capacity 0.5 to 2 % of runs of 700 rows are called unstable, at 130 % 95 to 100 %.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "proto/core/names.hpp"

namespace driftless {

/// Of a row that was sent. ns from time 0.
struct RowTimes {
    std::int64_t due_ns = 0;
    std::optional<std::int64_t> first_token_ns;
    std::int64_t ended_ns = 0;
};

enum class Stability : std::uint8_t {
    unknown,  ///< fewer than 40 rows after the filling
    stable,
    unstable,
};
template <>
inline constexpr auto closed_list<Stability> = name_list("unknown", "stable", "unstable");

/// How far the last batches are above the first ones: 2 is twice as high. 0 where unknown.
struct StabilityFinding {
    Stability stability = Stability::unknown;
    double waiting_ratio = 0;
    double ttft_ratio = 0;
};

StabilityFinding judge_stability(std::vector<RowTimes> rows);

}  // namespace driftless
