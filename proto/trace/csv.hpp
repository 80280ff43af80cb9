/// CSV after RFC 4180, the columns that rows have beyond those that are read, and what to write for
/// `--map`.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/core/errors.hpp"
#include "proto/json/document.hpp"

namespace driftless {

// CSV after RFC 4180: a header and rows, cells found by their column's name.
//
// A cell may be quoted, with "" for a quote inside; a quoted cell may hold separators and line
// ends, so a record can be longer than a line. The separator is what the header has: a comma, a
// tab or a semicolon. Views only, but for cells that had to be unescaped. Touches no file.

/// Longest record that is put together from several lines: a quote without an end must not
/// swallow a file.
inline constexpr std::size_t csv_record_bytes_max = std::size_t{1} << 20;

/// The cells of one record. Valid until the next `split` and while the record's text stays.
class CsvCells {
  public:
    /// Cuts a record. Errors: truncated (a quote is open at the end: the record goes on in the
    /// next line), invalid (text behind a closing quote).
    Result<void> split(std::string_view record, char separator);

    std::size_t size() const { return cells_.size(); }
    std::string_view operator[](std::size_t i) const { return cells_[i]; }

  private:
    Result<std::string_view> take_quoted(std::string_view& rest);

    std::vector<std::string_view> cells_;
    std::deque<std::string> unescaped_;  ///< its elements stay where they are
};

/// The names of a file's columns.
class CsvHeader {
  public:
    /// False where `line` cannot be a header: fewer than two names, or a bad quote. A column
    /// without a name (the index that pandas writes, Excel's comma at the end) gets one as in
    /// pandas: "Unnamed: 0", its place from 0.
    bool read(std::string_view line);

    /// Names that are those of `columns` but for upper and lower case take their spelling.
    void adopt(std::span<const std::string_view> columns);

    const std::vector<std::string>& names() const { return names_; }
    std::optional<std::size_t> find(std::string_view name) const;
    /// The same; where no column is spelled so, the first that differs in upper and lower case.
    std::optional<std::size_t> find_in_any_case(std::string_view name) const;
    /// Whether a cell in that column is its name, in any case of letters.
    bool is_name(std::size_t column, std::string_view cell) const;
    char separator() const { return separator_; }
    /// Columns from this one on have no name.
    std::size_t named_size() const { return named_size_; }

  private:
    std::vector<std::string> names_;
    std::size_t named_size_ = 0;
    char separator_ = ',';
};

/// One record under its header. Borrows both.
class CsvRow {
  public:
    CsvRow(const CsvHeader& header, const CsvCells& cells) : header_(header), cells_(cells) {}

    const CsvHeader& header() const { return header_; }
    /// The cell in that column of the header; empty where the record is shorter.
    std::string_view operator[](std::size_t i) const {
        return i < cells_.size() ? cells_[i] : std::string_view{};
    }
    /// The cell in the column of that name; nothing where there is no such column.
    std::optional<std::string_view> find(std::string_view name) const {
        return cell(header_.find(name));
    }
    std::optional<std::string_view> find_in_any_case(std::string_view name) const {
        return cell(header_.find_in_any_case(name));
    }

  private:
    std::optional<std::string_view> cell(std::optional<std::size_t> at) const {
        return at && *at < cells_.size() ? std::optional(cells_[*at]) : std::nullopt;
    }

    const CsvHeader& header_;
    const CsvCells& cells_;
};

// ColumnNotes: which columns rows have beyond those that their format reads.
//
// It carries the columns that `--keep` names into the trace, counts all others, and knows at the
// end which kept column no row had. Owned by the reader of a trace.

/// "a, b, c", for messages; of many names the first.
std::string joined(const std::vector<std::string>& names);

class ColumnNotes {
  public:
    explicit ColumnNotes(std::vector<std::string> keep)
        : keep_(std::move(keep)), seen_(keep_.size()) {}

    /// A row with these names was read by a format that reads `known`.
    void note(const JsonValue& row, std::span<const std::string_view> known);
    /// The header of a CSV file may spell a kept column in other upper and lower case.
    void note(const CsvRow& row, std::span<const std::string_view> known);

    bool keeps() const { return !keep_.empty(); }
    /// JSON object of the kept columns; null for those that this row lacks. A name with dots leads
    /// into the members of JSON.
    std::string kept(const JsonValue& row);
    std::string kept(const CsvRow& row);

    /// The kept columns that no row had.
    std::vector<std::string> missing() const;
    std::uint64_t unknown() const { return unknown_; }
    /// The names of unknown columns, as far as they were noted.
    const std::vector<std::string>& unknown_names() const { return unknown_names_; }
    /// What `--keep` and `--map` could name in the first row.
    const std::vector<std::string>& paths() const { return paths_; }

  private:
    bool is_kept(std::string_view name) const;
    void note_unless_known(std::string_view name, std::span<const std::string_view> known);
    bool same_names(const JsonValue& row) const;

    std::vector<std::string> keep_;
    std::vector<bool> seen_;  ///< [keep_] some row had it
    std::uint64_t unknown_ = 0;
    std::vector<std::string> unknown_names_;
    std::vector<std::size_t> kept_columns_;  ///< of the CSV row at hand
    /// The names of the row before, in order: most JSON rows of a trace have the same, and then
    /// count the same.
    std::vector<std::string> names_;
    std::uint64_t names_unknown_ = 0;
    std::vector<std::string> paths_;
};

// What to write for `--map` where a CSV header or a row is of no known format, by what its names
// say.
//
// For messages only: nothing is read by these guesses. Pure.

/// The names that `--map` can give of a row: "ts", "usage.prompt_tokens".
std::vector<std::string> map_names(const JsonValue& row);

/// "name the columns with --map time=ts,in=COLUMN,out=output_tokens; there are ..": COLUMN stands
/// where no name is obvious. Where all are, the flag is ready to copy, with what to do about the
/// unit of the times unless `time_unit` was given.
std::string map_remedy(const std::vector<std::string>& names, std::string_view time_unit);

/// Whether each name of the header is a number or a date: the file begins with a row.
bool is_row_of_numbers(const CsvHeader& header);

}  // namespace driftless
