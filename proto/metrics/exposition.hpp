/// Exposition: what a page of metrics says, as values: families, samples, labels. The page may be
/// Prometheus text (0.0.4), OpenMetrics text (1.0.0), or the JSON of TensorRT-LLM.
///
/// The texts are views into the page and into its reader (exposition_reader.hpp); they live until
/// the reader's next page. Names are kept as served. In names `:` and `_` mean the same: clients
/// and routers replace one by the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace driftless {

enum class MetricType : std::uint8_t {
    unknown,  ///< no TYPE line, or a type of the page's own
    counter,
    gauge,
    histogram,
    summary,
    info,
    state_set,
    gauge_histogram,
};
/// "counter", "gauge", ..; as the TYPE lines of OpenMetrics have them.
const char* name_of(MetricType type);

struct MetricLabel {
    std::string_view name;
    std::string_view value;  ///< without escapes
};

struct MetricFamily {
    std::string_view name;  ///< of its TYPE or HELP line; of its first sample where there is none
    MetricType type = MetricType::unknown;
    std::string_view help;  ///< without escapes; may be empty
};

struct MetricExemplar {
    std::uint32_t labels_begin = 0;
    std::uint32_t labels_count = 0;
    double value = 0;
    std::optional<std::int64_t> time_ns;  ///< Unix time
};

struct MetricSample {
    std::string_view name;  ///< with `_total`, `_bucket`, `_sum`, `_count`, `_created`
    std::uint32_t labels_begin = 0;
    std::uint32_t labels_count = 0;
    std::uint32_t family = 0;               ///< index
    double value = 0;                       ///< NaN and infinities are values
    std::optional<std::int64_t> time_ns;    ///< Unix time, where the page says it
    std::optional<std::uint32_t> exemplar;  ///< index
};

struct Exposition {
    std::vector<MetricFamily> families;
    std::vector<MetricSample> samples;  ///< in the order of the page; two may be the same series
    std::vector<MetricLabel> labels;
    std::vector<MetricExemplar> exemplars;

    std::span<const MetricLabel> labels_of(const MetricSample& sample) const {
        return std::span(labels).subspan(sample.labels_begin, sample.labels_count);
    }
    /// The sample only grows, until the server restarts: a counter, or a part of a histogram or a
    /// summary other than a quantile. `_created` is not one.
    bool is_counter(const MetricSample& sample) const;
    void clear();
};

/// The same name, where `:` and `_` mean the same.
bool same_metric_name(std::string_view a, std::string_view b);
/// `name` begins with `prefix` in that sense.
bool has_metric_prefix(std::string_view name, std::string_view prefix);
/// A hash that is equal where names are the same.
struct MetricNameHash {
    std::size_t operator()(std::string_view name) const;
};
struct MetricNameEqual {
    bool operator()(std::string_view a, std::string_view b) const { return same_metric_name(a, b); }
};

/// The value of a label, or nothing.
std::optional<std::string_view> label_value(std::span<const MetricLabel> labels,
                                            std::string_view name);

}  // namespace driftless
