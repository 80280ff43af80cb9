/// TraceFormat: a trace format as a table entry, one file per format beside this one.
///
/// A format knows how its rows look and what their fields mean. It sees one parsed line at a time
/// and adds the rows that it finds there; files, lines, sorting, kept columns and counts of unknown
/// keys are the reader's (reader.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/json/document.hpp"
#include "proto/trace/columns.hpp"
#include "proto/trace/csv.hpp"
#include "proto/trace/decimal_time.hpp"
#include "proto/trace/draft.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

/// `--map`: one field of a row, and the column that holds it.
struct MappedColumn {
    std::string key;
    std::string column;
    bool seen = false;  ///< some row had it
};

/// When the turns of a session are sent, `--sessions`.
enum class Sessions : std::uint8_t {
    recorded,  ///< at their recorded instants; a row without one is refused
    open,      ///< rows without instants are laid out by recorded gaps, as if answers took no time
    closed,    ///< laid out so, too; a row with dependencies then waits for them (engine/schedule)
};

/// What becomes of agents whose requests were recorded in one line, `--flat-agents`, where sessions
/// are closed. Only Weka conversations can tell: they record when answers ended, and in one list
/// what several agents sent.
enum class FlatAgents : std::uint8_t {
    chains,  ///< each waits for its own answers (flat_agents.hpp)
    keep,    ///< each request waits for the one before it in the line
};

/// What was chosen for this trace: the format's defaults, or the user's overrides.
struct RowRules {
    TimeUnit time_unit = TimeUnit::ms;
    std::uint32_t block_size = 0;
    bool lenient = false;
    Sessions sessions = Sessions::recorded;
    FlatAgents flat_agents = FlatAgents::chains;
    std::uint32_t default_output = 0;  ///< for rows without an output length; 0: none
    bool output_free = false;    ///< rows need no output length: answers are not limited by it
    bool times_free = false;     ///< rows need no times: others decide when they are sent
    bool unit_stated = false;    ///< the user named the unit of the times
    bool format_stated = false;  ///< the user named the format
    std::vector<MappedColumn> map;
};

/// How much more of the input is worth reading after an error.
enum class Stop : std::uint8_t { none, file, trace };

/// Where a format puts its rows and its complaints. Lives as long as the reader's call.
struct RowContext {
    RowRules& rules;
    TraceDraft& draft;
    ColumnNotes& columns;
    InputErrors& errors;
    std::span<const std::string_view> known;  ///< the format's columns
    std::string_view file;
    std::uint64_t line = 0;
    std::string place = {};  ///< inside the line, before a field's name: "requests[3]."
    JsonValue object = {};   ///< the row itself; absent in CSV

    Stop stop = Stop::none;  ///< set by a format

    /// Lists an error of this row. `value` is cut to `value_bytes_max`, at a code point.
    void refuse(std::string_view field, std::string_view value, std::string problem,
                std::string remedy) const;

    /// Adds a row that was read from `source`, whose columns are noted and kept.
    void emit(const TraceRow& row, const JsonValue& source) const;
    void emit(const TraceRow& row, const CsvRow& source) const;
};

/// Bytes of a value that an error quotes.
inline constexpr std::size_t value_bytes_max = 80;

/// When the number of block ids is held against the lengths.
enum class BlockCheck : std::uint8_t {
    by_row,    ///< the format's rule is known: every row, at once
    by_trace,  ///< the rule shows in the data only: all rows, at the end
};

struct TraceFormat {
    const char* name = "";   ///< as `--format` spells it
    const char* alias = "";  ///< a second spelling
    TimeUnit time_unit = TimeUnit::ms;
    std::uint32_t block_size = 0;  ///< 0: none, or the data say
    BlockCheck block_check = BlockCheck::by_row;
    bool shared_ids = false;  ///< all files are one namespace
    bool pieces = false;      ///< rows of sessions may hold only what is new (session_pieces.hpp)
    bool ordered = true;      ///< rows out of order are worth a note
    std::span<const std::string_view> columns = {};  ///< keys it reads; all others are unknown

    /// Whether a first row looks like this format. Called for rows that `foreign_shape` lets pass.
    bool (*matches)(const JsonValue& row) = nullptr;
    /// Adds the rows of a JSON object, or lists every error in it. nullptr: the format is CSV.
    void (*read_json)(RowContext& context, const JsonValue& row) = nullptr;

    bool (*matches_header)(const CsvHeader& header) = nullptr;
    /// The same for a CSV record. nullptr: the format is JSON.
    void (*read_csv)(RowContext& context, const CsvRow& row) = nullptr;
};

/// All formats, and one by its name (nullptr where there is none).
std::span<const TraceFormat* const> trace_formats();
const TraceFormat* find_trace_format(std::string_view name);
/// The names, comma-separated, for messages.
std::string trace_format_names();

}  // namespace driftless
