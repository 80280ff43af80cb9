/// What every exported file is made of: the figures that the shipped schemas list, with unit and
/// definition; cells and their lines; and text inside CSV, XML, HTML, Markdown and JUnit. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/history/run_lines.hpp"
#include "proto/core/errors.hpp"
#include "proto/json/document.hpp"

namespace driftless {

// Figures: the columns of a run's tables and the figures of its summary, with unit and definition,
// as the shipped schemas list them. Every export takes its columns from here.
//
// Arrays of numbers (`chunk_ns`, the list of tainted rows) are no figures: the run's own files
// have them. Other arrays and objects without fixed keys are one figure each, as JSON text.

enum class RunTable : std::uint8_t {
    requests,  ///< requests.jsonl, a row each
    periods,   ///< periods.jsonl
    summary,   ///< summary.json: one object
    events,    ///< events.jsonl
    client,    ///< client.jsonl
};
/// "requests", "periods", "summary", "events", "client": the name of the table's file or sheet.
const char* name_of(RunTable table);

struct Figure {
    std::vector<std::string> path;  ///< keys from the root of the record; one but in the summary
    std::string name;               ///< the keys with dots between them
    std::string unit;               ///< "ns", "ms", "s", "tokens", ..; empty: a count, or text
    std::string definition;         ///< one sentence; empty: its name says it
    bool holds_numbers = false;
};

/// In the order of the schema.
std::vector<Figure> figures_of(RunTable table);

/// Which of them has that name; one has.
std::size_t place_of(const std::vector<Figure>& figures, std::string_view name);

/// The value of a figure in its record; absent where the record does not have it.
JsonValue value_of(JsonValue record, const Figure& figure);

enum class CellKind : std::uint8_t { empty, number, boolean, text };

/// A value as the exports show it.
struct TableCell {
    CellKind kind = CellKind::empty;
    std::string text;  ///< numbers: their digits as the record has them; text: printable UTF-8
};
/// Null and absent are empty. Arrays and objects are JSON text.
TableCell cell_of(JsonValue value);

using TableRow = std::vector<TableCell>;

/// A cell of text.
TableCell text_cell(std::string_view text);
/// A row for each figure of the summary: figure, value, unit. `summary` is the text of
/// summary.json.
std::vector<TableRow> summary_rows(std::string_view summary);
/// A row for each figure of these tables: table, name, unit, definition.
std::vector<std::vector<std::string>> definitions_of(std::span<const RunTable> tables);
/// The same of those that exports define.
std::vector<TableRow> definition_rows();

/// The column names of both.
inline constexpr std::string_view summary_columns[] = {"figure", "value", "unit"};
inline constexpr std::string_view definition_columns[] = {"table", "name", "unit", "definition"};

// JsonlRows: the lines of a run's file as rows of cells, one by one: a file of any size is never
// held as a whole. Owns the file; the torn last line of a killed run is left out.

/// The cells of a line that is parsed already: one for each column.
void read_cells(const JsonValue& line, const std::vector<Figure>& columns, TableRow& out);

class JsonlRows {
  public:
    /// Errors: as of RunLines; `why` says it.
    static Result<JsonlRows> open(const std::string& path, std::vector<Figure> columns,
                                  std::string& why);

    const std::vector<Figure>& columns() const { return columns_; }
    std::vector<std::string_view> names() const;
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

// CSV as RFC 4180 has it: fields with commas between them, CRLF at the end of a line.

inline constexpr std::string_view csv_line_end = "\r\n";

/// Appends one field: in quotes where it holds a comma, a quote or an end of line (section 2.5 to
/// 2.7). Text that a spreadsheet would take for a formula (it begins with `=`, `+`, `-`, `@`, a tab
/// or a line break, and is not a number) gets a `'` in front: names and messages come from servers.
void append_csv_field(std::string& out, std::string_view text);

/// Lines of such fields, appended to a text of the caller's.
class CsvLines {
  public:
    explicit CsvLines(std::string& out) : out_(out) {}
    void add(std::string_view text);
    /// The digits of a number; unknown is an empty field.
    void add(const std::optional<double>& value);
    void end();

  private:
    std::string& out_;
    bool at_begin_ = true;
};

/// Appends `text` as it may be in an attribute's value of XML or between tags. What people
/// cannot see, and what is not UTF-8, stands as `printable` has it: XML 1.0 allows no control
/// characters, not even escaped (section 2.2).
void append_xml_text(std::string& out, std::string_view text);

/// Whether it begins with U+FFFE or U+FFFF: valid UTF-8, but not characters of XML.
bool begins_noncharacter(std::string_view text);

/// Appends JSON as it may be in a <script> of type application/json: the same values, with every
/// "<" as \u003c, so that no word in it ends the script or begins a comment (HTML, section
/// 4.12.1.3).
void append_script_json(std::string& out, std::string_view json);

/// The base64 of bytes (RFC 4648, section 4), with padding.
std::string base64_of(std::span<const std::uint8_t> bytes);

/// `text` so that it is shown as it is, also in a cell of a table: what has a meaning in Markdown
/// or HTML has a backslash before it (GFM 0.29, section 6.1), and nothing begins a new line.
std::string markdown_text(std::string_view text);
/// A line of a table, with its end: such texts, one a cell.
std::string markdown_row(const std::vector<std::string>& cells);

enum class CaseEnd : std::uint8_t { passed, failed, skipped, error };

struct TestCase {
    std::string group;
    std::string name;
    CaseEnd end = CaseEnd::passed;
    std::string message;  ///< of a failure or an error, or why it was skipped
    std::string details;  ///< what was found, whatever became of it
};

/// JUnit's XML, as CI jobs read it: one suite of these cases. `date`: "20261121-034512", UTC;
/// empty: not known.
std::string junit_text(std::string_view suite, const std::vector<TestCase>& cases,
                       std::int64_t duration_ns, const std::string& date);

}  // namespace driftless
