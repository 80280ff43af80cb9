/// ExpositionReader: reads pages of metrics, one after the other, in the memory of the largest.
///
/// Sources: https://prometheus.io/docs/instrumenting/exposition_formats/ (text 0.0.4),
/// https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md (1.0.0).
/// It takes what real servers serve: families twice, TYPE lines without samples, samples without
/// TYPE lines, blank lines, samples that say `_` where their TYPE line says `:`. It refuses a page
/// with a line that it does not understand, for what follows is not to be trusted either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "proto/core/result.hpp"
#include "proto/json/document.hpp"
#include "proto/metrics/exposition.hpp"
#include "proto/metrics/sample_line.hpp"

namespace driftless {

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
