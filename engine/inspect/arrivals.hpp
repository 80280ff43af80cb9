/// Arrivals: how the rows of a plan come: rates, peaks, bursts.
///
/// Pure; times are those of the plan at speed 1, in ns from its first row.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/plan/plan.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

inline constexpr double unknown_figure = std::numeric_limits<double>::quiet_NaN();

/// The lengths of time in which rows are counted.
inline constexpr std::array<std::int64_t, 5> windows_ns = {
    100'000'000, 1'000'000'000, 10'000'000'000, 60'000'000'000, 600'000'000'000};

/// The most in one window. Rows and tokens may be of different ones.
struct Peak {
    std::uint64_t rows = 0;           ///< in a window [k w, (k + 1) w) from the first row on
    std::uint64_t rows_anywhere = 0;  ///< in any [t, t + w)
    std::uint64_t input_tokens_anywhere = 0;
};

/// Index of dispersion of counts: variance / mean of the number of rows in the whole windows
/// [k w, (k + 1) w) from the first row to the last. 1 for a Poisson process at every w, 0 for a
/// clock; more means bursts. Unknown with less than `dispersion_windows_min` windows.
struct Dispersion {
    std::uint64_t windows = 0;
    double recorded = unknown_figure;
    double spread = unknown_figure;  ///< under `--spread`
};
inline constexpr std::uint64_t dispersion_windows_min = 5;

/// Rows of one instant.
struct Burst {
    std::uint64_t rows = 0;
    std::uint64_t input_tokens = 0;
    std::int64_t at_ns = 0;
};

struct ArrivalFigures {
    std::int64_t span_ns = 0;            ///< from the first row to the last
    double rows_per_s = unknown_figure;  ///< rows / span; unknown for a span of 0
    std::uint64_t instants = 0;          ///< distinct
    Burst most_rows;                     ///< the largest instant, by rows (the first of equals)
    Burst most_tokens;                   ///< and by input tokens
    std::array<Peak, windows_ns.size()> peaks;  ///< [windows_ns]
    std::array<Dispersion, windows_ns.size()> dispersion;
    /// Coefficient of variation of the gaps between rows: 1 for Poisson. Unknown with less than 2
    /// gaps.
    double gap_variation = unknown_figure;
    double gap_variation_spread = unknown_figure;
};

/// `recorded` and `spread` hold the same rows of the trace, each sorted by due.
ArrivalFigures arrivals_of(const Trace& trace, std::span<const Planned> recorded,
                           std::span<const Planned> spread);

/// What comes in equal buckets of time, from the first row on.
struct Timeline {
    std::int64_t bucket_ns = 0;
    std::vector<std::uint64_t> rows;  ///< [bucket], and so are all others
    std::vector<std::uint64_t> input_tokens;
    std::vector<std::uint64_t> output_tokens;
    std::vector<std::uint64_t> blocks_used;  ///< distinct blocks that its rows name: working set
    std::vector<std::uint64_t> blocks_new;   ///< those that no row before named
};
inline constexpr std::size_t timeline_buckets_max = 60;

/// The shortest round length of time that cuts the span into at most `timeline_buckets_max`.
std::int64_t bucket_for(std::int64_t span_ns);

/// A timeline without its blocks, which are the caller's to count.
Timeline timeline_of(const Trace& trace, std::span<const Planned> rows);

}  // namespace driftless
