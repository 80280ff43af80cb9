// The half of TraceReader that knows containers: which bytes of a file are rows, and of what
// format.
#include <algorithm>

#include "proto/trace/fields.hpp"
#include "proto/trace/read.hpp"
#include "proto/trace/shapes.hpp"

namespace driftless {
namespace {

constexpr std::string_view json_blanks = " \t\r\n";
constexpr const char* json_remedy =
    "a trace is JSON lines or CSV with a header; this version reads ";
/// The columns of a file that begins with a row of Azure's.
constexpr std::string_view azure_header = "TIMESTAMP,ContextTokens,GeneratedTokens";
constexpr const char* array_remedy =
    "a trace has one JSON object a line: jq -c '.[]' makes them of an array";

}  // namespace

void TraceReader::heed(Stop stop) {
    container_ = stop == Stop::none ? container_ : Container::refused;
    stopped_ = stopped_ || stop == Stop::trace;
}

/// By the first line that is not blank.
TraceReader::Container TraceReader::container_of(const RowContext& here, std::string_view line) {
    const char first = line.front();
    const bool closed = line.back() == '}' || line.back() == ']';
    const bool zeros = line.substr(0, 2).find('\0') != line.npos;  // no JSON, but UTF-16 maybe
    if ((first != '{' && first != '[') || zeros) {
        return csv_begin(here, line);
    }
    if (!closed) {
        return Container::gathered;
    }
    return first == '{' ? Container::json_lines : Container::json_array;
}

/// The format whose columns these are, in any case of letters. The header takes its spelling. Where
/// the format was chosen before, no other one is looked at.
const TraceFormat* TraceReader::csv_format() {
    const TraceFormat* found = nullptr;
    CsvHeader spelled = header_;
    for (const TraceFormat* one : trace_formats()) {
        const bool is_other = format_ != nullptr && one != format_;
        if (is_other || one->matches_header == nullptr) {
            continue;
        }
        CsvHeader adopted = header_;
        adopted.adopt(one->columns);
        if (one->matches_header(adopted)) {
            found = one;
            spelled = std::move(adopted);
        }
    }
    header_ = std::move(spelled);
    return found;
}

/// The map takes the header's spelling where they differ in upper and lower case only.
void TraceReader::spell_map() {
    for (MappedColumn& one : rules_.map) {
        if (const std::optional<std::size_t> at = header_.find_in_any_case(one.column)) {
            one.column = header_.names()[*at];
        }
    }
    if (format_ != nullptr) {
        list_known();
    }
}

/// Azure's traces are passed on without their header, too: a wall clock and two numbers.
bool TraceReader::begins_without_header(std::string_view line) {
    const bool wanted = format_ == nullptr || std::string_view(format_->name) == "azure";
    if (!wanted || !cells_.split(line, ',') || cells_.size() != 3 ||
        !parse_time(cells_[0], TimeUnit::iso) || !whole_number(cells_[1]) ||
        !whole_number(cells_[2])) {
        return false;
    }
    draft_.remark("file without a CSV header, read as Azure's time, input and output",
                  "files without a CSV header, read as Azure's time, input and output");
    return true;
}

TraceReader::Container TraceReader::csv_begin(const RowContext& here, std::string_view line) {
    const ForeignShape shape = foreign_text_shape(line);
    headerless_ = shape.what.empty() && begins_without_header(line);
    const std::string_view names = headerless_ ? azure_header : line;
    if (!shape.what.empty() || !header_.read(names)) {
        here.refuse(
            "", line,
            shape.what.empty() ? "is neither a JSON object nor a CSV header"
                               : "looks like " + std::string(shape.what),
            shape.what.empty() ? json_remedy + trace_format_names() : std::string(shape.remedy));
        return Container::refused;
    }
    const TraceFormat* const found = csv_format();
    spell_map();
    if (format_ == nullptr && found != nullptr) {
        choose(*found);
    }
    const bool fits = format_ != nullptr && format_->read_csv != nullptr &&
                      (found == format_ || format_->matches_header == nullptr);
    if (fits) {
        text_.clear();
        return Container::csv;
    }
    here.refuse("", line,
                format_ == nullptr ? std::string("is not the CSV header of a known format")
                                   : "is not a header of the format " + std::string(format_->name),
                "--map time=COLUMN,in=COLUMN,out=COLUMN names the columns of any other; columns "
                "are " +
                    joined(header_.names()));
    return Container::refused;
}

void TraceReader::csv_line(std::uint64_t number, std::string_view line) {
    std::string_view record = line;
    text_line_ = text_.empty() ? number : text_line_;
    if (!text_.empty()) {
        text_ += '\n';
        text_ += line;
        record = text_;
    }
    RowContext here = context(text_line_);
    const Result<void> cut = cells_.split(record, header_.separator());
    if (!cut && cut.error().code == ErrorCode::truncated && record.size() < csv_record_bytes_max) {
        text_ = text_.empty() ? std::string(line) : std::move(text_);
        return;
    }
    if (!cut) {
        here.refuse("", record, "has a quote out of place", "correct the line");
    } else if (cells_.size() != header_.names().size()) {
        here.refuse("", record,
                    "has " + std::to_string(cells_.size()) + " cells; the header names " +
                        std::to_string(header_.names().size()),
                    "correct the line");
    } else {
        format_->read_csv(here, CsvRow(header_, cells_));
        heed(here.stop);
        note_order();
    }
    text_.clear();
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

/// False where the text becomes longer than is gathered.
bool TraceReader::gather_part(std::string_view part) {
    if (text_.size() + part.size() < json_text_bytes_max) {
        text_ += part;
        return true;
    }
    const ForeignShape shape = foreign_long_shape(text_);
    context(text_line_)
        .refuse("", "",
                shape.what.empty() ? "is one JSON text of more than 64 MiB"
                                   : "looks like " + std::string(shape.what),
                shape.what.empty() ? array_remedy : std::string(shape.remedy));
    text_.clear();
    container_ = Container::refused;
    return false;
}

/// Takes the line to the text at hand. One that it closes is read; the next begins behind it.
void TraceReader::gather(std::uint64_t number, std::string_view line) {
    while (container_ == Container::gathered) {  // each turn takes a text off, or the line's end
        if (text_.empty()) {
            line.remove_prefix(std::min(line.find_first_not_of(json_blanks), line.size()));
            text_line_ = number;
        }
        const std::size_t end = line.empty() ? line.npos : text_end_.find(line);
        if (!gather_part(line.substr(0, end))) {
            return;
        }
        if (end == line.npos) {
            text_ += text_.empty() ? "" : "\n";
            return;
        }
        RowContext at_start = context(text_line_);
        json_text(at_start, text_);
        text_.clear();
        line.remove_prefix(end);
    }
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
    const bool one_line = container_ != Container::gathered;
    here.refuse("", shown, std::move(problem),
                not_finite ? "JSON has no NaN and no Infinity: leave such rows out"
                : one_line ? "correct or remove the line"
                           : "correct it: one JSON text goes over several lines here");
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
