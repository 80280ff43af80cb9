// The part of TraceReader that knows CSV files: their header, and their records.
#include <algorithm>

#include "proto/core/counted.hpp"
#include "proto/trace/fields.hpp"
#include "proto/trace/read.hpp"
#include "proto/trace/shapes.hpp"

namespace driftless {
namespace {

constexpr const char* json_remedy =
    "a trace is JSON lines or CSV with a header; this version reads ";
/// The columns of a file that begins with a row of Azure's.
constexpr std::string_view azure_header = "TIMESTAMP,ContextTokens,GeneratedTokens";

}  // namespace

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
    const ForeignShape shape = foreign_text_shape(line, here.file);
    headerless_ = shape.what.empty() && begins_without_header(line);
    const std::string_view names = headerless_ ? azure_header : line;
    if (!shape.what.empty()) {
        here.refuse("", "", "looks like " + std::string(shape.what), std::string(shape.remedy));
        return Container::refused;
    }
    if (!header_.read(names)) {
        here.refuse("", line, "is neither a JSON object nor a CSV header",
                    json_remedy + trace_format_names());
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
        find_doubles();
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
    if (cut) {
        csv_record(here, record);
    } else {
        here.refuse("", record, "has a quote out of place", "correct the line");
    }
    text_.clear();
}

/// The cells of one record. Spreadsheets leave rows of empty cells, and empty cells behind the last
/// column.
void TraceReader::csv_record(RowContext& here, std::string_view record) {
    const std::size_t columns = header_.names().size();
    std::size_t filled = 0;
    bool is_header = cells_.size() == columns;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
        filled = cells_[i].empty() ? filled : i + 1;
        is_header = is_header && header_.is_name(i, cells_[i]);
    }
    if (filled == 0) {
        draft_.remark("empty row skipped", "empty rows skipped");
    } else if (is_header) {
        here.refuse("", record, "is a header inside the file",
                    "remove the line, or give the files one by one");
    } else if (filled > columns || cells_.size() < header_.named_size()) {
        here.refuse("", record,
                    "has " + counted(filled > columns ? filled : cells_.size(), "cell", "cells") +
                        ", the header " + std::to_string(columns),
                    "correct the line");
    } else if (check_doubles(here)) {
        format_->read_csv(here, CsvRow(header_, cells_));
        heed(here.stop);
        note_order();
    }
}

void TraceReader::find_doubles() {
    const std::vector<std::string>& names = header_.names();
    doubles_.clear();
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto first = std::find(names.begin(), names.end(), names[i]);
        const auto before = static_cast<std::size_t>(first - names.begin());
        const bool used =
            std::find(known_.begin(), known_.end(), names[i]) != known_.end() ||
            std::find(options_.keep.begin(), options_.keep.end(), names[i]) != options_.keep.end();
        if (before < i && used) {
            doubles_.push_back({before, i});
        }
    }
}

/// A column that stands in the file twice is read where both say the same. False after an error.
bool TraceReader::check_doubles(const RowContext& here) {
    const CsvRow row(header_, cells_);
    for (const DoubleColumn& both : doubles_) {
        if (row[both.first] != row[both.second]) {
            here.refuse(header_.names()[both.first],
                        std::string(row[both.first]) + ", " + std::string(row[both.second]),
                        "differs between two columns of that name",
                        "remove or rename one of the two");
            container_ = Container::refused;
            return false;
        }
    }
    return true;
}

}  // namespace driftless
