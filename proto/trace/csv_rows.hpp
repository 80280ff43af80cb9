/// CsvRows: the records of a CSV file, from its lines to its format.
///
/// The first line is the header, or a row of a trace that is passed on without one. Cells with line
/// ends make a record longer than a line. Owned by a TraceReader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/trace/csv.hpp"
#include "proto/trace/row_reader.hpp"

namespace driftless {

class CsvRows {
  public:
    /// `rows` outlives this.
    explicit CsvRows(RowReader& rows) : rows_(rows) {}

    /// The first line of a file that is no JSON, as it stands. `Stop::file` after an error.
    Stop begin(std::uint64_t number, std::string_view line);
    Stop add_line(std::uint64_t number, std::string_view line);
    /// After the last line: a record that is still open is an error.
    void end_file();

    /// A record goes on in the next line.
    bool is_open() const { return !text_.empty(); }

  private:
    /// Two columns of a file that have one name, which is read or kept.
    struct DoubleColumn {
        std::size_t first;
        std::size_t second;
    };

    bool begins_without_header(std::string_view line);
    bool read_header(const RowContext& here, std::string_view line, std::string_view names);
    Stop read_record(RowContext& here, std::string_view record);
    void find_doubles();
    bool check_doubles(const RowContext& here) const;

    RowReader& rows_;
    CsvHeader header_;
    CsvCells cells_;
    std::vector<DoubleColumn> doubles_;
    std::string text_;             ///< the beginning of a record
    std::uint64_t text_line_ = 0;  ///< where it begins
};

}  // namespace driftless
