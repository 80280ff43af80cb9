/// A run as one workbook of Excel (`--xlsx`), and the sheets of it, filled row by row.
#pragma once

#include <xlsxwriter.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/report/export_cells.hpp"
#include "cmd/report/rebuilt_run.hpp"

namespace driftless {

// Sheet: a table in a workbook of Excel, filled row by row. Where a table has more rows than a
// sheet can hold, it goes on in sheets of the same name with a number.

/// Rows of a sheet, the line of the columns' names included (Excel's limit: 2^20).
inline constexpr std::uint32_t sheet_rows_max = LXW_ROW_MAX;

class Sheet {
  public:
    /// Adds the first sheet, behind those that the workbook has, with the names of the columns.
    /// `rows_max` is smaller in tests only.
    Sheet(lxw_workbook* workbook, std::string name, std::span<const std::string_view> columns,
          std::uint32_t rows_max = sheet_rows_max);

    /// The library had a temporary file for every sheet; where not, rows are left out.
    bool made() const { return sheet_ != nullptr; }

    void add(const TableRow& row);
    /// After the last row: the filters know then how far they go.
    void finish();

    const std::string& name() const { return name_; }
    /// Of the first sheet, without the names of the columns.
    std::uint32_t rows() const { return first_rows_; }
    /// A column's place; the name is one of the columns.
    std::uint16_t place_of(std::string_view column) const;

  private:
    void begin_sheet();

    lxw_workbook* workbook_;
    std::string name_;
    std::vector<std::string> columns_;
    std::uint32_t rows_max_;
    lxw_worksheet* sheet_ = nullptr;
    std::uint32_t sheets_ = 0;
    std::uint32_t next_row_ = 0;
    std::uint32_t first_rows_ = 0;
};

/// `--xlsx FILE`: summary, charts, requests, periods, definitions. Numbers are numbers, the first
/// line of each table stays in sight and filters its columns. Rows go to disk one by one: memory
/// does not grow with the run. Temporary files lie beside `path`. Never writes over a file. Returns
/// the exit code; what failed is printed.
int write_workbook(const ReportedRun& run, const std::string& path);

}  // namespace driftless
