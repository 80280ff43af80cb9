/// Steady state: the part of a run in which its load neither rises nor falls, and whether the
/// figures of that part can be trusted. Pure; memory 8 bytes a value and a bin.
///
/// - Ramp and drain: the mean number of requests in flight, in bins of equal time, cut by MSER-5
///   (White, Cobb and Spratt 2000) from the front and from the back; at most a half is cut on each
///   side, and the window ends at the last fire at the latest: behind it nothing comes.
/// - Trend: the Mann-Kendall test (two-sided, ties counted) of 20 batch means in the window.
/// - Little's law: what was in flight on average is rate x time in flight where a run is steady.
/// - Effective sample size: how many independent values say as much about the mean, by Geyer's
///   initial positive sequence (1992).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace driftless {

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

}  // namespace driftless
