/// The trace formats that can be read: a format as a table entry; the values of a row, and requests
/// that a row recorded, as every format reads them; and all formats, each told in the source of its
/// name or of its family.
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
#include "proto/json/write.hpp"
#include "proto/trace/csv.hpp"
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
    chains,  ///< each waits for its own answers (agents.hpp)
    keep,    ///< each request waits for the one before it in the line
};

/// ReadOptions: what the user says about a trace that is read. Plain values.
struct ReadOptions {
    std::vector<std::string> paths;  ///< files, folders, or "-"; engine/plan reads them
    std::string format;              ///< `--format`; empty: by the keys of the first row
    std::string time_unit;           ///< `--time-unit`; empty: the format's
    std::uint32_t block_size = 0;    ///< `--block-size`; 0: the format's
    bool lenient = false;            ///< `--lenient`
    std::vector<std::string> keep;   ///< `--keep`
    std::vector<MappedColumn> map;   ///< `--map`
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

/// By which rules the rows of a trace are read: the user's, and the format's where the user named
/// none. `block_size` is the one in force.
struct RowRules : ReadOptions {
    TimeUnit unit = TimeUnit::ms;  ///< in force; `time_unit` is what the user said

    bool unit_stated() const { return !time_unit.empty() && time_unit != "auto"; }
    bool format_stated() const { return !format.empty(); }
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

    /// Lists an error of this row. `value` is cut to `value_bytes_max`, at a code point. Always
    /// false, for functions that say so whether what they read was fine.
    bool refuse(std::string_view field, std::string_view value, std::string problem,
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
    const char* unit_in = "";      ///< column of times whose name has the unit; empty: none
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

/// A JSON value; `name` is in where it is absent.
Field field_of(const JsonValue& value, std::string_view name);
/// A member.
inline Field field_in(const JsonValue& object, std::string_view name) {
    return field_of(object.find(name), name);
}
/// A cell.
Field field_of(const CsvRow& row, std::string_view name);

/// The whole number that the text says, "512.0" too.
std::optional<std::uint64_t> whole_number(std::string_view text);

/// An arrival time in the unit of the rules.
std::optional<std::int64_t> read_time(const RowContext& context, const Field& field);
/// A length of time; `unit` is never iso.
std::optional<std::int64_t> read_gap(const RowContext& context, const Field& field, TimeUnit unit);
/// The same; 0 where it is missing.
std::optional<std::int64_t> read_pause(const RowContext& context, const Field& field,
                                       TimeUnit unit);
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
/// Whether it is there, holds objects only, and at least one. False after an error.
bool check_filled(const RowContext& context, const JsonValue& list, std::string_view name,
                  const char* remedy);

/// What a row waits for in another one: `trigger` of an object of the list `name`; an answer where
/// it does not say. Nothing after an error.
std::optional<Trigger> read_trigger(const RowContext& context, const JsonValue& edge,
                                    std::string_view name);

/// Appends the ids of a JSON list to the draft. False after an error.
bool read_ids(const RowContext& context, const JsonValue& list);
/// Begins the ids of a row with those of a list; one that is missing is noted. False after an
/// error.
bool read_row_ids(const RowContext& context, const JsonValue& list);
/// The block size that the data declare. False, and listed, where the trace has another one.
bool agree_on_block_size(RowContext& context, const Field& size, std::uint32_t tokens);

/// Blocks that `tokens` need, the partial last one included.
constexpr std::uint64_t blocks_of(std::uint64_t tokens, std::uint64_t block_size) {
    return (tokens + block_size - 1) / block_size;
}

/// Lists that `count` ids contradict `tokens`, which need `needed` of them. Always false.
bool refuse_count(const RowContext& context, std::uint64_t count, std::uint32_t tokens,
                  std::uint64_t needed);
/// Holds the ids in the draft against the length: they must be ceil(length / block size).
/// `--lenient` fixes them and counts. False after an error.
bool check_count(const RowContext& context, std::uint32_t tokens);

/// Reads the elements of a list, each named in its errors ("turns[3]", or "exports[0].turns[3]"
/// inside another one), until one is refused. False after an error.
template <typename Read>
bool read_each(RowContext& context, const JsonValue& list, std::string_view name,
               const Read& read) {
    const std::string before = context.place;
    const std::string place = before + (before.empty() ? "" : ".") + std::string(name) + "[";
    std::size_t number = 0;
    bool fine = true;
    for (JsonValue one = list.first(); fine && one.present(); one = one.next()) {
        context.place = place + std::to_string(number++) + "]";
        fine = read(one);
    }
    context.place = before;
    return fine;
}

// Recorded requests in traces: rows that hold the words of a request instead of its length.
//
// Checks their fields and gives the row that is added next one JSON object, in the form that
// proto/api/request_body.hpp makes a body of. What is wrong is listed with its remedy.

/// The fields of a row that make up a recorded request; those it lacks are absent.
struct RecordedFields {
    JsonValue text;      ///< the prompt, a string
    JsonValue messages;  ///< of a chat, a list of objects
    JsonValue tools;     ///< beside messages, a list of objects; an empty one means none
    JsonValue payload;   ///< a whole body, an object
    JsonValue extra;     ///< members for the body, an object
    /// Tools that hold where the row has none, a JSON list; empty: none do.
    std::string_view tools_before = {};

    bool any() const { return text.present() || messages.present() || payload.present(); }
};

/// A chat that a format put together, as JSON texts.
struct ChatTexts {
    std::string_view messages;  ///< objects with commas between them, at least one
    std::string_view tools;     ///< a list; empty: none
    std::string_view extra;     ///< an object of members for the body; empty: none
};

/// Gives the next row this chat for a request. It must be what `read_recorded` would let pass.
void give_chat(const RowContext& context, const ChatTexts& chat);

/// Gives the next row, which has lengths, members for its body; nothing where they are absent.
void give_extra(const RowContext& context, const JsonValue& extra);

/// The next row's messages are only what is new since the answer to the row before in its session:
/// `Trace::deltas`. Counts it.
void note_delta(const RowContext& context);

/// Gives the next row its request. False after an error.
bool read_recorded(const RowContext& context, const RecordedFields& fields);

/// The lengths of a row with a recorded request. It may lack both, which are 0 (unknown) then; a
/// missing output is the limit of the row's `body` if that asks for exactly so many tokens, else
/// what `--default-output` says. False after an error.
bool read_recorded_lengths(const RowContext& context, const Field& input, const Field& output,
                           TraceRow& row, const JsonValue& body = {});

// When the turns of a session come if the trace gives them no arrival times.
//
// Under `--sessions recorded` such rows are refused. Otherwise they are laid out by the recorded
// gaps, as if answers took no time; closed sessions then wait for the answers.

/// The recorded arrival time, or else the time of the session's row before and the gap since. A
/// session begins at 0. Nothing after an error.
std::optional<std::int64_t> read_turn_time(const RowContext& context, const Field& time,
                                           std::uint32_t session, std::int64_t gap_ns);

/// The time of the session's row before, and the gap since. Without a row before: the gap.
std::int64_t lay_out_turn(const RowContext& context, std::uint32_t session, std::int64_t gap_ns);

/// For formats without arrival times: refuses the trace under `--sessions recorded`, by a field and
/// its value where these show it; `more` goes on with the remedy. False after an error.
bool admit_untimed(RowContext& context, const char* problem, const char* remedy,
                   std::string_view field = {}, std::string_view value = {}, const char* more = "");
/// The same of conversations. `more`, a clause: what else can be done with them; empty: nothing.
bool admit_conversations(RowContext& context, const char* more = "");

// The trace formats that can be read, each in the source of its name or of its family. README.md
// says what their rows look like and where they come from.

// Mooncake (FAST'25) and its dialects: AIPerf's adds `session_id` and `delay` (ms after the turn
// before); Dynamo's has the aliases `created_time`, `input_tokens`, `output_tokens`, `delay_ms` and
// ids of 64 bits. Ids are global to a file.

extern const TraceFormat mooncake_format;
/// The same rows, of which those of a session hold only what is new (segments.hpp).
extern const TraceFormat mooncake_delta_format;

/// Tokens of a block where a reader is not told another size.
inline constexpr std::uint32_t mooncake_block_size = 512;

/// The nearest whole millisecond, in nanoseconds, as the format's times are written. Readers refuse
/// a fraction as a time that may be in seconds, and ours does; rounding keeps the order.
std::int64_t whole_ms(std::int64_t at_ns);

// Dynamo's request trace: one event a line, of which the ends of requests are rows. Lines stand in
// the order of completion; segments of one log share their ids, sessions and block size.

extern const TraceFormat dynamo_format;

// Dynamo's agentic Mooncake: ids hold inside a play. A row that depends on others has no arrival
// time of its own; closed, it waits for those others alone.

extern const TraceFormat agentic_mooncake_format;

// ShareGPT, and the input of vLLM's benchmark of several turns. A row is a question that an answer
// follows, with everything said before it, recorded answers too.

extern const TraceFormat sharegpt_format;
extern const TraceFormat vllm_multi_turn_format;

/// Whether a row of messages is a conversation with answers whose questions are asked one by one,
/// not a request: it has nothing beside them but an id, and without an id it ends with an answer.
bool is_only_conversation(const JsonValue& row);

// AIPerf's conversations of several turns. Answers are unknown, so each row holds its new messages
// alone (Trace::deltas). A first turn of the role system that has nothing but text is before
// the first question.

extern const TraceFormat aiperf_turns_format;

// Azure: read by name, because the trace of 2025 has `NumImages` second; the trace of 2024 mixes
// two spellings of clocks in one file.

extern const TraceFormat azure_format;

// BurstGPT: read by name, because its third release has two more columns.

extern const TraceFormat burstgpt_format;

extern const TraceFormat vidur_format;

// LMCache: one call of an agent a row. Rows of one session are in order.

extern const TraceFormat lmcache_format;

// evalscope's workload traces, and lines of OpenAI's Batch, which are the same without times.

extern const TraceFormat workload_log_format;

// SGLang's `agentic-trace`: a turn holds its new messages alone, without answers, and how long its
// whole prompt was. Turns without messages ask nothing.

extern const TraceFormat sglang_agentic_format;

// AIBrix: older files spell the lengths `Prompt Length` and `Output Length`. Requests of one
// `session_id` are turns of it.

extern const TraceFormat aibrix_format;

// Qwen (Bailian): `parent_chat_id` names the turn before (-1: none), so that a chain of rows is a
// session, named by its first.

extern const TraceFormat qwen_format;

// Any CSV with a header or JSON lines, by the columns that `--map` names.
//
// Keys of the map: time, in, out (needed), hashes, session, turn, delay. What is not mapped is
// looked up under the key's own name. A JSON column may be a path ("usage.prompt_tokens"). Times
// are in `--time-unit`; without it, ISO-8601 and epochs are known by their looks, and relative
// numbers are refused. Ids are numbers, or strings that are hashed; a CSV cell holds them between
// blanks, commas or semicolons. Block size and rule are found on the data.

extern const TraceFormat generic_format;

/// What `--map` may name on its left.
std::span<const std::string_view> map_keys();

// ISB-1 bundles: one object with `exports`, a cell for each conversation, stack and GPU.
//
// Of `inferencex_multiturn` a cell has `session.turns[]` of `messages`, of
// `inferencex_trace_replay` `events[]` of `input_messages`; both hold all that was said so far.
// Waits count from the answer before: `wait_before_ms`, or the distance of two
// `arrival_time_offset_ms`. A conversation is in several cells: the first one is read. Events
// in files beside the bundle (`prefix_ref`) are refused. Source: SemiAnalysisAI/InferenceX, pull
// request 1032: datasets/isb1, tools/isb1_to_kvcache_tester.py,
// utils/bench_serving/benchmark_export_replay.py.

extern const TraceFormat isb1_format;

// MLPerf's agentic datasets: each row of a user or of a tool is a request, with the messages
// recorded before it. It waits for the answer to the request before it and for `delay_seconds`.
// Rows of a conversation stand together and in order.

extern const TraceFormat mlperf_format;

// TensorRT-LLM's execution traces of agents (`*.trace.json`): a JSON object is one run of an
// agent, a list of events in the order in which they happened.
//
// A message of an assistant is a request. Its prompt is the messages of its conversation so far,
// whose tokens were counted, made as long as the server counted it; block ids are made from them.
// System prompts of one `system_prompt_id` are the same in all conversations and runs. Events of
// one `branch_path` follow each other; calls of tools are pauses; a fork's branches begin where
// its parent stood, and the parent goes on when all have ended. There are no times of arrival.
// Full traces (`*.full.trace.json`) are read by the same counts; their text is not sent. Source:
// NVIDIA/TensorRT-LLM, tensorrt_llm/scaffolding (2026).

extern const TraceFormat tensorrt_format;

// Agentic coding traces of kv-cache-tester ("Weka"): a JSON object is a conversation, with a file
// of its own or a line in a JSONL file. `requests` have `t` in seconds from the conversation's
// start, `in`, `out`, and `hash_ids` of 64 tokens that name whole blocks; its derivatives name the
// partial one too, which each conversation shows by its counts.
//
// Ids are valid inside one conversation only. Sub-agents, entries with requests of their own,
// become sessions beside their parent; their times count from the sub-agent's start or from the
// conversation's, as the first one shows. Agents that were recorded in one list with others are
// separated into chains if sessions are closed (agents.hpp). Conversations have no arrival
// times: they are read under `--sessions open` and `closed` only, which start every one at 0.
// Source: callanjfox/kv-cache-tester; trace-formats section 3.

extern const TraceFormat weka_format;

// The canonical format: our own JSONL, which holds everything that a Trace holds.
//
// The first line is a header: `{"schema":"driftless.trace","version":1,"block_size":512,
// "tail_rule":"ceil"}`. Each further line is a row, in file order: `at_ns` from the trace's start,
// `input_length`, `output_length`; where there are any, `hash_ids` (64 bits), `name_space`
// (0 where absent), `session` with `session_number` where several sessions have one name, `turn`,
// and `after`, the rows that it waits for: `[{"row":3,"trigger":"completion","delay_ns":0}]`,
// where `row` counts the file's rows from 0. `replay --save-prompts` writes the same with a `body`
// in each row, the request body that is sent as it stands, and `body_api` in the header, the
// dialect that the bodies were made for (for `--api template` with the file's digest:
// "template:0123456789abcdef"). If recorded requests hold only new messages, the header has
// `"deltas":true`. Other columns are carried along for `--keep`. A row without `hash_ids` has a
// private prompt; a row with fewer ids than its length needs is accepted only if the header has
// `"uncovered":true`.

extern const TraceFormat canonical_format;

inline constexpr std::string_view canonical_schema = "driftless.trace";
inline constexpr std::uint64_t canonical_version = 1;
/// Keys of a header and of a row.
std::span<const std::string_view> canonical_columns();

// Lines of the format, as a trace (write.cpp) and rows that are made one by one (engine/plan) are
// written.

struct CanonicalHeader {
    std::uint32_t block_size = 0;
    TailRule tail_rule = TailRule::ceil;
    std::string_view source;  ///< name of the trace
    std::string_view format;  ///< that it was read as
};
/// Writes the members that every header has. The caller opens and closes the object.
void write_canonical_header(JsonWriter& json, const CanonicalHeader& header);

/// What a line says of a row beside its ids and waits. Lengths, namespace and turn of 0 are left
/// out.
struct CanonicalRow {
    std::int64_t at_ns = 0;
    std::uint32_t input_length = 0;
    std::uint32_t output_length = 0;
    std::uint32_t name_space = 0;
    std::optional<std::string_view> session;
    std::optional<std::uint32_t> session_number;
    std::uint32_t turn = 0;
};
/// Writes the members in their order. `ids`: any range of numbers with `empty`. The caller opens
/// and closes the object; waits come next.
template <typename Ids>
void write_canonical_row(JsonWriter& json, const CanonicalRow& row, const Ids& ids) {
    json.key("at_ns").integer(row.at_ns);
    if (row.input_length > 0) {
        json.key("input_length").unsigned_integer(row.input_length);
    }
    if (row.output_length > 0) {
        json.key("output_length").unsigned_integer(row.output_length);
    }
    if (!ids.empty()) {
        json.key("hash_ids").begin_array();
        for (const std::uint64_t id : ids) {
            json.unsigned_integer(id);
        }
        json.end_array();
    }
    if (row.name_space != 0) {
        json.key("name_space").unsigned_integer(row.name_space);
    }
    if (row.session) {
        json.key("session").string(*row.session);
    }
    if (row.session_number) {
        json.key("session_number").unsigned_integer(*row.session_number);
    }
    if (row.turn != 0) {
        json.key("turn").unsigned_integer(row.turn);
    }
}
/// Writes one element of `after`: a row that this one waits for, by its number in the file.
void write_canonical_wait(JsonWriter& json, std::uint32_t on, Trigger trigger,
                          std::int64_t delay_ns);

}  // namespace driftless
