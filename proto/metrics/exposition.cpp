/// Pages of metrics: the text format of Prometheus, then the JSON of TensorRT-LLM.

#include "proto/metrics/exposition.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <limits>
#include <string>

#include "proto/core/numbers.hpp"
#include "proto/core/text.hpp"

namespace driftless {

static constexpr char plain(char c) {
    return c == ':' ? '_' : c;
}

bool Exposition::is_counter(const MetricSample& sample) const {
    const MetricFamily& family = families[sample.family];
    const bool is_part = sample.name.size() > family.name.size();
    switch (family.type) {
        case MetricType::counter:
            return !is_part || !sample.name.ends_with("_created");
        case MetricType::histogram:
        case MetricType::summary:
            return is_part && !sample.name.ends_with("_created");
        default:
            return false;
    }
}

void Exposition::clear() {
    families.clear();
    samples.clear();
    labels.clear();
}

bool same_metric_name(std::string_view a, std::string_view b) {
    return a.size() == b.size() && has_metric_prefix(a, b);
}

bool has_metric_prefix(std::string_view name, std::string_view prefix) {
    return name.size() >= prefix.size() &&
           std::equal(prefix.begin(), prefix.end(), name.begin(),
                      [](char a, char b) { return plain(a) == plain(b); });
}

/// FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/
std::size_t MetricNameHash::operator()(std::string_view name) const {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : name) {
        hash = (hash ^ static_cast<unsigned char>(plain(c))) * 0x100000001b3;
    }
    return hash;
}

std::optional<std::string_view> label_value(std::span<const MetricLabel> labels,
                                            std::string_view name) {
    const auto found = std::find_if(labels.begin(), labels.end(),
                                    [name](const MetricLabel& one) { return one.name == name; });
    return found == labels.end() ? std::nullopt : std::optional(found->value);
}

static constexpr bool is_name_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' || is_digit(c);
}

static void skip_blanks(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
}

static std::string_view take_name(std::string_view& text) {
    std::size_t end = 0;
    while (end < text.size() && is_name_byte(text[end])) {
        ++end;
    }
    const std::string_view name = text.substr(0, end);
    text.remove_prefix(end);
    return name;
}

/// Up to the next blank.
static std::string_view take_word(std::string_view& text) {
    const std::string_view word = text.substr(0, text.find_first_of(" \t"));
    text.remove_prefix(word.size());
    skip_blanks(text);
    return word;
}

/// Whether it is a Unix time, in a unit of 10^power ns, that 64 bits can hold as ns.
static bool is_time(std::string_view text, int power) {
    const std::optional<Decimal> decimal = scan_decimal(text);
    if (!decimal) {
        return false;
    }
    const Result<Scaled> scaled = scale(*decimal, power);
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return scaled && scaled.value().value <= most;
}

/// A number as Prometheus writes it: decimal, NaN, +Inf, -Inf in any case. Nothing for all else,
/// and for what a double cannot hold.
static std::optional<double> read_metric_value(std::string_view text) {
    const bool has_sign = text.starts_with('+') || text.starts_with('-');
    const std::string_view digits = text.substr(has_sign ? 1 : 0);
    const double sign = text.starts_with('-') ? -1.0 : 1.0;
    if (equal_ignoring_case(digits, "inf") || equal_ignoring_case(digits, "infinity")) {
        return sign * std::numeric_limits<double>::infinity();
    }
    if (equal_ignoring_case(text, "nan")) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    if (digits.empty() || !(is_digit(digits[0]) || digits[0] == '.')) {
        return std::nullopt;
    }
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size()
               ? std::optional(sign * value)
               : std::nullopt;
}

namespace {

/// A line that is a sample: name, labels, value, time, exemplar; taken off piece by piece.
struct LineReader {
    std::string_view rest;  ///< without the line's end
    int time_power;         ///< 10^that ns are the unit of times
    const SampleLimits& limits;
    UnescapedTexts& unescaped;
    Exposition& out;              ///< labels are appended to its own
    std::string_view words = {};  ///< that a message about an error quotes

    Result<void> fail(ErrorCode code, const char* what, std::string_view quoted) {
        words = quoted;
        return Error{code, 0, what};
    }

    /// The text behind an opening quote, up to the closing one.
    Result<void> quoted(std::string_view& value) {
        const std::string_view from = rest;
        std::size_t at = 0;
        bool has_escapes = false;
        while (at < rest.size() && rest[at] != '"') {
            has_escapes = has_escapes || rest[at] == '\\';
            at += rest[at] == '\\' ? 2 : 1;
        }
        if (at >= rest.size()) {
            return fail(ErrorCode::invalid, "a label's value has no closing quote", from);
        }
        if (at > limits.label_bytes_max) {
            return fail(ErrorCode::too_large, "a label's value is too long", from);
        }
        value = has_escapes ? unescaped.add(rest.substr(0, at)) : rest.substr(0, at);
        rest.remove_prefix(at + 1);
        return {};
    }

    Result<void> label() {
        const std::string_view from = rest;
        MetricLabel label;
        label.name = take_name(rest);
        if (label.name.empty() || is_digit(label.name[0])) {
            return fail(ErrorCode::invalid, "a label has no name", from);
        }
        if (label.name.size() > limits.name_bytes_max) {
            return fail(ErrorCode::too_large, "a label's name is too long", label.name);
        }
        skip_blanks(rest);
        if (!rest.starts_with('=')) {
            return fail(ErrorCode::invalid, "a label has no =", from);
        }
        rest.remove_prefix(1);
        skip_blanks(rest);
        if (!rest.starts_with('"')) {
            return fail(ErrorCode::invalid, "a label's value has no opening quote", from);
        }
        rest.remove_prefix(1);
        if (const Result<void> read = quoted(label.value); !read) {
            return read;
        }
        out.labels.push_back(label);
        skip_blanks(rest);
        return {};
    }

    /// "{...}", with or without a comma behind the last label.
    Result<void> labels(std::uint32_t& begin, std::uint32_t& count) {
        begin = static_cast<std::uint32_t>(out.labels.size());
        rest.remove_prefix(1);
        skip_blanks(rest);
        while (!rest.starts_with('}')) {  // bounded: each turn takes a label off
            if (out.labels.size() - begin >= limits.labels_max) {
                return fail(ErrorCode::too_large, "there are too many labels", "");
            }
            if (out.labels.size() >= limits.all_labels_max) {
                return fail(ErrorCode::too_large, "the page has too many labels", "");
            }
            if (const Result<void> read = label(); !read) {
                return read;
            }
            if (rest.starts_with(',')) {
                rest.remove_prefix(1);
                skip_blanks(rest);
            } else if (!rest.starts_with('}')) {
                return fail(ErrorCode::invalid, "the labels have no closing bracket", rest);
            }
        }
        rest.remove_prefix(1);
        skip_blanks(rest);
        count = static_cast<std::uint32_t>(out.labels.size()) - begin;
        return {};
    }

    /// A value; a time, where there is one, is only checked.
    Result<void> number(double& value) {
        const std::string_view word = take_word(rest);
        const std::optional<double> found = read_metric_value(word);
        if (!found) {
            return fail(ErrorCode::invalid, "the value is not a number", word);
        }
        value = *found;
        if (rest.empty() || rest.starts_with('#')) {
            return {};
        }
        const std::string_view time = take_word(rest);
        return is_time(time, time_power)
                   ? Result<void>()
                   : fail(ErrorCode::invalid, "the time is not a number in range", time);
    }

    /// "# {labels} value time": only checked.
    Result<void> exemplar() {
        rest.remove_prefix(1);
        skip_blanks(rest);
        if (!rest.starts_with('{')) {
            return fail(ErrorCode::invalid, "an exemplar has no labels", rest);
        }
        MetricSample exemplar;
        const Result<void> read = labels(exemplar.labels_begin, exemplar.labels_count);
        return read ? number(exemplar.value) : read;
    }

    Result<void> sample(MetricSample& sample) {
        const std::string_view line = rest;
        sample.name = take_name(rest);
        if (!is_metric_name(sample.name)) {
            return fail(ErrorCode::invalid, "it does not begin with the name of a metric", line);
        }
        if (sample.name.size() > limits.name_bytes_max) {
            return fail(ErrorCode::too_large, "the name of the metric is too long", sample.name);
        }
        const bool has_blank = rest.starts_with(' ') || rest.starts_with('\t');
        skip_blanks(rest);
        if (rest.starts_with('{')) {
            if (Result<void> read = labels(sample.labels_begin, sample.labels_count); !read) {
                return read;
            }
        } else if (!has_blank && !rest.empty()) {
            return fail(ErrorCode::invalid, "it does not begin with the name of a metric", line);
        }
        if (rest.empty()) {
            return fail(ErrorCode::invalid, "the sample has no value", line);
        }
        if (Result<void> read = number(sample.value); !read) {
            return read;
        }
        if (rest.starts_with('#')) {
            if (Result<void> read = exemplar(); !read) {
                return read;
            }
        }
        return rest.empty() ? Result<void>()
                            : fail(ErrorCode::invalid, "there is text after the sample", rest);
    }
};

}  // namespace

std::string_view UnescapedTexts::add(std::string_view escaped) {
    const std::size_t begin = texts_.size();
    for (std::size_t i = 0; i < escaped.size(); ++i) {
        const char next = escaped[i] == '\\' && i + 1 < escaped.size() ? escaped[i + 1] : '\0';
        const bool is_escape = next == '\\' || next == 'n' || next == '"';
        texts_ += !is_escape ? escaped[i] : next == 'n' ? '\n' : next;
        i += is_escape ? 1 : 0;
    }
    return std::string_view(texts_).substr(begin);
}

bool is_metric_name(std::string_view text) {
    return !text.empty() && !is_digit(text[0]) &&
           std::all_of(text.begin(), text.end(), is_name_byte);
}

static constexpr std::size_t quoted_bytes_max = 80;
static constexpr std::string_view eof_line = "# EOF";

static std::string_view take_line(std::string_view& page) {
    const std::size_t end = std::min(page.find('\n'), page.size());
    std::string_view line = page.substr(0, end);
    page.remove_prefix(std::min(end + 1, page.size()));
    if (line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    return line;
}

namespace {

/// What a sample's name may have behind the name of a family of that type.
struct Suffix {
    std::string_view text;
    MetricType type;
};

}  // namespace

static constexpr std::array suffixes{
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

namespace {

enum class Form : std::uint8_t { text, open_metrics, json, html };

}  // namespace

/// By what the server says of it, and where that says nothing, by how it begins and ends.
static Form form_of(std::string_view page, std::string_view content_type) {
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
    LineReader reader{line, is_open_metrics ? 9 : 6, limits_.line, unescaped_, out_};
    if (const Result<void> read = reader.sample(sample); !read) {
        return fail(read.error().code, read.error().doing, reader.words);
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
    skip_blanks(line);
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
        found.type = from_name<MetricType>(lower(text)).value_or(MetricType::unknown);
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

// The JSON of TensorRT-LLM's `/metrics`: a list of iterations, oldest first, each served once.
// https://nvidia.github.io/TensorRT-LLM/commands/trtllm-serve/trtllm-serve.html (metrics endpoint)

static constexpr std::string_view prefix = "trtllm_iteration_";

/// The numbers of the latest iteration become gauges:
/// `trtllm_iteration_kvCacheStats_usedNumBlocks`. Sums over iterations are not made: another reader
/// of the page may have got some of them.
Result<void> ExpositionReader::read_json(std::string_view page) {
    const Result<JsonValue> root = document_.parse(page);
    if (!root) {
        return fail(root.error().code, "the page is not complete JSON");
    }
    if (!root.value().is(JsonType::array)) {
        return fail(ErrorCode::bad_json, "the JSON is not a list of iterations (TensorRT-LLM)",
                    page);
    }
    JsonValue latest;
    for (JsonValue one = root.value().first(); one.present(); one = one.next()) {
        latest = one;
    }
    if (!latest.present()) {
        return {};  // idle: no iteration since the page was read last
    }
    if (!latest.is(JsonType::object)) {
        return fail(ErrorCode::bad_json, "an iteration is not an object", latest.raw());
    }
    std::string name(prefix);
    for (JsonValue one = latest.first(); one.present(); one = one.next()) {
        if (Result<void> added = add_json(name, one); !added) {
            return added;
        }
        for (JsonValue inner = one.is(JsonType::object) ? one.first() : JsonValue();
             inner.present(); inner = inner.next()) {
            name.append(one.key()).append("_");
            Result<void> added = add_json(name, inner);
            name.resize(prefix.size());
            if (!added) {
                return added;
            }
        }
    }
    return {};
}

/// A number becomes a sample; all else is nothing. `name` is before its key.
Result<void> ExpositionReader::add_json(const std::string& name, const JsonValue& value) {
    const std::optional<double> number = value.as_double();
    const std::string whole = name + std::string(value.key());
    if (!number || !is_metric_name(whole) || whole.size() > limits_.line.name_bytes_max) {
        return {};
    }
    if (out_.samples.size() >= limits_.series_max) {
        return fail(ErrorCode::too_large, "the page has too many series");
    }
    const std::string_view kept = names_.emplace_back(whole);
    const Result<std::uint32_t> at = family(kept);
    if (!at) {
        return at.error();
    }
    out_.families[at.value()].type = MetricType::gauge;
    MetricSample& sample = out_.samples.emplace_back();
    sample.name = kept;
    sample.family = at.value();
    sample.value = *number;
    return {};
}

}  // namespace driftless
