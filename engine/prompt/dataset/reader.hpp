/// DatasetReader: a dataset's bytes in pieces of any size, its texts out.
///
/// A JSON array (ShareGPT), or JSON lines; which, is decided by the first byte. It holds one row at
/// a time, and never touches a file. Owned by whoever reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/input/lines.hpp"
#include "proto/core/result.hpp"
#include "proto/dataset/texts.hpp"
#include "proto/json/document.hpp"
#include "proto/json/elements.hpp"

namespace driftless {

class DatasetReader {
  public:
    /// `column`: as DatasetTexts takes it.
    explicit DatasetReader(std::string column) : rows_(std::move(column)) {}

    /// Appends the texts of all rows that end in the piece, empty ones too. Errors: bad_json,
    /// truncated, too_large, invalid (no dataset, no such column); nothing more may be read then.
    Result<void> read(std::string_view piece, std::vector<std::string>& texts);
    /// No piece follows. Errors as above.
    Result<void> finish(std::vector<std::string>& texts);

    /// What was wrong, for people: where in the file, what, and the remedy.
    const std::string& why() const { return why_; }
    const std::string& column() const { return rows_.column(); }

  private:
    enum class Shape : std::uint8_t { unknown, array, lines };

    Result<void> begin(std::string_view piece);
    Result<void> read_array(std::string_view piece, std::vector<std::string>& texts);
    Result<void> read_lines(std::vector<std::string>& texts);
    Result<void> read_row(std::string_view text, const std::string& row,
                          std::vector<std::string>& texts);
    Error refuse(ErrorCode code, std::string why) {
        why_ = std::move(why);
        return {code, 0, "read a dataset"};
    }

    DatasetTexts rows_;
    Shape shape_ = Shape::unknown;
    std::size_t mark_bytes_ = 0;      ///< of a byte order mark, seen so far
    std::uint64_t lines_before_ = 0;  ///< empty ones, before the first byte that says something
    JsonElements elements_;
    LineSplitter lines_;
    JsonDocument document_;
    std::vector<std::string_view> row_texts_;
    std::string why_;
};

}  // namespace driftless
