#include "proto/trace/read.hpp"

#include <algorithm>
#include <limits>

#include "proto/json/write.hpp"

namespace driftless {
namespace {

/// Names of unknown keys that are noted for the message; their count goes on.
constexpr std::size_t unknown_names_max = 16;

std::string_view trim(std::string_view line) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) {
        return {};
    }
    return line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
}

bool contains(std::span<const std::string_view> names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

TraceReader::TraceReader(const ReadOptions& options, Trace& out, InputErrors& errors)
    : options_(options), trace_(out), errors_(errors), kept_seen_(options.keep.size()) {
    const RowContext context{rules_, trace_, errors_, "", 0};
    if (!options.time_unit.empty() && !time_unit_from_name(options.time_unit)) {
        context.refuse("--time-unit", options.time_unit, "is no unit of time",
                       "it is one of s, ms, us, ns");
        stopped_ = true;
    }
    if (!options.format.empty()) {
        const TraceFormat* format = find_trace_format(options.format);
        if (format == nullptr) {
            context.refuse("--format", options.format, "is no format that this version reads",
                           "it reads " + trace_format_names());
            stopped_ = true;
        } else if (!stopped_) {
            choose(*format);
        }
    }
}

void TraceReader::choose(const TraceFormat& format) {
    format_ = &format;
    rules_.time_unit = time_unit_from_name(options_.time_unit).value_or(format.time_unit);
    rules_.block_size = options_.block_size > 0 ? options_.block_size : format.block_size;
    rules_.lenient = options_.lenient;
    trace_.format = format.name;
    trace_.time_unit = name_of(rules_.time_unit);
    trace_.block_size = rules_.block_size;
    trace_.tail_rule = format.tail_rule;
}

void TraceReader::begin_file(std::string_view name) {
    file_ = name;
    ++files_;
    previous_ns_ = 0;
}

bool TraceReader::add_line(std::uint64_t number, std::string_view line) {
    line = trim(line);
    if (stopped_ || line.empty()) {
        return !stopped_;
    }
    const RowContext context{rules_, trace_, errors_, file_, number};
    const Result<JsonValue> json = document_.parse(line);
    if (!json || !json.value().is(JsonType::object)) {
        stopped_ = !refuse_text(context, line);
        return !stopped_;
    }
    if (format_ == nullptr && !detect(context, json.value())) {
        stopped_ = true;
        return false;
    }
    add_row(context, json.value());
    return true;
}

/// A line that is no JSON object. False where the whole file is something else.
bool TraceReader::refuse_text(const RowContext& context, std::string_view line) {
    const bool object = line.front() == '{' && line.back() == '}';
    if (format_ == nullptr && !object) {
        const std::string_view shape = foreign_text_shape(line);
        context.refuse(
            "", line,
            shape.empty() ? "is no JSON object on one line" : "looks like " + std::string(shape),
            "traces are JSON lines; this version reads " + trace_format_names());
        return false;
    }
    const bool not_finite = line.find("NaN") != std::string_view::npos ||
                            line.find("Infinity") != std::string_view::npos;
    context.refuse("", line,
                   object ? "is no JSON, at byte " + std::to_string(document_.error_offset() + 1)
                          : "is no JSON object",
                   not_finite ? "JSON has no NaN and no Infinity: leave such rows out"
                              : "correct or remove the line");
    return true;
}

bool TraceReader::detect(const RowContext& context, const JsonValue& row) {
    const std::string_view foreign = foreign_shape(row);
    if (foreign.empty()) {
        for (const TraceFormat* format : trace_formats()) {
            if (format->matches(row)) {
                choose(*format);
                return true;
            }
        }
    }
    context.refuse(
        "", row.raw(),
        foreign.empty() ? "has the keys of no known format" : "looks like " + std::string(foreign),
        "this version reads " + trace_format_names() + "; --format overrides");
    return false;
}

void TraceReader::add_row(const RowContext& context, const JsonValue& json) {
    TraceRow row;
    const std::size_t ids = trace_.ids.size();
    note_keys(json);
    if (!format_->read_row(context, json, row)) {
        trace_.ids.resize(ids);
        return;
    }
    CHECK(trace_.rows.size() < std::numeric_limits<std::uint32_t>::max());
    row.index = static_cast<std::uint32_t>(trace_.rows.size());
    row.line = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(context.line, std::numeric_limits<std::uint32_t>::max()));
    row.name_space = files_ == 0 ? 0 : files_ - 1;
    trace_.rows_unsorted += row.at_ns < previous_ns_ ? 1 : 0;
    previous_ns_ = row.at_ns;
    if (!options_.keep.empty()) {
        trace_.kept.push_back(kept_columns(json));
    }
    trace_.rows.push_back(row);
}

void TraceReader::note_keys(const JsonValue& json) {
    for (JsonValue value = json.first(); value.present(); value = value.next()) {
        const std::string_view key = value.key();
        const auto kept = std::find(options_.keep.begin(), options_.keep.end(), key);
        if (kept != options_.keep.end()) {
            kept_seen_[static_cast<std::size_t>(kept - options_.keep.begin())] = true;
        } else if (!contains(format_->columns, key)) {
            ++trace_.unknown_keys;
            const bool noted = std::find(unknown_names_.begin(), unknown_names_.end(), key) !=
                               unknown_names_.end();
            if (!noted && unknown_names_.size() < unknown_names_max) {
                unknown_names_.emplace_back(key);
            }
        }
    }
}

std::string TraceReader::kept_columns(const JsonValue& json) {
    std::string text;
    JsonWriter writer(text);
    writer.begin_object();
    for (const std::string& name : options_.keep) {
        const JsonValue value = json.find(name);
        writer.key(name).raw(value.present() ? value.raw() : "null");
    }
    writer.end_object();
    return text;
}

/// A kept column that no row has is a typing error of the user's.
void TraceReader::check_kept() {
    for (std::size_t i = 0; i < options_.keep.size(); ++i) {
        if (!kept_seen_[i]) {
            std::string names;
            for (const std::string& name : unknown_names_) {
                names += (names.empty() ? "" : ", ") + name;
            }
            const RowContext context{rules_, trace_, errors_, "", 0};
            context.refuse("--keep", options_.keep[i], "is a column of no row",
                           names.empty() ? "no row has columns beyond the format's own"
                                         : "other columns are " + names);
        }
    }
}

void TraceReader::rebase_and_sort() {
    // The index settles equal instants, so that the order is stable.
    const auto before = [](const TraceRow& a, const TraceRow& b) {
        return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.index < b.index;
    };
    if (!std::is_sorted(trace_.rows.begin(), trace_.rows.end(), before)) {
        std::sort(trace_.rows.begin(), trace_.rows.end(), before);
    }
    const std::int64_t first = trace_.rows.empty() ? 0 : trace_.rows.front().at_ns;
    for (TraceRow& row : trace_.rows) {
        row.at_ns -= first;
    }
}

bool TraceReader::finish() {
    if (!stopped_ && trace_.rows.empty() && errors_.empty()) {
        const RowContext context{rules_, trace_, errors_, file_, 0};
        context.refuse("", "", "holds no row", "a trace needs at least one");
    }
    if (!stopped_ && !trace_.rows.empty()) {
        check_kept();
    }
    rebase_and_sort();
    return errors_.empty();
}

}  // namespace driftless
