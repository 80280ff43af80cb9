/// ComparedMetric: what two groups of runs can be compared by, and what it is called. Names are
/// those of SLOs and thresholds: `ttft:p99`, `tpot:mean`, `errors`, `goodput`. Values; pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace driftless {

/// Of each request one value, ns. `itl` and `chunk_gap` have many values a request, which cannot be
/// paired: they are not compared.
enum class RowValue : std::uint8_t { ttft, ttft_due, tpot, e2e };
inline constexpr std::size_t row_value_count = 4;

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
/// "ns", "share" or "per_second".
const char* name_of(MetricUnit unit);

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
    /// As it is read: "ttft:p99", "tpot:mean", "errors", "goodput".
    std::string name() const;
};

/// `ttft`, `ttft_due`, `tpot` or `e2e` with `:mean` or `:p` and a percentile from 0.1 to 99.9 with
/// at most one decimal; or `errors`, `good`, `goodput` (also `request_goodput`), `throughput` (also
/// `request_throughput`), `output_throughput`, `total_token_throughput`. Nothing: it is none of
/// them.
std::optional<ComparedMetric> read_metric(std::string_view name);

/// What is compared where nobody asks for anything else: mean, p50, p90 and p99 of the four values,
/// errors, throughputs; and `good` and `goodput` where there is an SLO.
std::vector<ComparedMetric> usual_metrics(bool with_slo);

}  // namespace driftless
