/// CSV after RFC 4180: a header and rows, cells found by their column's name.
///
/// A cell may be quoted, with "" for a quote inside; a quoted cell may hold separators and line
/// ends, so a record can be longer than a line. The separator is what the header has: a comma, a
/// tab or a semicolon. Views only, but for cells that had to be unescaped. Touches no file.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/core/result.hpp"

namespace driftless {

/// Longest record that is put together from several lines: a quote that nobody closed must not
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

}  // namespace driftless
