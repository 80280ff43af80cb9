/// compare_groups: whether B differs from A by more than chance explains. Two runs, two groups of
/// repeats, or the two sides of a dual run: each is a group of runs. Pure: it is given the requests
/// of the runs, and reads no file and no clock; the same input and seed give the same result.
///
/// The method, its reasons and its measured coverage are in README.md. In short:
/// - requests are paired by key. Times (`ttft:p99`) are taken over the requests whose value is
///   known in every run of both sides, so that both sides answer for the same work; how many that
///   leaves out is told (`only_a_ok`, `only_b_ok`). Other metrics take all requests of a run;
/// - units are resampled, the same ones on both sides: a unit is a tree, or a request that has
///   none. Units are in the order of their dues and are drawn in circular blocks, whose length
///   comes from the data (1 where units are independent). Rates are drawn in blocks of requests in
///   the order of their ends, because a rate belongs to a time and not to a tree;
/// - with several runs on a side, what runs differ by among themselves is the outer level, with
///   Student's t. With one run a side the interval says nothing about another run: `word` is
///   unsure, and `in_these_runs` says what it shows. The two sides of a dual run share their
///   time, and are judged as these two servers (`evidence`).
///
/// Memory: about 200 bytes a request and run while it works, and 16 KiB a metric; nothing is kept.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/core/names.hpp"
#include "proto/figures/distribution.hpp"

namespace driftless {

// ComparedMetric: what two groups of runs can be compared by, and what it is called. Names are
// those of SLOs and thresholds: `ttft:p99`, `tpot:mean`, `errors`. Values; pure.

/// Of each request one value, ns. `itl` and `chunk_gap` have many values a request, which cannot be
/// paired: they are not compared.
enum class RowValue : std::uint8_t { ttft, ttft_due, tpot, e2e };
inline constexpr std::size_t row_value_count = 4;
const char* name_of(RowValue value);

enum class ComparedFigure : std::uint8_t {
    value_mean,          ///< of a RowValue
    value_percentile,    ///< of a RowValue, nearest rank
    errors,              ///< failed / (failed + ok)
    good,                ///< share of requests that meet the SLO
    goodput,             ///< requests that meet the SLO, per second
    request_throughput,  ///< ok requests per second
    output_throughput,   ///< output tokens of ok requests per second
    total_throughput,    ///< input and output tokens of ok requests per second
};

/// In what a metric is given.
enum class MetricUnit : std::uint8_t { ns, share, per_second };
template <>
inline constexpr auto closed_list<MetricUnit> = name_list("ns", "share", "per_second");

/// How two sides are held against each other.
enum class Scale : std::uint8_t {
    ratio,       ///< B / A; equal is 1
    difference,  ///< B - A, of shares; equal is 0. A share may be 0, and then a ratio says nothing
};

struct ComparedMetric {
    ComparedFigure figure = ComparedFigure::value_mean;
    RowValue value = RowValue::ttft;  ///< of value_mean and value_percentile
    std::uint32_t per_mille = 0;      ///< of value_percentile, 1 to 999

    MetricUnit unit() const;
    Scale scale() const { return unit() == MetricUnit::share ? Scale::difference : Scale::ratio; }
    /// Less is better: latencies and errors.
    bool lower_is_better() const;
    /// As it is read: "ttft:p99", "tpot:mean", "errors", "request_goodput".
    std::string name() const;
};

/// `ttft`, `ttft_due`, `tpot` or `e2e` with `:mean`, `:median` or `:p` and a percentile from 0.1
/// to 99.9 with at most one decimal; or a figure that can be told request by request: `errors`,
/// `good`, `request_goodput`, `request_throughput`, `output_throughput`, `total_token_throughput`.
/// Nothing: it is none of them.
std::optional<ComparedMetric> read_metric(std::string_view name);
/// What to say of a name that is none: why it cannot be compared where it is a figure of one run.
const char* why_not_compared(std::string_view name);

/// What is compared where nothing else is asked for: mean, p50, p90, p95 and p99 of the four
/// values, errors, throughputs; and `good` and `request_goodput` where there is an SLO.
std::vector<ComparedMetric> usual_metrics(bool with_slo);

inline constexpr double unknown_value = std::numeric_limits<double>::quiet_NaN();

/// What a comparison needs to know of a request that is over.
struct ComparedRequest {
    /// Equal in runs that played the same work: row and pass, not the number of the sending. Of two
    /// requests of one run with one key the first counts.
    std::uint64_t key = 0;
    std::int64_t due_ns = 0;
    /// Its tree, equal in all runs (such as a digest of its name); 0: it is in none.
    std::uint64_t tree = 0;
    /// When it left; of the two of a dual run the lesser went first.
    std::optional<std::int64_t> fired_ns;
    bool ok = false;
    /// Counts as an error. Neither ok nor failed: abandoned by plan, or cut off with the run.
    bool failed = false;
    bool tainted = false;           ///< the client may have spoiled it
    bool held = false;              ///< a cap or a budget of the client let it wait
    std::optional<bool> meets_slo;  ///< nothing: there is no SLO, or it is not known
    /// The same by its longest times, and by its shortest, that `errors` allow; where it is known.
    /// Of one whose answer or end was lost, so that it is not known, false and true.
    bool surely_meets_slo = false;
    bool may_meet_slo = false;
    /// Complete or given up; nothing where it was never sent.
    std::optional<std::int64_t> ended_ns;
    double input_tokens = 0;
    double output_tokens = 0;  ///< NaN: they were not counted
    /// [RowValue], ns, NaN where unknown. Values of requests that are not ok do not count.
    std::array<double, row_value_count> values{unknown_value, unknown_value, unknown_value,
                                               unknown_value};
    /// [RowValue], ns: so far below and above it the true one may lie; infinite: not known.
    /// Zero, too, in runs whose records have no such bounds.
    std::array<ErrorBar, row_value_count> errors{};
};

struct ComparedRun {
    std::vector<ComparedRequest> requests;  ///< in any order
    std::int64_t duration_ns = 0;           ///< what the rates of this run are per; 0: unknown
    /// The least that it can have been, its last end having been read late; 0: not known.
    std::int64_t least_duration_ns = 0;
};

struct ComparisonOptions {
    /// A ratio from 1 / (1 + margin) to 1 + margin is called `same`. 0: only what is equal.
    double margin = 0.02;
    /// The same for differences of shares: 0.001 is 0.1 percentage points.
    double share_margin = 0.001;
    double confidence = 0.95;  ///< of the intervals; above 0.5 and below 1
    std::uint64_t seed = 1;    ///< of the draws
    /// Draws of each metric, from 200 to 100,000. At 2,000 the ends of an interval move by about
    /// 3 % of its width from seed to seed.
    std::uint32_t resamples = 2000;
    bool is_dual = false;  ///< A and B are the two sides of one run: each row left to both at once
    /// A is a bound and no run, so that nothing is said of a change: an interval of B that may be
    /// too narrow is wanted more than none, and no doubt comes from what kind of runs these are.
    bool is_bound = false;
};

/// What a comparison can speak for.
enum class Evidence : std::uint8_t {
    one_each,      ///< a side has one run, from another time than the other side's: these runs only
    paired,        ///< the two sides of one dual run: these two servers as they were running
    between_runs,  ///< two runs a side or more: another run of both sides
};
template <>
inline constexpr auto closed_list<Evidence> = name_list("one_each", "paired", "between_runs");

/// What may be said of B.
enum class Word : std::uint8_t { better, worse, same, unsure };
template <>
inline constexpr auto closed_list<Word> = name_list("better", "worse", "same", "unsure");

/// What the interval says of the figures of these runs, whatever may be said of B.
enum class Shown : std::uint8_t { higher, lower, same, unsure };
template <>
inline constexpr auto closed_list<Shown> = name_list("higher", "lower", "same", "unsure");

/// Why there is no figure or no word.
enum class Doubt : std::uint8_t {
    none,         ///< there is a word
    no_values,    ///< it was not measured on both sides
    below_floor,  ///< a percentile of too few independent values: a, b and the interval are unknown
    few_units,    ///< too few independent trees or blocks for an interval
    few_blocks,   ///< dependence reaches over more than an eighth of the run: no interval
    undefined,    ///< a side is 0, so that a ratio says nothing
    client,       ///< too many tainted rows on a side, or what the client itself may have moved
                  ///< takes in the other answer: `in_these_runs` is unsure, too
    one_run,      ///< `one_each`
    held,         ///< `paired`, and a cap held rows: they did not leave to both at one instant
    order,        ///< `paired`, and it matters which side went first
    too_wide,     ///< the interval allows for better as well as for worse, or for more than `same`
};
/// Its name, as above.
const char* name_of(Doubt doubt);
/// A few words for a reader: "fewer than 5 independent trees or blocks".
const char* text_of(Doubt doubt);
/// `in_these_runs` may say something all the same.
bool is_of_evidence(Doubt doubt);

/// NaN where something is unknown.
struct MetricComparison {
    ComparedMetric metric;
    double a = unknown_value;  ///< ns, a share, or per second; of several runs their mean
    double b = unknown_value;
    double ratio = unknown_value;  ///< b / a; infinite where only a is 0, 1 where both are
    /// The change on the metric's scale, and its interval: of `ratio` the ratio b / a, of
    /// `difference` b - a. `high` may be infinite.
    double change = unknown_value;
    double low = unknown_value;
    double high = unknown_value;
    /// Standard error of the change: of log(b / a), or of b - a.
    double error = unknown_value;
    /// The part of `error` that stays however many requests a run has: between runs. 0 within runs.
    double error_between = 0;
    double freedom = 0;  ///< degrees of freedom of Student's t behind the interval

    std::uint64_t pairs = 0;  ///< requests behind the figures, of each run (rates: the lesser)
    std::uint64_t units = 0;  ///< trees and requests without one
    std::uint64_t block = 0;  ///< units that are drawn together
    /// Independent requests that say as much about the change; at most `pairs`.
    double n_eff = 0;
    std::uint64_t floor = 0;  ///< of a percentile: the n_eff that it needs; 0 for others
    /// The smallest change that this data would have shown in 80 of 100 cases: 0.03 is 3 %, of
    /// shares 3 percentage points.
    double smallest = unknown_value;

    Shown in_these_runs = Shown::unsure;
    Word word = Word::unsure;
    Doubt doubt = Doubt::no_values;
};

struct GroupComparison {
    std::vector<MetricComparison> metrics;  ///< in the order in which they were wanted
    Evidence evidence = Evidence::one_each;
    Doubt doubt = Doubt::none;  ///< of all metrics: client, one_run or held
    std::uint64_t runs_a = 0;
    std::uint64_t runs_b = 0;
    std::uint64_t keys = 0;         ///< requests that are in every run
    std::uint64_t only_a = 0;       ///< that some run of B lacks, and no run of A
    std::uint64_t only_b = 0;       ///< the other way round
    std::uint64_t twice = 0;        ///< requests whose key their run had before: left out
    std::uint64_t dues_differ = 0;  ///< keys whose due is not one instant in all runs
    std::uint64_t trees = 0;        ///< among the keys
    /// Of the keys: ok in every run of one side, and not in every run of the other. Their times are
    /// not compared: a side that fails its slowest requests would look fast.
    std::uint64_t only_a_ok = 0;
    std::uint64_t only_b_ok = 0;
};

/// No metric of a comparison without runs on both sides has figures.
GroupComparison compare_groups(std::span<const ComparedRun> a, std::span<const ComparedRun> b,
                               std::span<const ComparedMetric> metrics,
                               const ComparisonOptions& options);

/// How many requests a run needs so that a change of `difference` (0.03 is 3 %; of shares 3
/// percentage points) is seen in 80 % of all cases with a confidence of 95 %, judged by the spread
/// of this comparison.
/// Nothing: unknown, or no number of requests is enough, because runs differ too much among
/// themselves: then `runs_needed` says more.
std::optional<double> rows_needed(const MetricComparison& compared, double difference);

/// How many runs a side are needed for it, of as many requests as these, where this comparison has
/// `runs` a side. Nothing: unknown, or the comparison is within runs.
std::optional<double> runs_needed(const MetricComparison& compared, std::uint64_t runs,
                                  double difference);

}  // namespace driftless
