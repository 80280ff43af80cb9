// The part of TraceReader that knows containers, and JSON in them: which bytes of a file are rows,
// and of what format.
#include <algorithm>

#include "proto/trace/read.hpp"
#include "proto/trace/shapes.hpp"

namespace driftless {
namespace {

constexpr const char* array_remedy =
    "a trace has one JSON object a line: jq -c '.[]' makes them of an array";

}  // namespace

void TraceReader::heed(Stop stop) {
    container_ = stop == Stop::none ? container_ : Container::refused;
    stopped_ = stopped_ || stop == Stop::trace;
}

/// By the first line that is not blank. Tabs at its ends may be columns without a name.
TraceReader::Container TraceReader::container_of(const RowContext& here, std::string_view line,
                                                 std::string_view trimmed) {
    const char first = trimmed.front();
    const bool closed = trimmed.back() == '}' || trimmed.back() == ']';
    const bool zeros = trimmed.substr(0, 2).find('\0') != line.npos;  // no JSON, but UTF-16 maybe
    if ((first != '{' && first != '[') || zeros) {
        return csv_begin(here, line);
    }
    if (!closed) {
        return Container::gathered;
    }
    return first == '{' ? Container::json_lines : Container::json_array;
}

void TraceReader::refuse_long_line(std::uint64_t number, std::string_view beginning) {
    const ForeignShape shape = foreign_long_shape(beginning);
    const RowContext here = context(number);
    if (!shape.what.empty()) {
        here.refuse("", "", "looks like " + std::string(shape.what), std::string(shape.remedy));
    } else {
        here.refuse("", "", "is longer than 64 MiB",
                    beginning.starts_with('[') ? array_remedy : "a trace has one row a line");
    }
    text_.clear();
    container_ = Container::refused;
}

/// Takes the line to the text at hand. One that it closes is read; the next begins behind it.
void TraceReader::gather(std::uint64_t number, std::string_view line) {
    while (container_ == Container::gathered) {  // each turn takes a text off, or the line's end
        const JsonTexts::Found found = texts_.take(number, line);
        if (found == JsonTexts::Found::part) {
            return;
        }
        if (found == JsonTexts::Found::too_long) {
            refuse_long_text();
        } else {
            RowContext at_start = context(texts_.line());
            json_text(at_start, texts_.text());
        }
        texts_.clear();
    }
}

void TraceReader::refuse_long_text() {
    const ForeignShape shape = foreign_long_shape(texts_.text());
    context(texts_.line())
        .refuse("", "",
                shape.what.empty() ? "is one JSON text of more than 64 MiB"
                                   : "looks like " + std::string(shape.what),
                shape.what.empty() ? array_remedy : std::string(shape.remedy));
    container_ = Container::refused;
}

/// One row or one conversation, or an array of them.
void TraceReader::json_text(RowContext& here, std::string_view text) {
    const Result<JsonValue> json = document_.parse(text);
    if (json && json.value().is(JsonType::object)) {
        json_object(here, json.value());
        return;
    }
    const bool array =
        json && json.value().is(JsonType::array) && container_ != Container::json_lines;
    if (!array) {
        refuse_text(here, text);
        return;
    }
    std::uint64_t number = 0;
    for (JsonValue row = json.value().first(); row.present(); row = row.next()) {
        here.place = "[" + std::to_string(number++) + "]";
        if (container_ == Container::refused) {
            return;
        }
        if (row.is(JsonType::object)) {
            json_object(here, row);
        } else {
            here.refuse("", row.raw(), "is not a JSON object", "correct or remove it");
        }
    }
}

void TraceReader::json_object(RowContext& here, const JsonValue& row) {
    if (!format_checked_ && !detect(here, row)) {
        container_ = Container::refused;
        return;
    }
    if (format_->read_json == nullptr) {
        here.refuse("", row.raw(), "is JSON; the format " + trace_.format + " is CSV",
                    "--format names another");
        container_ = Container::refused;
        return;
    }
    here.known = known_;
    here.object = row;
    format_->read_json(here, row);
    heed(here.stop);
    note_order();
}

/// Names the line of the text in which the parser stopped.
void TraceReader::refuse_text(const RowContext& at_start, std::string_view text) {
    const bool object = text.front() == '{';
    const bool not_finite = text.find("NaN") != std::string_view::npos ||
                            text.find("Infinity") != std::string_view::npos;
    RowContext here = at_start;
    std::string problem = "is not a JSON object";
    std::string_view shown = text;
    if (object || container_ == Container::gathered) {
        const std::size_t offset = std::min(document_.error_offset(), text.size());
        const std::string_view before = text.substr(0, offset);
        const std::size_t begin = before.rfind('\n') + 1;  // npos + 1 is 0
        here.line += static_cast<std::uint64_t>(std::count(before.begin(), before.end(), '\n'));
        shown = text.substr(begin, text.find('\n', begin) - begin);
        problem = "is not JSON, at byte " + std::to_string(offset - begin + 1);
    }
    const ForeignShape cr_lines = foreign_line_ends(text);
    const bool cr_only = !cr_lines.what.empty();
    const bool comma = text.front() == ',';
    const bool one_line = container_ != Container::gathered;
    here.refuse("", shown, std::move(problem),
                cr_only      ? std::string(cr_lines.remedy)
                : not_finite ? "JSON has no NaN and no Infinity: leave such rows out"
                : one_line   ? "correct or remove the line"
                : comma ? "remove the comma; or put [ before the first object and ] behind the last"
                        : "correct it: JSON texts go over several lines here");
    // Where a broken text ends is not known.
    container_ = one_line ? container_ : Container::refused;
}

/// The format by the keys of a file's first row. Several files must be of one format.
bool TraceReader::detect(const RowContext& here, const JsonValue& row) {
    const ForeignShape foreign = foreign_shape(row);
    std::vector<const TraceFormat*> found;
    for (const TraceFormat* one : trace_formats()) {
        if (foreign.what.empty() && one->matches != nullptr && one->matches(row)) {
            found.push_back(one);
        }
    }
    std::string problem = "does not have the keys of a known format";
    std::string remedy = "this version reads " + trace_format_names() +
                         "; --format overrides, --map time=KEY,in=KEY,out=KEY reads any other";
    if (!foreign.what.empty()) {
        problem = "looks like " + std::string(foreign.what);
        remedy = foreign.remedy;
    } else if (found.size() > 1) {
        problem = std::string("has the keys of ") + found[0]->name + " and of " + found[1]->name;
        remedy = "--format says which";
    } else if (found.size() == 1 && format_ != nullptr && format_ != found[0]) {
        problem = std::string("looks like ") + found[0]->name + ", but the trace began as " +
                  format_->name;
        remedy = "replay files of different formats one by one";
    } else if (found.size() == 1) {
        format_checked_ = true;
        if (format_ == nullptr) {
            choose(*found[0]);
        }
        return true;
    }
    here.refuse("", row.raw(), problem, remedy);
    return false;
}

/// Counts rows whose time is before their predecessor's.
void TraceReader::note_order() {
    for (; rows_ordered_ < trace_.rows.size(); ++rows_ordered_) {
        const std::int64_t at_ns = trace_.rows[rows_ordered_].at_ns;
        trace_.rows_unsorted += format_->ordered && at_ns < previous_ns_ ? 1 : 0;
        previous_ns_ = at_ns;
    }
}

}  // namespace driftless
