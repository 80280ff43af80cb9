/// FormatChoice: which format a trace has, by what the user says and by the shape of the file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/json/document.hpp"
#include "proto/trace/columns.hpp"
#include "proto/trace/draft.hpp"
#include "proto/trace/format.hpp"

namespace driftless {

/// ReadOptions: what the user says about a trace that is read. Plain values.
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
    /// Rows need no times, and conversations no arrivals: a rate or open requests decide when they
    /// are sent. Times that are there are read.
    bool times_free = false;
    std::string model_column;                     ///< `--map model=COLUMN`: one of those in `keep`
    FlatAgents flat_agents = FlatAgents::chains;  ///< `--flat-agents`
};

// Shapes of files that no format here reads, so that a refusal can say what a file is.
//
// By keys that stand together and by first bytes (trace-formats 12.6). It never decides that a
// file is readable.

struct ForeignShape {
    std::string_view what;    ///< "a RAGPulse trace: its hash_ids are objects"; empty: none known
    std::string_view remedy;  ///< what to do with such a file
};

ForeignShape foreign_shape(const JsonValue& row);
/// The member of an object that no format reads which may hold the file's rows: a list of objects.
/// Empty: there is none.
std::string_view list_of_rows(const JsonValue& object);
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

    const ReadOptions& options() const { return options_; }
    /// nullptr: not known yet.
    const TraceFormat* format() const { return format_; }
    RowRules& rules() { return rules_; }
    /// The columns that the format reads.
    std::span<const std::string_view> known() const { return known_; }

  private:
    bool check_options(const RowContext& none, const TraceFormat* named) const;
    void choose(const TraceFormat& format);
    void list_known();
    void spell_map(const CsvHeader& header);
    const TraceFormat* find_format(CsvHeader& header) const;

    ReadOptions options_;
    TraceDraft& draft_;
    const TraceFormat* format_ = nullptr;
    RowRules rules_;
    std::vector<std::string_view> known_;
    bool file_checked_ = false;  ///< the file's first row looks like the format
};

}  // namespace driftless
