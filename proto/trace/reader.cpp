#include "proto/trace/reader.hpp"

#include <algorithm>

#include "proto/core/text.hpp"
#include "proto/trace/shapes.hpp"
#include "proto/trace/tails.hpp"
#include "proto/trace/whole_trace.hpp"

namespace driftless {

TraceReader::TraceReader(const ReadOptions& options, Trace& out, InputErrors& errors)
    : trace_(out), errors_(errors), rows_(options, out, errors), json_(rows_), csv_(rows_) {
    stopped_ = !rows_.choice().take_options(rows_.context(0));
}

void TraceReader::begin_file(std::string_view name) {
    end_file();
    rows_.begin_file(name);
    container_ = Container::unknown;
}

void TraceReader::end_file() {
    if (container_ == Container::json) {
        (void)goes_on(json_.end_file());
    } else if (container_ == Container::csv) {
        csv_.end_file();
    }
    container_ = Container::refused;
}

/// Heeds what a row says of the rest of the input. False where no line of this file is wanted.
bool TraceReader::goes_on(Stop stop) {
    container_ = stop == Stop::none ? container_ : Container::refused;
    stopped_ = stopped_ || stop == Stop::trace;
    return container_ != Container::refused;
}

bool TraceReader::add_line(std::uint64_t number, std::string_view line) {
    return !stopped_ && container_ != Container::refused && goes_on(take_line(number, line));
}

Stop TraceReader::take_line(std::uint64_t number, std::string_view line) {
    if (container_ == Container::json && json_.gathers()) {
        return json_.add_line(number, line);
    }
    const std::string_view trimmed = trim(line, " \t\r");
    const bool in_record = container_ == Container::csv && csv_.is_open();
    if (trimmed.empty() && !in_record) {
        return Stop::none;
    }
    switch (container_) {
        case Container::json:
            return json_.add_line(number, trimmed);
        case Container::csv:
            return csv_.add_line(number, line);
        default:
            return begin_container(number, line, trimmed);
    }
}

/// By the first line that is not blank. Tabs at its ends may be columns without a name.
Stop TraceReader::begin_container(std::uint64_t number, std::string_view line,
                                  std::string_view trimmed) {
    const char first = trimmed.front();
    const std::string_view text = trim(trimmed, std::string_view("\0 \t", 3));
    const bool closed = text.ends_with('}') || text.ends_with(']');   // JSON then refuses zeros
    const bool zeros = trimmed.substr(0, 2).find('\0') != line.npos;  // no JSON, but UTF-16 maybe
    if ((first != '{' && first != '[') || zeros) {
        container_ = Container::csv;
        return csv_.begin(number, line);
    }
    container_ = Container::json;
    json_.begin(!closed ? JsonForm::gathered : first == '{' ? JsonForm::lines : JsonForm::arrays);
    return json_.add_line(number, closed ? trimmed : line);
}

void TraceReader::refuse_long_line(std::uint64_t number, std::string_view beginning) {
    const ForeignShape shape = foreign_long_shape(beginning);
    const RowContext here = rows_.context(number);
    if (!shape.what.empty()) {
        here.refuse("", "", "looks like " + std::string(shape.what), std::string(shape.remedy));
    } else {
        here.refuse("", "", "is longer than 64 MiB",
                    beginning.starts_with('[') ? array_remedy : "put one row on each line");
    }
    container_ = Container::refused;
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
    end_file();
    FormatChoice& choice = rows_.choice();
    rows_.draft().finish();
    trace_.unknown_keys = rows_.columns().unknown();
    if (!stopped_) {
        check_whole_trace(rows_.context(0), choice.format(), choice.options().model_column);
    }
    trace_.time_unit = name_of(choice.rules().time_unit);
    trace_.block_size = choice.rules().block_size;
    rows_.draft().remark(
        "block id stands for blocks of two lengths, which share the shorter one's tokens",
        "block ids stand for blocks of two lengths each, which share the shorter one's tokens",
        errors_.empty() ? uneven_tails(trace_) : 0);
    rebase_and_sort();
    return errors_.empty();
}

}  // namespace driftless
