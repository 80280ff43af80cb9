/// TraceReader: lines in, a Trace out. It detects the format, lists every error, and sorts.
///
/// Bytes and files are the caller's (engine/input); the reader sees one line at a time and keeps
/// the row index only. JSON objects are rows or conversations, a line each; JSON texts that go over
/// several lines, objects or arrays, are gathered one by one; anything else is CSV. A trace of
/// several files is one trace: rows are numbered over all of them, and each file is a namespace of
/// block ids of its own where its format does not say otherwise. Never guesses: what contradicts
/// the format is an error with its remedy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/json/document.hpp"
#include "proto/json/texts.hpp"
#include "proto/trace/columns.hpp"
#include "proto/trace/csv.hpp"
#include "proto/trace/draft.hpp"
#include "proto/trace/format.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

struct ReadOptions {
    std::string format;             ///< `--format`; empty: by the keys of the first row
    std::string time_unit;          ///< `--time-unit`; empty: the format's
    std::uint32_t block_size = 0;   ///< `--block-size`; 0: the format's
    bool lenient = false;           ///< `--lenient`
    std::vector<std::string> keep;  ///< `--keep`
    std::vector<MappedColumn> map;  ///< `--map`
    Sessions sessions = Sessions::recorded;
    IdScope id_scope = IdScope::format;  ///< `--hash-scope`
    std::uint32_t default_output = 0;    ///< `--default-output`; 0: none
    bool output_free = false;            ///< `--output free`: rows need no output length
    std::string model_column;            ///< `--map model=COLUMN`: one of those in `keep`
};

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
    const std::vector<std::string>& unknown_names() const { return columns_.unknown_names(); }

  private:
    /// Two columns of a CSV file that have one name, which is read or kept.
    struct DoubleColumn {
        std::size_t first;
        std::size_t second;
    };

    /// How the bytes of the current file are rows.
    enum class Container : std::uint8_t { unknown, json_lines, json_array, gathered, csv, refused };

    RowContext context(std::uint64_t line);
    void check_options(const ReadOptions& options);
    void choose(const TraceFormat& format);
    void end_file();

    Container container_of(const RowContext& context, std::string_view line,
                           std::string_view trimmed);
    Container csv_begin(const RowContext& context, std::string_view line);
    const TraceFormat* csv_format();
    void check_epoch();
    void list_known();
    void spell_map();
    bool begins_without_header(std::string_view line);
    void csv_line(std::uint64_t number, std::string_view line);
    void csv_record(RowContext& context, std::string_view record);
    void find_doubles();
    bool check_doubles(const RowContext& context);
    void gather(std::uint64_t number, std::string_view line);
    void refuse_long_text();
    void json_text(RowContext& context, std::string_view text);
    void json_object(RowContext& context, const JsonValue& row);
    void refuse_text(const RowContext& context, std::string_view line);
    bool detect(const RowContext& context, const JsonValue& row);
    void heed(Stop stop);
    void note_order();

    void check_kept();
    void check_map();
    void check_blocks();
    void check_surplus();
    void check_unit();
    void suggest_block_size();
    void rebase_and_sort();

    ReadOptions options_;
    Trace& trace_;
    InputErrors& errors_;
    TraceDraft draft_;
    ColumnNotes columns_;
    JsonDocument document_{JsonArrays::packed};
    const TraceFormat* format_ = nullptr;
    std::vector<std::string_view> known_;  ///< columns that it reads
    RowRules rules_;
    bool stopped_ = false;  ///< the options are wrong for this trace

    std::string file_;
    Container container_ = Container::unknown;
    CsvHeader header_;
    CsvCells cells_;
    std::vector<DoubleColumn> doubles_;
    bool headerless_ = false;       ///< the file's first line is a row
    JsonTexts texts_;               ///< gathered JSON
    std::string text_;              ///< the beginning of a CSV record
    std::uint64_t text_line_ = 0;   ///< where it begins
    bool format_checked_ = false;   ///< the file's first row looks like the format
    std::size_t rows_ordered_ = 0;  ///< rows that `note_order` has seen
    std::int64_t previous_ns_ = 0;  ///< of the row before, in this file
};

}  // namespace driftless
