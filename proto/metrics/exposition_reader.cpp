#include "proto/metrics/exposition_reader.hpp"

#include <algorithm>
#include <array>

#include "proto/core/letter_case.hpp"
#include "proto/core/text.hpp"
#include "proto/json/printable.hpp"
#include "proto/json/utf8.hpp"

namespace driftless {

namespace {

constexpr std::size_t quoted_bytes_max = 80;
constexpr std::string_view eof_line = "# EOF";

std::string_view take_line(std::string_view& page) {
    const std::size_t end = std::min(page.find('\n'), page.size());
    std::string_view line = page.substr(0, end);
    page.remove_prefix(std::min(end + 1, page.size()));
    if (line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    return line;
}

std::string_view take_word(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    const std::string_view word = text.substr(0, text.find_first_of(" \t"));
    text.remove_prefix(word.size());
    return word;
}

MetricType type_of(std::string_view word) {
    for (const MetricType type :
         {MetricType::counter, MetricType::gauge, MetricType::histogram, MetricType::summary,
          MetricType::info, MetricType::state_set, MetricType::gauge_histogram}) {
        if (equal_ignoring_case(word, name_of(type))) {
            return type;
        }
    }
    return MetricType::unknown;
}

/// What a sample's name may have behind the name of a family of that type.
struct Suffix {
    std::string_view text;
    MetricType type;
};
constexpr std::array suffixes{
    Suffix{"_total", MetricType::counter},
    Suffix{"_created", MetricType::counter},
    Suffix{"_bucket", MetricType::histogram},
    Suffix{"_sum", MetricType::histogram},
    Suffix{"_count", MetricType::histogram},
    Suffix{"_created", MetricType::histogram},
    Suffix{"_sum", MetricType::summary},
    Suffix{"_count", MetricType::summary},
    Suffix{"_created", MetricType::summary},
    Suffix{"_info", MetricType::info},
    Suffix{"_bucket", MetricType::gauge_histogram},
    Suffix{"_gsum", MetricType::gauge_histogram},
    Suffix{"_gcount", MetricType::gauge_histogram},
};

enum class Form : std::uint8_t { text, open_metrics, json, html };

/// By what the server says of it, and where that says nothing, by how it begins and ends.
Form form_of(std::string_view page, std::string_view content_type) {
    const std::string type = lower(trim_blanks(content_type.substr(0, content_type.find(';'))));
    const std::string_view body = trim(page, white_space);
    if (type == "text/html" || body.starts_with('<')) {
        return Form::html;
    }
    if (type == "application/json" || body.starts_with('[') || body.starts_with('{')) {
        return Form::json;
    }
    const bool is_open = type == "application/openmetrics-text" || body.ends_with("\n# EOF");
    return is_open ? Form::open_metrics : Form::text;
}

}  // namespace

Result<void> ExpositionReader::fail(ErrorCode code, const char* what, std::string_view words) {
    problem_ = line_ > 0 ? "line " + std::to_string(line_) + ": " : "";
    problem_ += what;
    if (!words.empty()) {
        problem_ += ": \"" + printable(cut_at_code_point(words, quoted_bytes_max)) +
                    (words.size() > quoted_bytes_max ? "...\"" : "\"");
    }
    out_.clear();
    return Error{code, 0, what};
}

Result<void> ExpositionReader::read(std::string_view page, std::string_view content_type) {
    out_.clear();
    index_.clear();
    names_.clear();
    problem_.clear();
    line_ = 0;
    ended_ = false;
    if (page.size() > limits_.bytes_max) {
        return fail(ErrorCode::too_large, "the page of metrics is too long");
    }
    const Form form = form_of(page, content_type);
    if (form == Form::html) {
        return fail(ErrorCode::bad_http, "the answer is an HTML page, not metrics",
                    trim(page, white_space));
    }
    unescaped_.begin(page.size());
    return form == Form::json ? read_json(page) : read_text(page, form == Form::open_metrics);
}

Result<void> ExpositionReader::read_text(std::string_view page, bool is_open_metrics) {
    for (std::string_view rest = page; !rest.empty();) {  // bounded: each turn takes a line off
        ++line_;
        if (Result<void> read = read_line(take_line(rest), is_open_metrics); !read) {
            return read;
        }
    }
    if (is_open_metrics && !ended_) {
        line_ = 0;
        return fail(ErrorCode::truncated, "the page was cut off: OpenMetrics ends with # EOF");
    }
    return {};
}

Result<void> ExpositionReader::read_line(std::string_view line, bool is_open_metrics) {
    line = trim_blanks(line);
    if (line.empty()) {
        return {};
    }
    if (is_open_metrics && ended_) {
        return fail(ErrorCode::invalid, "there is text after # EOF", line);
    }
    if (line.starts_with('#')) {
        ended_ = ended_ || line == eof_line;
        return read_comment(line);
    }
    if (out_.samples.size() >= limits_.series_max) {
        return fail(ErrorCode::too_large, "the page has too many series");
    }
    MetricSample sample;
    LineProblem problem;
    if (const Result<void> read = read_sample_line(line, is_open_metrics ? 9 : 6, limits_.line,
                                                   unescaped_, out_, sample, problem);
        !read) {
        return fail(read.error().code, problem.what, problem.words);
    }
    const Result<std::uint32_t> found = family_of_sample(sample.name);
    if (!found) {
        return found.error();
    }
    sample.family = found.value();
    out_.samples.push_back(sample);
    return {};
}

/// "# HELP name text", "# TYPE name type"; all else is for people.
Result<void> ExpositionReader::read_comment(std::string_view line) {
    line.remove_prefix(1);
    const std::string_view kind = take_word(line);
    if (kind != "HELP" && kind != "TYPE") {
        return {};
    }
    const std::string_view name = take_word(line);
    if (!is_metric_name(name)) {
        return fail(ErrorCode::invalid, "HELP and TYPE need the name of a metric", name);
    }
    if (name.size() > limits_.line.name_bytes_max) {
        return fail(ErrorCode::too_large, "the name of the metric is too long", name);
    }
    const Result<std::uint32_t> at = family(name);
    if (!at) {
        return at.error();
    }
    MetricFamily& found = out_.families[at.value()];
    const std::string_view text = trim_blanks(line);
    if (kind == "HELP") {
        found.help = text.find('\\') == text.npos ? text : unescaped_.add(text);
    } else if (found.type == MetricType::unknown) {
        found.type = type_of(text);
    }
    return {};
}

Result<std::uint32_t> ExpositionReader::family(std::string_view name) {
    const auto next = static_cast<std::uint32_t>(out_.families.size());
    const auto [place, is_new] = index_.try_emplace(name, next);
    if (!is_new) {
        return place->second;
    }
    if (next >= limits_.families_max) {
        return fail(ErrorCode::too_large, "the page has too many families").error();
    }
    out_.families.push_back({name, MetricType::unknown, {}});
    return next;
}

/// A family of just that name goes first: gauges may end in `_count`, counters in `_total`.
Result<std::uint32_t> ExpositionReader::family_of_sample(std::string_view name) {
    if (index_.contains(name)) {
        return index_.find(name)->second;
    }
    for (const Suffix& suffix : suffixes) {
        if (!name.ends_with(suffix.text)) {
            continue;
        }
        const auto found = index_.find(name.substr(0, name.size() - suffix.text.size()));
        if (found != index_.end() && out_.families[found->second].type == suffix.type) {
            return found->second;
        }
    }
    return family(name);
}

}  // namespace driftless
