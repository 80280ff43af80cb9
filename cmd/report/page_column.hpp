/// PageColumn: one column of a table as the page holds it: small, and each value exact. A plain
/// value; page/columns.js reads it back.
///
/// Whole numbers are zigzag varints (0: null, else the number's code + 1) in base64, each minus a
/// base: the value before it, or those of other columns in its row, whichever is shorter. Where all
/// codes are equal there is only that one. Fractions are doubles in base64, texts a list and the
/// column of their numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "cmd/report/figures.hpp"
#include "proto/json/write.hpp"
#include "proto/record/record.hpp"

namespace driftless {

class PageColumn {
  public:
    explicit PageColumn(const Figure& figure) : figure_(figure) {}

    /// The cell of the next row. In a column of numbers, what is not one is null.
    void add(const TableCell& cell);
    /// The same of a column of numbers.
    void add_integer(std::int64_t value);
    const std::string& name() const { return figure_.name; }
    std::size_t rows() const { return std::max(integers_.size(), fractions_.size()); }
    /// Null where it is unknown, or the column is one of fractions. Of a text: its number, from 1.
    OptionalNs integer(std::size_t row) const {
        return row < integers_.size() ? integers_[row] : OptionalNs();
    }
    /// Appends the column as an object. The bases, where not null, stand in the same table before
    /// it: a value is its code plus that of `plus`, minus that of `minus`.
    void write(JsonWriter& json, const PageColumn* plus, const PageColumn* minus) const;

  private:
    void add_number(const std::string& digits);
    void add_text(const std::string& text);
    void write_integers(JsonWriter& json, const PageColumn* plus, const PageColumn* minus) const;
    void write_fractions(JsonWriter& json) const;

    Figure figure_;
    bool has_fractions_ = false;
    std::vector<OptionalNs> integers_;  ///< of texts: their numbers, from 1
    std::vector<double> fractions_;     ///< NaN is null
    std::vector<std::string> texts_;
    std::unordered_map<std::string, std::int64_t> numbers_;
};

/// All columns of a table, each after its bases.
void write_page_columns(JsonWriter& json, const std::vector<PageColumn>& columns);

}  // namespace driftless
