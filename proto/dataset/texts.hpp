/// DatasetTexts: the texts that one row of a dataset holds.
///
/// A row is a text itself, or an object with a column of texts: a string, or a list of strings or
/// of turns, whose texts are their `value` (ShareGPT) or `content`. Which column it is, is decided
/// by the first row and holds for all. Pure: JSON values in, views out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proto/json/document.hpp"

namespace driftless {

class DatasetTexts {
  public:
    /// `column`: as the user named it; empty: the first of the usual names that the first row has.
    explicit DatasetTexts(std::string column) : column_(std::move(column)) {}

    /// Appends the row's texts, in order; they live as long as the row's document. A text that is
    /// null or empty is appended as an empty one. False if a row lacks its texts: `why` is then a
    /// clause for people, with the remedy.
    bool read(const JsonValue& row, std::vector<std::string_view>& texts, std::string& why);

    /// The column that was found or named; empty before the first row, and where rows are texts.
    const std::string& column() const { return column_; }

  private:
    bool choose(const JsonValue& row, std::string& why);

    std::string column_;
};

}  // namespace driftless
