/// JsonlRows: the lines of a run's file as rows of cells, one by one: a file of any size is never
/// held as a whole. Owns the file; the torn last line of a killed run is left out.
#pragma once

#include <string>
#include <vector>

#include "cmd/report/figures.hpp"
#include "engine/history/run_lines.hpp"
#include "proto/core/result.hpp"
#include "proto/json/document.hpp"

namespace driftless {

/// The cells of a line that is parsed already: one for each column.
void read_cells(const JsonValue& line, const std::vector<Figure>& columns, TableRow& out);

class JsonlRows {
  public:
    /// Errors: as of RunLines; `why` says it.
    static Result<JsonlRows> open(const std::string& path, std::vector<Figure> columns,
                                  std::string& why);

    const std::vector<Figure>& columns() const { return columns_; }
    /// The next row, a cell for each column, valid until the next call; null at the end, and if the
    /// file cannot be read further: `why` says so then.
    const TableRow* next();
    /// Empty: nothing is wrong.
    const std::string& why() const { return why_; }

  private:
    JsonlRows(std::string path, RunLines lines, std::vector<Figure> columns)
        : path_(std::move(path)), lines_(std::move(lines)), columns_(std::move(columns)) {}

    std::string path_;
    RunLines lines_;
    std::vector<Figure> columns_;
    JsonDocument document_;
    TableRow row_;
    std::string why_;
};

}  // namespace driftless
