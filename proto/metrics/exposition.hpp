/// What a page of metrics says, as values, and how pages are read, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "proto/core/errors.hpp"
#include "proto/core/names.hpp"
#include "proto/json/document.hpp"

namespace driftless {

// Exposition: what a page of metrics says, as values: families, samples, labels. The page may be
// Prometheus text (0.0.4), OpenMetrics text (1.0.0), or the JSON of TensorRT-LLM. Times and
// exemplars are checked and not kept: a page is read when it comes.
//
// The texts are views into the page and into its reader; they live until
// the reader's next page. Names are kept as served. In names `:` and `_` mean the same: clients
// and routers replace one by the other.

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
template <>
inline constexpr auto closed_list<MetricType> = name_list(
    "unknown", "counter", "gauge", "histogram", "summary", "info", "stateset", "gaugehistogram");

struct MetricLabel {
    std::string_view name;
    std::string_view value;  ///< without escapes
};

struct MetricFamily {
    std::string_view name;  ///< of its TYPE or HELP line; of its first sample where there is none
    MetricType type = MetricType::unknown;
    std::string_view help;  ///< without escapes; may be empty
};

struct MetricSample {
    std::string_view name;  ///< with `_total`, `_bucket`, `_sum`, `_count`, `_created`
    std::uint32_t labels_begin = 0;
    std::uint32_t labels_count = 0;
    std::uint32_t family = 0;  ///< index
    double value = 0;          ///< NaN and infinities are values
};

struct Exposition {
    std::vector<MetricFamily> families;
    std::vector<MetricSample> samples;  ///< in the order of the page; two may be the same series
    std::vector<MetricLabel> labels;

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

struct SampleLimits {
    std::size_t name_bytes_max = 1024;        ///< of a metric or a label
    std::size_t label_bytes_max = 16 * 1024;  ///< of a label's value
    std::size_t labels_max = 64;              ///< of a sample
    std::size_t all_labels_max = 500'000;     ///< of a page
};

/// Texts without their escapes. They never move until `begin`.
class UnescapedTexts {
  public:
    /// For a page of that many bytes: none of its texts can need more.
    void begin(std::size_t bytes) {
        texts_.clear();
        texts_.reserve(bytes);
    }
    /// `\\`, `\n` and `\"` are escapes; another backslash stands for itself.
    std::string_view add(std::string_view escaped);

  private:
    std::string texts_;
};

/// True where the text can be the name of a metric: [a-zA-Z_:][a-zA-Z0-9_:]*.
bool is_metric_name(std::string_view text);

// ExpositionReader: reads pages of metrics, one after the other, in the memory of the largest.
//
// Sources: https://prometheus.io/docs/instrumenting/exposition_formats/ (text 0.0.4),
// https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md (1.0.0).
// It takes what real servers serve: families twice, TYPE lines without samples, samples without
// TYPE lines, blank lines, samples that say `_` where their TYPE line says `:`. It refuses a page
// with a line that it does not understand, for what follows is not to be trusted either.

/// Real pages have 1,000 series and 110 KB; labels of 1,100 bytes.
struct ExpositionLimits {
    std::size_t bytes_max = std::size_t{16} << 20;  ///< of a page
    std::size_t series_max = 50'000;                ///< samples of a page
    std::size_t families_max = 50'000;
    SampleLimits line;
};

class ExpositionReader {
  public:
    explicit ExpositionReader(ExpositionLimits limits = {}) : limits_(limits) {}

    /// Reads a whole page. `content_type` as the server says it; it may be empty. Then the page
    /// itself tells what it is. The page outlives what is read of it. Errors: too_large, bad_http
    /// (HTML), truncated (OpenMetrics without its `# EOF`), bad_json, invalid, out_of_range. After
    /// an error there is nothing to read but `problem`.
    Result<void> read(std::string_view page, std::string_view content_type = "");

    const Exposition& page() const { return out_; }
    /// What is wrong, for people: "line 12: the value \"1.2.3\" is not a number". Printable.
    const std::string& problem() const { return problem_; }

  private:
    Result<void> read_text(std::string_view page, bool is_open_metrics);
    Result<void> read_line(std::string_view line, bool is_open_metrics);
    Result<void> read_comment(std::string_view line);
    Result<void> read_json(std::string_view page);
    Result<void> add_json(const std::string& name, const JsonValue& value);
    /// The index of the family of that name, which is made where there is none.
    Result<std::uint32_t> family(std::string_view name);
    Result<std::uint32_t> family_of_sample(std::string_view name);
    Result<void> fail(ErrorCode code, const char* what, std::string_view words = "");

    ExpositionLimits limits_;
    Exposition out_;
    UnescapedTexts unescaped_;
    JsonDocument document_;
    std::unordered_map<std::string_view, std::uint32_t, MetricNameHash, MetricNameEqual> index_;
    std::deque<std::string> names_;  ///< of samples in JSON
    std::string problem_;
    std::size_t line_ = 0;  ///< from 1; 0: the whole page
    bool ended_ = false;    ///< `# EOF` was read
};

}  // namespace driftless
