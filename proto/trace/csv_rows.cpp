#include "proto/trace/csv_rows.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "proto/core/counted.hpp"
#include "proto/trace/fields.hpp"
#include "proto/trace/map_hint.hpp"
#include "proto/trace/shapes.hpp"

namespace driftless {
namespace {

constexpr const char* json_remedy =
    "a trace is JSON lines or CSV with a header; this version reads ";
/// The columns of a file that begins with a row of Azure's.
constexpr std::string_view azure_header = "TIMESTAMP,ContextTokens,GeneratedTokens";

}  // namespace

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
        here.refuse("", line, "is neither a JSON object nor a CSV header",
                    json_remedy + trace_format_names());
        return false;
    }
    if (names == line && is_row_of_numbers(header_)) {
        here.refuse("", line, "is a row of numbers where the CSV header belongs",
                    "add a first line with the names of the columns, such as time,in,out");
        return false;
    }
    if (rows_.choice().admit(header_)) {
        return true;
    }
    const TraceFormat* const format = rows_.choice().format();
    const ReadOptions& options = rows_.choice().options();
    if (format == nullptr) {
        here.refuse("", line, "is not the CSV header of a known format",
                    map_remedy(map_names(header_), options.time_unit));
        return false;
    }
    here.refuse("", line, "is not a header of the format " + std::string(format->name),
                options.format.empty() ? "replay files of different formats separately"
                                       : "correct --format, or read any columns with --map");
    return false;
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
        const auto first = std::find(names.begin(), names.end(), names[i]);
        const auto before = static_cast<std::size_t>(first - names.begin());
        const bool used = std::find(known.begin(), known.end(), names[i]) != known.end() ||
                          std::find(keep.begin(), keep.end(), names[i]) != keep.end();
        if (before < i && used) {
            doubles_.push_back({before, i});
        }
    }
}

/// A column that stands in the file twice is read where both say the same. False after an error.
bool CsvRows::check_doubles(const RowContext& here) const {
    const CsvRow row(header_, cells_);
    for (const DoubleColumn& both : doubles_) {
        if (row[both.first] != row[both.second]) {
            here.refuse(header_.names()[both.first],
                        std::string(row[both.first]) + ", " + std::string(row[both.second]),
                        "differs between two columns of that name",
                        "remove or rename one of the two");
            return false;
        }
    }
    return true;
}

}  // namespace driftless
