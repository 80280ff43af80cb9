/// TraceReader: lines in, a Trace out: the choice of the format, rows of CSV and of JSON on their
/// way to it, and the checks that need the whole trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/json/document.hpp"
#include "proto/trace/csv.hpp"
#include "proto/trace/draft.hpp"
#include "proto/trace/formats.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

// Shapes of files that no format here reads, so that a refusal can say what a file is.
//
// By keys that stand together and by first bytes (trace-formats 12.6). It never decides that a
// file is readable.

struct ForeignShape {
    std::string_view what;    ///< "a RAGPulse trace: its hash_ids are objects"; empty: none known
    std::string_view remedy;  ///< what to do with such a file
};

/// By the first line, and by the name of the file where that does not say it all.
ForeignShape foreign_text_shape(std::string_view line, std::string_view file);
/// Lines that end in CR alone come as one line.
ForeignShape foreign_line_ends(std::string_view line);
/// By the beginning of a JSON text that is too long to be parsed.
ForeignShape foreign_long_shape(std::string_view beginning);

/// FormatChoice: which format a trace has, and by which rules its rows are read.
///
/// The user names a format, or the first row or the CSV header shows it. Once chosen it stays: all
/// files of a trace are of one format. Never guesses: what fits no format or several is an error.
/// Part of a RowReader.
class FormatChoice {
  public:
    /// `draft` outlives this.
    FormatChoice(const ReadOptions& options, TraceDraft& draft);

    /// Chooses what the options name. False after an error: they are wrong.
    bool take_options(const RowContext& none);
    /// The first row of the file that follows is held against the format, unless it was named.
    void begin_file();

    /// Whether the first row of a file fits the format; chooses the format if there is none yet.
    /// Later rows are not looked at. False after an error.
    bool admit(const RowContext& context, const JsonValue& row);
    /// The same for the header of a CSV file, which takes the spelling of the format's columns. The
    /// map takes the header's spelling. Lists no error.
    bool admit(CsvHeader& header);

    const ReadOptions& options() const { return rules_; }
    /// nullptr: not known yet.
    const TraceFormat* format() const { return format_; }
    RowRules& rules() { return rules_; }
    /// The columns that the format reads.
    std::span<const std::string_view> known() const { return known_; }

  private:
    bool check_options(const RowContext& none, const TraceFormat* named) const;
    bool check_unit(const RowContext& context) const;
    void choose(const TraceFormat& format);
    void list_known();
    void spell_map(const CsvHeader& header);
    const TraceFormat* find_format(CsvHeader& header) const;

    TraceDraft& draft_;
    const TraceFormat* format_ = nullptr;
    RowRules rules_;
    std::vector<std::string_view> known_;
    bool file_checked_ = false;  ///< the file's first row looks like the format
};

/// RowReader: one row after another, of whichever container, into the draft of a trace.
///
/// It hands a JSON object or a CSV record to the chosen format, with the file and the line at which
/// errors are listed, and counts rows out of order. Which bytes of a file are a row is not known
/// here. Owned by a TraceReader.
class RowReader {
  public:
    /// Both references outlive this.
    RowReader(const ReadOptions& options, Trace& out, InputErrors& errors);
    RowReader(const RowReader&) = delete;
    RowReader& operator=(const RowReader&) = delete;

    void begin_file(std::string_view name);

    /// For a row, or an error, at this line of the file.
    RowContext context(std::uint64_t line);

    /// A row or a conversation. Says how much more of the input is worth reading.
    Stop read(RowContext& context, const JsonValue& row);
    /// A record under a header that the format has admitted.
    Stop read(RowContext& context, const CsvRow& row);

    FormatChoice& choice() { return choice_; }
    TraceDraft& draft() { return draft_; }
    const ColumnNotes& columns() const { return columns_; }

  private:
    void note_order();

    InputErrors& errors_;
    TraceDraft draft_;
    ColumnNotes columns_;
    FormatChoice choice_;
    std::string file_;
    std::size_t rows_ordered_ = 0;  ///< rows that `note_order` has seen
    std::int64_t previous_ns_ = 0;  ///< of the row before, in this file
};

/// CsvRows: the records of a CSV file, from its lines to its format.
///
/// The first line is the header, or a row of a trace that is passed on without one. Cells with line
/// ends make a record longer than a line. Owned by a TraceReader.
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

// JsonRows: the rows of a file of JSON, from its lines to their format.
//
// A line is an object or an array of objects; texts that go over several lines are gathered one by
// one. Owned by a TraceReader.

/// How the lines of a file are JSON.
enum class JsonForm : std::uint8_t {
    lines,     ///< an object each
    arrays,    ///< an array or an object each
    gathered,  ///< texts go over several lines
};

/// What to do with an array that is too long for a line or a text.
inline constexpr const char* array_remedy =
    "put one JSON object on each line; for an array use jq -c '.[]'";

class JsonRows {
  public:
    /// `rows` outlives this.
    explicit JsonRows(RowReader& rows) : rows_(rows) {}

    /// A file begins whose lines are such.
    void begin(JsonForm form);
    /// A line, without the blanks around it unless texts are gathered.
    Stop add_line(std::uint64_t number, std::string_view line);
    /// After the last line: a text that is still open has not been closed in its file.
    Stop end_file();

    bool gathers() const { return form_ == JsonForm::gathered; }

  private:
    Stop gather(std::uint64_t number, std::string_view line);
    Stop read_text(std::uint64_t number, std::string_view text);
    Stop read_array(RowContext& here, const JsonValue& array);
    /// What the parser found in a text.
    enum class Parse : std::uint8_t { whole, broken, too_deep };
    Stop refuse_text(const RowContext& at_start, std::string_view text, Parse found);

    RowReader& rows_;
    JsonForm form_ = JsonForm::lines;
    JsonDocument document_{JsonArrays::packed};
    JsonTexts texts_;
    std::size_t text_at_ = 0;  ///< offset in its first line where the text at hand begins
};

/// TraceReader: lines in, a Trace out. It knows files and their containers, and sorts.
///
/// Bytes and files are the caller's (engine/plan); the reader sees one line at a time and keeps
/// the row index only. JSON objects are rows or conversations, a line each; JSON texts that go over
/// several lines, objects or arrays, are gathered one by one (JsonRows); anything else is CSV
/// (CsvRows). Both hand rows to a RowReader, which knows the format; what only the whole trace
/// shows is checked at the end (reader.hpp). A trace of several files is one trace: rows are
/// numbered over all of them, and each file is a namespace of block ids of its own where its format
/// does not say otherwise. Never guesses: what contradicts the format is an error with its remedy.
class TraceReader {
  public:
    /// Fills `out` (name, bytes and digest are the caller's) and lists what is wrong in `errors`.
    /// Both outlive the reader. Wrong options are listed at once.
    TraceReader(const ReadOptions& options, Trace& out, InputErrors& errors);

    /// What follows comes from this file.
    void begin_file(std::string_view name);

    /// One line without its end; blank ones are skipped. False where reading on in this file is
    /// pointless: the options or the format are not known.
    bool add_line(std::uint64_t number, std::string_view line);

    /// The line of that number is longer than a reader can hold; it begins so.
    void refuse_long_line(std::uint64_t number, std::string_view beginning);

    /// After the last line: rebases times to the earliest row and sorts. True without errors.
    bool finish();

    /// Names of unknown keys, as far as they were noted.
    const std::vector<std::string>& unknown_names() const {
        return rows_.columns().unknown_names();
    }

  private:
    /// How the bytes of the current file are rows.
    enum class Container : std::uint8_t { unknown, json, csv, refused };

    Stop begin_container(std::uint64_t number, std::string_view line, std::string_view trimmed);
    Stop take_line(std::uint64_t number, std::string_view line);
    bool goes_on(Stop stop);
    void end_file();
    void rebase_and_sort();

    Trace& trace_;
    InputErrors& errors_;
    RowReader rows_;
    JsonRows json_;
    CsvRows csv_;
    Container container_ = Container::unknown;
    bool stopped_ = false;  ///< the options are wrong for this trace
};

// Tails: whether every block id names one block, of one length.
//
// A partial last block has an id too (TailRule::ceil), and in every public trace an id has one
// length wherever it stands. Where it has two, its blocks share the shorter one's tokens: sharing
// is less than equal ids promise, which a person should know. Pure.

/// The number of ids that name a partial block of one length and, in another row, a block of
/// another. Each counts once in its namespace.
std::uint64_t uneven_tails(const Trace& trace);

// Checks that need the whole trace, after its last row.
//
// Columns that no row had, rows without ids beside rows with some, block sizes that other rows
// contradict, and times whose unit only the whole trace shows.

/// Lists what is wrong with the rows that were read. `whole` names the last file and no line;
/// `format` is not null if there are rows; `model_column` is `--map model=COLUMN`. Sets the block
/// size if the data show it.
void check_whole_trace(const RowContext& whole, const TraceFormat* format,
                       std::string_view model_column);

}  // namespace driftless
