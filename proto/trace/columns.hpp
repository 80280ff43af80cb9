/// ColumnNotes: which columns rows have beyond those that their format reads.
///
/// It carries the columns that `--keep` names into the trace, counts all others, and knows at the
/// end which kept column no row had. Owned by the reader of a trace.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/json/document.hpp"
#include "proto/trace/csv.hpp"

namespace driftless {

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
    /// All names of the latest row.
    const std::vector<std::string>& names() const { return names_; }

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
};

}  // namespace driftless
