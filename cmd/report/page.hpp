/// Pages: the shell that all of them share, their columns, and the page of a run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cmd/report/figures.hpp"
#include "cmd/report/rebuilt_run.hpp"
#include "proto/core/result.hpp"
#include "proto/json/write.hpp"
#include "proto/run/record.hpp"

namespace driftless {

// The files that the page of a run is made of (page/), and the parts of d3 that it draws with, put
// into the program when it is built.

struct ShippedPagePart {
    std::string_view name;  ///< of the file, up to its first point: "chart", "d3-scale", "style"
    std::string_view text;
};
/// By path.
std::span<const ShippedPagePart> shipped_page();

// The shell of a page: one HTML file that asks for nothing, with d3, the scripts that every page
// draws with, and scripts and data of its own. Pure; the files lie in page/.

/// `scripts` are names of files of page/, in the order in which they need each other; before them
/// stand d3 and the shared ones: columns, statistics, words, parts, draw, pointer, fingers, keys,
/// chart, whole. `data` is JSON, which they find as the text of the element `data`. What comes from
/// outside may be in `title` and `data`: both are escaped.
std::string page_text(std::string_view title, std::span<const std::string_view> scripts,
                      std::string_view data);

/// PageColumn: one column of a table as the page holds it: small, and each value exact. A plain
/// value; page/columns.js reads it back.
///
/// Whole numbers are zigzag varints (0: null, else the number's code + 1) in base64, each minus a
/// base: the value before it, or those of other columns in its row, whichever is shorter. Where all
/// codes are equal there is only that one. Fractions are doubles in base64, texts a list and the
/// column of their numbers.
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

// The page of a run: one HTML file that needs nothing else, with its charts, its tables and the
// records behind them. Its scripts and styles lie in page/.

/// So many records are on a page at most; of more it has every second one, or every third, and
/// says so. 50,000 are about 8 MB, which browsers draw without a pause that people notice.
inline constexpr std::uint64_t page_records_max = 50'000;

/// The text of the page, from the files of a run. Errors: those of reading them; `why` says it.
Result<std::string> page_of(const ReportedRun& run, std::string& why,
                            std::uint64_t records_max = page_records_max);

}  // namespace driftless
