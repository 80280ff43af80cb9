/// Was the load of a run steady (the steady state, trends), and did the server keep up with it
/// (stability)? Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "proto/core/names.hpp"

namespace driftless {

// Steady state: the part of a run in which its load neither rises nor falls, and whether the
// figures of that part can be trusted. Memory 8 bytes a value and a bin.
//
// - Ramp and drain: the mean number of requests in flight, in bins of equal time, cut by MSER-5
//   (White, Cobb and Spratt 2000) from the front and from the back; at most a half is cut on each
//   side, and the window ends at the last fire at the latest: behind it nothing comes.
// - Trend: the Mann-Kendall test (two-sided, ties counted) of 20 batch means in the window.
// - Little's law: what was in flight on average is rate x time in flight where a run is steady.
// - Effective sample size: how many independent values say as much about the mean, by Geyer's
//   initial positive sequence (1992).

/// A request that left. ns from time 0.
struct SteadyRow {
    std::int64_t fired_ns = 0;
    std::int64_t ended_ns = 0;
    std::optional<std::int64_t> ttft_ns;
};

struct TrendFinding {
    bool known = false;  ///< false: fewer than 40 values
    double z = 0;        ///< above 0: it rises
    double p = 1;        ///< that chance alone has such a trend
};

struct SteadyState {
    bool found = false;         ///< false: fewer than 100 requests
    std::int64_t begin_ns = 0;  ///< of the window
    std::int64_t end_ns = 0;
    std::int64_t first_ns = 0;  ///< first fire
    std::int64_t last_ns = 0;   ///< last end
    TrendFinding in_flight_trend;
    TrendFinding ttft_trend;
    double in_flight = 0;      ///< mean over the window
    double rate = 0;           ///< fires in the window, per second
    double time_s = 0;         ///< mean time in flight of those
    std::size_t requests = 0;  ///< fired in the window
    std::size_t ttfts = 0;     ///< of those, with a TTFT
    double effective = 0;      ///< independent TTFTs that say as much about their mean

    std::int64_t length_ns() const { return end_ns - begin_ns; }
    /// rate x time over what was in flight, minus 1; 0 where nothing was.
    double little_difference() const { return in_flight > 0 ? rate * time_s / in_flight - 1 : 0; }
    /// Whether Little's law holds within 5 %.
    bool little_holds() const;
    bool is_steady() const;  ///< found, no trend at p < 0.01, Little's law holds
};

SteadyState find_steady_state(std::vector<SteadyRow> rows);

/// How many values at the front MSER-5 cuts; at most half of them, in steps of 5.
std::size_t mser5(std::span<const double> values);
/// Mann-Kendall, normal approximation with ties and continuity correction.
TrendFinding mann_kendall(std::span<const double> values);
/// At least 1, at most the count.
double effective_sample_size(std::span<const double> values);

// Stability: whether a server kept up with the load of a run. Where requests come faster than they
// are served, the requests that wait and the TTFT both rise until the last one has come, and the
// percentiles say how long the run was and not what the server can do.
//
// The test: rows in the order of their dues, without those due in the first median time of an
// answer, from its first token to its end (the server fills then; at most half of the run), in 10
// batches of equal counts. Of each batch: the mean number of rows that were due and had not ended,
// and the mean TTFT from the due instant (a row without a token: until it ended). Each of the two
// rises if
// - the Mann-Kendall test of the 10 means says so (z above 3.3, p < 0.0005, one-sided), and
// - the last three batches are 1.5 times as high as the first three, and
// - at least a fifth of that rise comes after the middle: the server does not just fill slowly.
// Unstable: both rise. Over simulated servers of 8 and 32 places (cmd/runs/find.md): at 90 % of
// the capacity 0.5 to 2 % of runs of 700 rows are called unstable, at 130 % 95 to 100 %.

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
