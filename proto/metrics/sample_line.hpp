/// One line of a page that is a sample: name, labels, value, time, exemplar. Internal to
/// proto/metrics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/core/result.hpp"
#include "proto/metrics/exposition.hpp"

namespace driftless {

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

/// Words that a message quotes, and the message's other half.
struct LineProblem {
    const char* what = "";
    std::string_view words;
};

/// True where the text can be the name of a metric: [a-zA-Z_:][a-zA-Z0-9_:]*.
bool is_metric_name(std::string_view text);

/// A number as Prometheus writes it: decimal, NaN, +Inf, -Inf in any case. Nothing for all else,
/// and for what a double cannot hold.
std::optional<double> read_metric_value(std::string_view text);

/// Reads `line`, without its line end, into `sample`; appends to the labels and exemplars of `out`.
/// `time_power`: 10^that ns are the unit of times: 6 in text, 9 in OpenMetrics. Errors: invalid,
/// too_large, out_of_range; `problem` then has the words.
Result<void> read_sample_line(std::string_view line, int time_power, const SampleLimits& limits,
                              UnescapedTexts& unescaped, Exposition& out, MetricSample& sample,
                              LineProblem& problem);

}  // namespace driftless
