#include "proto/trace/reader.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "proto/core/text.hpp"
#include "proto/trace/csv.hpp"
#include "proto/trace/formats.hpp"

namespace driftless {

RowReader::RowReader(const ReadOptions& options, Trace& out, InputErrors& errors)
    : errors_(errors), draft_(out), columns_(options.keep), choice_(options, draft_) {
    draft_.name_spaces().set_scope(options.id_scope);
}

void RowReader::begin_file(std::string_view name) {
    file_ = name;
    draft_.begin_file(name);
    choice_.begin_file();
    previous_ns_ = 0;
}

RowContext RowReader::context(std::uint64_t line) {
    return {choice_.rules(), draft_, columns_, errors_, choice_.known(), file_, line};
}

Stop RowReader::read(RowContext& context, const JsonValue& row) {
    if (!choice_.admit(context, row)) {
        return Stop::file;
    }
    const TraceFormat& format = *choice_.format();
    if (format.read_json == nullptr) {
        context.refuse("", row.raw(), "is JSON; the format " + std::string(format.name) + " is CSV",
                       "choose another with --format");
        return Stop::file;
    }
    context.known = choice_.known();
    context.object = row;
    format.read_json(context, row);
    note_order();
    return context.stop;
}

Stop RowReader::read(RowContext& context, const CsvRow& row) {
    choice_.format()->read_csv(context, row);
    note_order();
    return context.stop;
}

/// Counts rows whose time is before their predecessor's.
void RowReader::note_order() {
    Trace& trace = draft_.trace();
    for (; rows_ordered_ < trace.rows.size(); ++rows_ordered_) {
        const std::int64_t at_ns = trace.rows[rows_ordered_].at_ns;
        trace.rows_unsorted += choice_.format()->ordered && at_ns < previous_ns_ ? 1 : 0;
        previous_ns_ = at_ns;
    }
}

static constexpr const char* json_remedy =
    "a trace is JSON lines or CSV with a header; this version reads ";
/// The columns of a file that begins with a row of Azure's.
static constexpr std::string_view azure_header = "TIMESTAMP,ContextTokens,GeneratedTokens";

/// What is too long to be parsed: by the shape that its beginning shows, or as such. Always false.
static bool refuse_long(const RowContext& here, std::string_view beginning, const char* problem,
                        const char* remedy) {
    const ForeignShape shape = foreign_long_shape(beginning);
    return shape.what.empty() ? here.refuse("", "", problem, remedy)
                              : here.refuse("", "", "looks like " + std::string(shape.what),
                                            std::string(shape.remedy));
}

/// Azure's traces are passed on without their header, too: a wall clock and two numbers.
bool CsvRows::begins_without_header(std::string_view line) {
    const TraceFormat* const format = rows_.choice().format();
    const bool wanted = format == nullptr || std::string_view(format->name) == "azure";
    if (!wanted || !cells_.split(line, ',') || cells_.size() != 3 ||
        !parse_time(cells_[0], TimeUnit::iso) || !whole_number(cells_[1]) ||
        !whole_number(cells_[2])) {
        return false;
    }
    rows_.draft().remark("file without a CSV header, read as Azure's time, input and output",
                         "files without a CSV header, read as Azure's time, input and output");
    return true;
}

Stop CsvRows::begin(std::uint64_t number, std::string_view line) {
    const RowContext here = rows_.context(number);
    const ForeignShape shape = foreign_text_shape(line, here.file);
    if (!shape.what.empty()) {
        here.refuse("", "", "looks like " + std::string(shape.what), std::string(shape.remedy));
        return Stop::file;
    }
    const bool headerless = begins_without_header(line);
    if (!read_header(here, line, headerless ? azure_header : line)) {
        return Stop::file;
    }
    text_.clear();
    find_doubles();
    return headerless ? add_line(number, line) : Stop::none;
}

/// Reads the names of the columns. False after an error, which quotes the line.
bool CsvRows::read_header(const RowContext& here, std::string_view line, std::string_view names) {
    if (!header_.read(names)) {
        return here.refuse("", line, "is neither a JSON object nor a CSV header",
                           json_remedy + trace_format_names());
    }
    if (names == line && is_row_of_numbers(header_)) {
        return here.refuse("", line, "is a row of numbers where the CSV header belongs",
                           "add a first line with the names of the columns, such as time,in,out");
    }
    if (rows_.choice().admit(header_)) {
        return true;
    }
    const TraceFormat* const format = rows_.choice().format();
    const ReadOptions& options = rows_.choice().options();
    if (format == nullptr) {
        return here.refuse("", line, "is not the CSV header of a known format",
                           map_remedy(header_.names(), options.time_unit));
    }
    return here.refuse("", line, "is not a header of the format " + std::string(format->name),
                       options.format.empty() ? "replay files of different formats separately"
                                              : "correct --format, or read any columns with --map");
}

Stop CsvRows::add_line(std::uint64_t number, std::string_view line) {
    std::string_view record = line;
    text_line_ = text_.empty() ? number : text_line_;
    if (!text_.empty()) {
        text_ += '\n';
        text_ += line;
        record = text_;
    }
    RowContext here = rows_.context(text_line_);
    const Result<void> cut = cells_.split(record, header_.separator());
    if (!cut && cut.error().code == ErrorCode::truncated && record.size() < csv_record_bytes_max) {
        text_ = text_.empty() ? std::string(line) : std::move(text_);
        return Stop::none;
    }
    Stop stop = Stop::none;
    if (cut) {
        stop = read_record(here, record);
    } else {
        here.refuse("", record, "has a misplaced quote", "correct the line");
    }
    text_.clear();
    return stop;
}

void CsvRows::end_file() {
    if (!text_.empty()) {
        rows_.context(text_line_)
            .refuse("", text_, "has a quote that is never closed", "correct the line");
    }
    text_.clear();
}

/// The cells of one record. Spreadsheets leave rows of empty cells, and empty cells behind the last
/// column.
Stop CsvRows::read_record(RowContext& here, std::string_view record) {
    const std::size_t columns = header_.names().size();
    std::size_t filled = 0;
    bool is_header = cells_.size() == columns;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
        filled = cells_[i].empty() ? filled : i + 1;
        is_header = is_header && header_.is_name(i, cells_[i]);
    }
    if (filled == 0) {
        rows_.draft().remark("empty row skipped", "empty rows skipped");
    } else if (is_header) {
        here.refuse("", record, "is a header inside the file",
                    "remove the line, or replay the files separately");
    } else if (filled > columns || cells_.size() < header_.named_size()) {
        here.refuse("", record,
                    "has " + counted(filled > columns ? filled : cells_.size(), "cell", "cells") +
                        ", the header " + std::to_string(columns),
                    "correct the line");
    } else if (!check_doubles(here)) {
        return Stop::file;
    } else {
        return rows_.read(here, CsvRow(header_, cells_));
    }
    return Stop::none;
}

void CsvRows::find_doubles() {
    const std::vector<std::string>& names = header_.names();
    const std::span<const std::string_view> known = rows_.choice().known();
    const std::vector<std::string>& keep = rows_.choice().options().keep;
    doubles_.clear();
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::size_t before = *header_.find(names[i]);
        const bool used = std::ranges::find(known, names[i]) != known.end() ||
                          std::ranges::find(keep, names[i]) != keep.end();
        if (before < i && used) {
            doubles_.push_back({before, i});
        }
    }
}

/// A column that is in the file twice is read where both say the same. False after an error.
bool CsvRows::check_doubles(const RowContext& here) const {
    const CsvRow row(header_, cells_);
    for (const DoubleColumn& both : doubles_) {
        if (row[both.first] != row[both.second]) {
            return here.refuse(header_.names()[both.first],
                               std::string(row[both.first]) + ", " + std::string(row[both.second]),
                               "differs between two columns of that name",
                               "remove or rename one of the two");
        }
    }
    return true;
}

void JsonRows::begin(JsonForm form) {
    form_ = form;
    texts_.clear();  // of a file that was given up
}

Stop JsonRows::add_line(std::uint64_t number, std::string_view line) {
    return gathers() ? gather(number, line) : read_text(number, line);
}

Stop JsonRows::end_file() {
    const bool open = gathers() && !texts_.text().empty();
    const Stop stop = open ? read_text(texts_.line(), texts_.text()) : Stop::none;
    texts_.clear();
    return stop;
}

/// Takes the line to the text at hand. One that it closes is read; the next begins behind it.
Stop JsonRows::gather(std::uint64_t number, std::string_view line) {
    Stop stop = Stop::none;
    const std::size_t line_bytes = line.size();
    while (stop == Stop::none) {  // each turn takes a text off, or the line's end
        if (texts_.text().empty()) {
            text_at_ = line_bytes - line.size() +
                       std::min(line.find_first_not_of(white_space), line.size());
        }
        const JsonTexts::Found found = texts_.take(number, line);
        if (found == JsonTexts::Found::part) {
            return Stop::none;
        }
        if (found == JsonTexts::Found::too_long) {
            refuse_long(rows_.context(texts_.line()), texts_.text(),
                        "is one JSON text of more than 64 MiB", array_remedy);
            stop = Stop::file;
        } else {
            stop = read_text(texts_.line(), texts_.text());
        }
        texts_.clear();
    }
    return stop;
}

/// One row or one conversation, or an array of them.
Stop JsonRows::read_text(std::uint64_t number, std::string_view text) {
    RowContext here = rows_.context(number);
    const Result<JsonValue> json = document_.parse(text);
    if (json && json.value().is(JsonType::object)) {
        return rows_.read(here, json.value());
    }
    if (json && json.value().is(JsonType::array) && form_ != JsonForm::lines) {
        return read_array(here, json.value());
    }
    return refuse_text(here, text,
                       json                                        ? Parse::whole
                       : json.error().code == ErrorCode::too_large ? Parse::too_deep
                                                                   : Parse::broken);
}

Stop JsonRows::read_array(RowContext& here, const JsonValue& array) {
    Stop stop = Stop::none;
    (void)read_each(here, array, "", [&](const JsonValue& row) {
        if (row.is(JsonType::object)) {
            stop = rows_.read(here, row);
        } else {
            here.refuse("", row.raw(), "is not a JSON object", "correct or remove it");
        }
        return stop == Stop::none;
    });
    return stop;
}

/// So much of a line as an error quotes, with what stands around that place.
static std::string_view piece_around(std::string_view line, std::size_t at) {
    constexpr std::size_t before_max = value_bytes_max / 2;
    if (line.size() <= value_bytes_max || at <= before_max) {
        return line;
    }
    std::size_t begin = std::min(at - before_max, line.size() - value_bytes_max);
    const auto continues = [&line](std::size_t byte) {
        return (static_cast<unsigned char>(line[byte]) & 0xC0U) == 0x80U;  // of a code point
    };
    for (unsigned moved = 0; moved < 3 && continues(begin); ++moved) {
        ++begin;
    }
    return line.substr(begin);
}

/// Names the line of the text in which the parser stopped, and shows what is there.
Stop JsonRows::refuse_text(const RowContext& at_start, std::string_view text, Parse found) {
    const bool rows = text.front() == '{' || (text.front() == '[' && form_ != JsonForm::lines);
    const bool not_finite = text.find("NaN") != std::string_view::npos ||
                            text.find("Infinity") != std::string_view::npos;
    RowContext here = at_start;
    std::string problem = "is not a JSON object";
    std::string_view shown = text;
    const std::size_t end = text.find_last_not_of(" \t\r\n") + 1;
    bool nul = false;
    const bool ends_early = found == Parse::broken && document_.error_offset() >= end;
    if (found != Parse::whole && (rows || gathers() || text.front() == '\0')) {
        const std::size_t offset = std::min(document_.error_offset(), end);
        const std::string_view before = text.substr(0, offset);
        const std::size_t begin = before.rfind('\n') + 1;  // npos + 1 is 0
        here.line += static_cast<std::uint64_t>(std::count(before.begin(), before.end(), '\n'));
        shown = piece_around(text.substr(begin, text.find('\n', begin) - begin), offset - begin);
        const std::size_t line_at = gathers() && begin == 0 ? text_at_ : 0;
        nul = found == Parse::broken && offset < text.size() && text[offset] == '\0';
        problem = (found == Parse::too_deep ? "is nested too deeply, at byte "
                   : nul                    ? "has a NUL byte, at byte "
                   : ends_early             ? "ends too early, at byte "
                                            : "is not JSON, at byte ") +
                  std::to_string(line_at + offset - begin + 1);
    }
    const ForeignShape cr_lines = foreign_line_ends(text);
    const bool cr_only = !cr_lines.what.empty();
    const bool comma = text.front() == ',';
    const bool one_line = !gathers();
    here.refuse("", shown, std::move(problem),
                nul ? "remove it: tr -d '\\0' < FILE > NEW_FILE; or write or fetch the file again"
                : cr_only ? std::string(cr_lines.remedy)
                : found == Parse::too_deep
                    ? "at most " + std::to_string(json_depth_max) + " levels are supported"
                : not_finite ? "JSON has no NaN and no Infinity; remove such rows"
                : one_line && rows && text.front() == '['
                    ? "correct it: the line is an array of rows"
                : one_line ? "correct or remove the line"
                : comma ? "remove the comma, or put [ before the first object and ] after the last"
                : ends_early ? "it may have been cut off: write or fetch it again"
                             : "correct it: JSON texts span several lines here");
    // Where a broken text ends is not known.
    return one_line ? Stop::none : Stop::file;
}

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
    refuse_long(rows_.context(number), beginning, "is longer than 64 MiB",
                beginning.starts_with('[') ? array_remedy : "put one row on each line");
    container_ = Container::refused;
}

void TraceReader::rebase_and_sort() {
    if (!std::ranges::is_sorted(trace_.rows, comes_before)) {
        std::ranges::sort(trace_.rows, comes_before);
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
    trace_.time_unit = name_of(choice.rules().unit);
    trace_.block_size = choice.rules().block_size;
    rows_.draft().remark(
        "block id stands for blocks of two lengths, which share the shorter one's tokens",
        "block ids stand for blocks of two lengths each, which share the shorter one's tokens",
        errors_.empty() ? uneven_tails(trace_) : 0);
    rebase_and_sort();
    return errors_.empty();
}

}  // namespace driftless
