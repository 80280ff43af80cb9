/// TraceFormat: a trace format as a table entry; and the values of a row as every format reads
/// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/json/document.hpp"
#include "proto/trace/columns.hpp"
#include "proto/trace/draft.hpp"
#include "proto/trace/row.hpp"
#include "proto/trace/times.hpp"

namespace driftless {

// TraceFormat: a trace format as a table entry, one file per format beside this one.
//
// A format knows how its rows look and what their fields mean. It sees one parsed line at a time
// and adds the rows that it finds there; files, lines, sorting, kept columns and counts of unknown
// keys are the reader's (reader.hpp).

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
    closed,    ///< laid out so, too; a row with dependencies then waits for them (engine/plan)
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
    bool pieces = false;      ///< rows of sessions may hold only what is new (segments.hpp)
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

// Field: one value of a row as every format reads it, from JSON or from CSV.
//
// The readers below list what is wrong with a value, with its remedy, and give nothing then. Pure
// but for the context's errors and draft.

/// Most tokens in one row: over ten times the longest context that any server offers. Keeps sums
/// and buffer sizes of a row far inside their types.
inline constexpr std::uint32_t row_tokens_max = 1U << 27;

struct Field {
    std::string_view name;  ///< for messages
    std::string_view raw;   ///< as written; a JSON string with its quotes
    std::string_view text;  ///< the contents of a JSON string; else as written
    JsonValue json;         ///< absent in CSV
    bool present = false;   ///< a null, "" and an empty cell count as absent
};

/// A value that is not null, or an absent one.
inline JsonValue given(const JsonValue& value) {
    return value.is(JsonType::null) ? JsonValue() : value;
}

/// A JSON value; `name` stands in where it is absent.
Field field_of(const JsonValue& value, std::string_view name);
/// A cell.
Field field_of(const CsvRow& row, std::string_view name);

/// The whole number that the text says, "512.0" too.
std::optional<std::uint64_t> whole_number(std::string_view text);

/// An arrival time in the unit of the rules.
std::optional<std::int64_t> read_time(const RowContext& context, const Field& field);
/// A length of time; `unit` is never iso.
std::optional<std::int64_t> read_gap(const RowContext& context, const Field& field, TimeUnit unit);
/// Whether a length of time, in the unit of the rules, is one, where it is there at all. False
/// after an error.
bool check_length(const RowContext& context, const Field& field);
/// A number of tokens from `least` on.
std::optional<std::uint32_t> read_tokens(const RowContext& context, const Field& field,
                                         std::uint32_t least);
/// The two lengths of a row. An output of 0 is taken as 1 and counted; one that is missing is what
/// the rules say, 0 for unknown. False after an error.
bool read_lengths(const RowContext& context, const Field& input, const Field& output,
                  TraceRow& row);

/// Whether a list holds objects only, where it is there at all. False after an error.
bool check_objects(const RowContext& context, const JsonValue& list, std::string_view name);

/// What a row waits for in another one: `trigger` of an object of the list `name`; an answer where
/// it does not say. Nothing after an error.
std::optional<Trigger> read_trigger(const RowContext& context, const JsonValue& edge,
                                    std::string_view name);

/// Appends the ids of a JSON list to the draft. False after an error.
bool read_ids(const RowContext& context, const JsonValue& list);

/// Blocks that `tokens` need, the partial last one included.
constexpr std::uint64_t blocks_of(std::uint64_t tokens, std::uint64_t block_size) {
    return (tokens + block_size - 1) / block_size;
}

/// Lists that `count` ids contradict `tokens`, which need `needed` of them.
void refuse_count(const RowContext& context, std::uint64_t count, std::uint32_t tokens,
                  std::uint64_t needed);
/// Holds the ids in the draft against the length: they must be ceil(length / block size).
/// `--lenient` fixes them and counts. False after an error.
bool check_count(const RowContext& context, std::uint32_t tokens);

/// Inside: names the element of a list in the errors of its row, as long as it lives.
///
/// "turns[3]", or "exports[0].turns[3]" inside another one. Owned by the format that reads the
/// list.
class Inside {
  public:
    /// `number`: of the element, from 0. `context` outlives this.
    Inside(RowContext& context, std::string_view list, std::size_t number)
        : context_(context), before_(context.place) {
        context_.place += before_.empty() ? "" : ".";
        context_.place += std::string(list) + "[" + std::to_string(number) + "]";
    }
    ~Inside() { context_.place = std::move(before_); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

  private:
    RowContext& context_;
    std::string before_;
};

}  // namespace driftless
