/// InspectFigures: what is in a trace, as plain numbers. The screen and the JSON are made of them.
///
/// Pure: a trace in, figures out. Beyond the trace it takes memory for the distinct blocks, not for
/// how often they come: about 8 bytes each where ids are chained, measured on 12 M blocks; 13 where
/// they name contents alone, and up to 68 for each row then (forecast.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/reading/prefix_cache.hpp"
#include "engine/plan/plan.hpp"
#include "proto/core/errors.hpp"
#include "proto/figures/distribution.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

// Arrivals: how the rows of a plan come: rates, peaks, bursts.
//
// Pure; times are those of the plan at speed 1, in ns from its first row.

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

struct InspectOptions {
    PlanOptions plan;  ///< which rows; the seed of the figures under `--spread`; speed 1
    /// Block sizes of the capacity curve beside the trace's own, each a multiple of that; empty:
    /// `standard_block_sizes`, as far as they are.
    std::vector<std::uint32_t> block_sizes;
    std::uint64_t max_model_len = 0;  ///< 0: not asked
};

inline constexpr std::array<std::uint32_t, 9> standard_block_sizes = {16,  32,   64,   128, 256,
                                                                      512, 1024, 2048, 4096};

struct LengthFigures {
    Distribution distribution;
    std::uint64_t sum = 0;
    /// [k] how many are at least 2^k and less than 2^(k+1).
    std::array<std::uint64_t, 32> by_power{};
};

/// Rows that do not fit a model's context.
struct ContextFigures {
    std::uint64_t limit = 0;       ///< tokens
    std::uint64_t rows_over = 0;   ///< input + output above it
    std::uint64_t input_over = 0;  ///< input alone at or above it: no room for an answer
};

/// Sessions as far as rows of them are selected.
struct SessionFigures {
    std::uint64_t sessions = 0;
    std::uint64_t rows = 0;  ///< rows that belong to one
    Distribution rows_each;
    Distribution length_ns;          ///< from the first row to the last
    std::uint64_t dependencies = 0;  ///< rows wait for so many others
    std::uint64_t overlaps = 0;      ///< of those, began before the other had its answer
    Distribution delay_ns;           ///< from an answer to the row that waited for it
};

/// One file of the trace. Hits are those of an infinite cache that has seen the earlier rows of all
/// files.
struct FileFigures {
    std::string name;
    std::uint64_t rows = 0;
    std::int64_t span_ns = 0;
    std::uint64_t input_tokens = 0;
    std::uint64_t output_tokens = 0;
    std::uint64_t references = 0;
    std::uint64_t hit_blocks = 0;
    std::uint64_t hit_tokens = 0;
};

struct InspectFigures {
    std::uint64_t rows = 0;
    std::uint64_t rows_outside = 0;  ///< of the trace, but not selected
    ArrivalFigures arrivals;
    Timeline timeline;
    LengthFigures input;
    LengthFigures output;
    std::optional<ContextFigures> context;
    SessionFigures sessions;
    std::vector<FileFigures> files;

    // Where the trace has block ids.
    bool has_blocks = false;
    BlockFigures blocks;
    /// By block size, ascending from the trace's own.
    std::vector<CapacityFigures> capacity;
    /// What replay expects a server to report under an infinite cache: full blocks only, and never
    /// a prompt's last token.
    ForetoldHits foretold;
};

/// Errors: invalid, where nothing is selected or a block size is no multiple of the trace's.
Result<InspectFigures> inspect_trace(const Trace& trace, const InspectOptions& options);

/// Appends the figures as one JSON object, without a newline. Keys: inspect.schema.json.
void append_json(std::string& out, const Trace& trace, const InspectFigures& figures);
/// The same for a trace that is refused.
void append_json(std::string& out, const Trace& trace, const InputErrors& errors);

/// Version of the keys.
inline constexpr int inspect_schema = 1;

/// Of the selected rows.
SessionFigures sessions_of(const Trace& trace, std::span<const Planned> rows);

// The hash-block report: per request, what a prefix cache without limits hits, and what a set of
// blocks without order would.
//
// The JSON that `simulate_hash_block_mode.py` of InferenceX (pull request 993) writes for traces
// of the kv-cache-tester, key by key, for traces of every format: one file gives the report with
// its requests; several give sums and a summary each. As there, every file is a cache of its own,
// requests come in file order, and those of sub-agents (sessions named PARENT/AGENT) are left out,
// though each sub-agent counts in `req`, the place in the file. Added to each request: what it
// keeps of the one before it (`kept`, `removed`, `new` in blocks, `kept_tokens`, and `full_reset`
// where it keeps nothing), as that program's older schema had it.

/// Appends the report. `origin` is the file or folder as it was named.
void append_hash_block_report(std::string& out, const Trace& trace, std::string_view origin);

// Likeness: how well a trace that was made of another one keeps what that one is.
//
// Distributions are held against each other by their greatest distance (Kolmogorov-Smirnov: 0 for
// equal ones, 1 at most), caches by the hit rates of LRU caches of the same sizes
// (prefix_cache.hpp). Pure.

/// A trace, and which rows belong together.
struct TreeTrace {
    const Trace& trace;
    std::span<const std::uint32_t> tree_of_row;  ///< [position in its rows]
};

/// Hit rates of one cache size, as shares of all prompt tokens.
struct HitRatePair {
    std::uint64_t blocks = 0;
    double before = 0;
    double after = 0;
};

struct Likeness {
    double input = 0;               ///< distance of the input lengths
    double output = 0;              ///< of the output lengths
    double gaps = 0;                ///< of the times from one row of a tree to its next
    std::uint64_t gaps_before = 0;  ///< how many; 0: no tree has two rows
    /// At five sizes, each four times the one before, up to the largest power of two that is not
    /// beyond what the trace before can use. Empty where rows have no block ids.
    std::vector<HitRatePair> curve;
    double curve_worst = 0;  ///< the greatest difference of two rates
};

/// Errors: those of `inspect_trace`.
Result<Likeness> likeness_of(const TreeTrace& before, const TreeTrace& after);

/// The greatest distance of two distributions, given by values in any order; 1 where one is empty
/// and the other is not.
double greatest_distance(std::vector<double> a, std::vector<double> b);

}  // namespace driftless
