#include "proto/metrics/sample_line.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "proto/core/decimal.hpp"
#include "proto/core/letter_case.hpp"
#include "proto/core/text.hpp"

namespace driftless {

namespace {

constexpr bool is_name_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' || is_digit(c);
}

void skip_blanks(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
}

std::string_view take_name(std::string_view& text) {
    std::size_t end = 0;
    while (end < text.size() && is_name_byte(text[end])) {
        ++end;
    }
    const std::string_view name = text.substr(0, end);
    text.remove_prefix(end);
    return name;
}

/// Up to the next blank.
std::string_view take_word(std::string_view& text) {
    const std::string_view word = text.substr(0, text.find_first_of(" \t"));
    text.remove_prefix(word.size());
    skip_blanks(text);
    return word;
}

/// Unix ns; nothing where it is no time, or one that 64 bits cannot hold.
std::optional<std::int64_t> read_time(std::string_view text, int power) {
    const std::optional<Decimal> decimal = scan_decimal(text);
    if (!decimal) {
        return std::nullopt;
    }
    const Result<Scaled> scaled = scale(*decimal, power);
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (!scaled || scaled.value().value > most) {
        return std::nullopt;
    }
    const auto value = static_cast<std::int64_t>(scaled.value().value);
    return decimal->negative ? -value : value;
}

/// The rest of a line, taken off piece by piece.
struct LineReader {
    std::string_view rest;
    int time_power;
    const SampleLimits& limits;
    UnescapedTexts& unescaped;
    Exposition& out;
    LineProblem& problem;

    Result<void> fail(ErrorCode code, const char* what, std::string_view words) {
        problem = {what, words};
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

    /// A value, and a time where there is one.
    Result<void> number(double& value, std::optional<std::int64_t>& time_ns) {
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
        time_ns = read_time(time, time_power);
        if (!time_ns) {
            return fail(ErrorCode::invalid, "the time is not a number in range", time);
        }
        return {};
    }

    /// "# {labels} value time"
    Result<void> exemplar() {
        rest.remove_prefix(1);
        skip_blanks(rest);
        if (!rest.starts_with('{')) {
            return fail(ErrorCode::invalid, "an exemplar has no labels", rest);
        }
        MetricExemplar exemplar;
        if (Result<void> read = labels(exemplar.labels_begin, exemplar.labels_count); !read) {
            return read;
        }
        if (Result<void> read = number(exemplar.value, exemplar.time_ns); !read) {
            return read;
        }
        out.exemplars.push_back(exemplar);
        return {};
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

std::optional<double> read_metric_value(std::string_view text) {
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

Result<void> read_sample_line(std::string_view line, int time_power, const SampleLimits& limits,
                              UnescapedTexts& unescaped, Exposition& out, MetricSample& sample,
                              LineProblem& problem) {
    LineReader reader{line, time_power, limits, unescaped, out, problem};
    sample.name = take_name(reader.rest);
    if (!is_metric_name(sample.name)) {
        return reader.fail(ErrorCode::invalid, "it does not begin with the name of a metric", line);
    }
    if (sample.name.size() > limits.name_bytes_max) {
        return reader.fail(ErrorCode::too_large, "the name of the metric is too long", sample.name);
    }
    const bool has_blank = reader.rest.starts_with(' ') || reader.rest.starts_with('\t');
    skip_blanks(reader.rest);
    if (reader.rest.starts_with('{')) {
        if (Result<void> read = reader.labels(sample.labels_begin, sample.labels_count); !read) {
            return read;
        }
    } else if (!has_blank && !reader.rest.empty()) {
        return reader.fail(ErrorCode::invalid, "it does not begin with the name of a metric", line);
    }
    if (reader.rest.empty()) {
        return reader.fail(ErrorCode::invalid, "the sample has no value", line);
    }
    if (Result<void> read = reader.number(sample.value, sample.time_ns); !read) {
        return read;
    }
    if (reader.rest.starts_with('#')) {
        if (Result<void> read = reader.exemplar(); !read) {
            return read;
        }
        sample.exemplar = static_cast<std::uint32_t>(out.exemplars.size() - 1);
    }
    if (!reader.rest.empty()) {
        return reader.fail(ErrorCode::invalid, "there is text after the sample", reader.rest);
    }
    return {};
}

}  // namespace driftless
