#include <optional>
#include <string>
#include <utility>

#include "proto/trace/csv.hpp"
#include "proto/trace/formats.hpp"
#include "proto/trace/reader.hpp"

namespace driftless {

static constexpr std::string_view from_logs =
    "convert it to a trace without its text: driftless convert FILE --from-logs --tokenizer "
    "TOKENIZER.json --salt-file SALT_FILE -o NEW_FILE";
/// A whole body, its time, and no sessions: `workload`.
static constexpr std::string_view captured_bodies =
    "convert it to bodies with their times: jq -c '{timestamp: .eventMetadata.inferenceTime, body: "
    "(.captureData.endpointInput | if .encoding == \"BASE64\" then .data | @base64d else .data "
    "end)}'"
    " FILE > NEW_FILE";
static constexpr std::string_view payloads_of_sessions =
    "put each body on one line, with its session: jq -c '.data[] | .session_id as $s | "
    ".payloads[] | {session_id: $s, payload: .}' FILE > NEW_FILE; and replay NEW_FILE with "
    "--rate R, --concurrency N or --users N";
static constexpr std::string_view no_forks =
    "forks and spawns are not supported; a file without them becomes rows: jq -c '.session_id as "
    "$s "
    "| .turns[] | {session_id: $s, messages, tools, delay, output_length: .max_tokens, "
    "assistant_responses: \"live\"}' FILE > NEW_FILE; and replay NEW_FILE --sessions closed";
static constexpr std::string_view responses_bodies =
    "make chats of them: jq -c '{messages: ([.instructions // empty | {role: \"system\", content: "
    ".}] "
    "+ (.input | if type == \"string\" then [{role: \"user\", content: .}] else . end)), "
    "max_tokens: "
    ".max_output_tokens}' FILE > NEW_FILE; and replay NEW_FILE with --rate R, or --concurrency N";
/// Its rounds say how much of a prompt the round before had, and have no ids: they share
/// beginnings.
static constexpr std::string_view rounds =
    "make rows of it: jq -c '{timestamp: ([.timing_events[] | select(.event_type | test(\"user_|"
    "tool_result\")).timestamp] | max), session_id, input_length: .input_tokens_total, "
    "output_length: .output_tokens} | select(.timestamp)' FILE > NEW_FILE; and replay NEW_FILE "
    "--format mooncake --time-unit iso --share session";
static constexpr std::string_view named_conversations =
    "name them as sessions, without pauses: jq -c '{session_id: .conversation_id, messages, tools, "
    "output_length: (.output_length // .target_output_tokens)}' FILE > NEW_FILE; and replay "
    "NEW_FILE "
    "--sessions closed";
static constexpr std::string_view to_json_lines =
    "convert it to JSON lines with pandas: read_parquet('F').to_json('F.jsonl', orient='records', "
    "lines=True)";
static constexpr std::string_view to_json_lines_from_arrow =
    "convert it to JSON lines with pandas: read_feather('F').to_json('F.jsonl', orient='records', "
    "lines=True)";

static constexpr ForeignShape long_conversations = {
    "ShareGPT conversations, or SGLang's, in one JSON text of more than 64 MiB",
    "put each on one line: jq -c '.[]' FILE > NEW_FILE, for SGLang's jq -c '.conversations[] | "
    "{conversations: [.]}'; or use it as prompt text of another trace: replay TRACE --dataset "
    "FILE --tokenizer TOKENIZER.json"};
static constexpr ForeignShape long_bundle = {
    "an ISB-1 bundle of more than 64 MiB",
    "put each cell on one line: jq -c '. as $b | .exports[] | "
    "{adapter_id: $b.adapter_id, exports: [.]}' FILE > NEW_FILE"};
static constexpr ForeignShape servegen = {
    "ServeGen's parameters, which describe a generator, not a trace",
    "run ServeGen and replay the requests that it writes: --map time=timestamp,in=input_tokens,"
    "out=output_tokens --time-unit s"};

namespace {

/// A shape is known by keys that stand together in its rows.
struct KeyShape {
    std::string_view keys[3];  ///< all must be there; empty: none asked
    ForeignShape shape;
};

}  // namespace

static constexpr KeyShape key_shapes[] = {
    {{"row", "due_ns", "fired_ns"},
     {"the records of a run",
      "repeat that run by its folder: driftless replay --from FOLDER; or make a trace of it: "
      "driftless convert FOLDER -o NEW_FILE"}},
    {{"filetype", "num_conversations"},
     {"vLLM's configuration of conversations, which describes a generator, not a trace",
      "run vLLM's benchmark_serving_multi_turn.py with -o and replay what it writes"}},
    {{"captureData"}, {"a SageMaker data capture", captured_bodies}},
    {{"resourceSpans"}, {"an OTLP export", from_logs}},
    {{"spans"}, {"an OpenTelemetry export", from_logs}},
    {{"call_type", "startTime"}, {"a LiteLLM log", from_logs}},
    {{"type", "trace_id", "start_time"}, {"a Langfuse export", from_logs}},
    {{"type", "traceId", "startTime"}, {"a Langfuse export", from_logs}},
    {{"timestamp", "request"}, {"a log of requests", from_logs}},
    {{"round_index", "session_id", "timing_events"}, {"a TraceLab trace", rounds}},
    {{"input", "max_output_tokens"}, {"bodies of OpenAI's Responses", responses_bodies}},
    {{"messages", "conversation_id"}, {"requests of conversations", named_conversations}},
};

/// A byte that no text has: of control bytes only those that format it, and the escape.
static bool is_binary(std::string_view line) {
    return std::ranges::any_of(line, [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x08 || (byte > 0x0D && byte < 0x20 && byte != 0x1B);
    });
}

/// Its remedy, where it is such: by its mark, or by the zero byte beside a first character of
/// ASCII, which shows the order of bytes. Empty: it is not.
static std::string_view utf16_remedy(std::string_view line) {
    const bool marked = line.starts_with("\xFF\xFE") || line.starts_with("\xFE\xFF");
    const bool zero = line.size() > 1 && (line[0] == '\0') != (line[1] == '\0');
    return marked            ? "convert it to UTF-8: iconv -f UTF-16 -t UTF-8 FILE > NEW_FILE"
           : !zero           ? ""
           : line[0] == '\0' ? "convert it to UTF-8: iconv -f UTF-16BE -t UTF-8 FILE > NEW_FILE"
                             : "convert it to UTF-8: iconv -f UTF-16LE -t UTF-8 FILE > NEW_FILE";
}

namespace {

struct TextShape {
    std::string_view begins;
    ForeignShape shape;
};

}  // namespace

static constexpr const char* save_as_csv = "save it as CSV, with times as yyyy-mm-dd hh:mm:ss.000";
static constexpr ForeignShape twice_compressed = {"a compressed file inside another one",
                                                  "decompress it once: gzip -dc FILE > NEW_FILE"};

static constexpr TextShape text_shapes[] = {
    {"PAR1", {"a Parquet file", to_json_lines}},
    {"ARROW1", {"an Arrow file", to_json_lines_from_arrow}},
    {"\xD0\xCF\x11\xE0", {"an Excel workbook", save_as_csv}},
    {"\x1F\x8B", twice_compressed},
    {"BZh", twice_compressed},
    {"\xFD\x37zXZ", twice_compressed},
    {"\x28\xB5\x2F\xFD", twice_compressed},
    {"SQLite format 3", {"an SQLite database", "export the table as CSV or JSON lines"}},
    {"version https://git-lfs",
     {"a pointer of Git LFS, not the file itself", "fetch the file: git lfs pull"}},
};

/// What begins as a zip archive, by the file's name or that of its first part.
static ForeignShape zip_shape(std::string_view line, std::string_view file) {
    const auto has = [line](std::string_view part) { return line.find(part) != line.npos; };
    const bool workbook =
        file.ends_with(".xlsx") || has("[Content_Types].xml") || has("docProps/") || has("xl/");
    const bool open_document = file.ends_with(".ods") || has("opendocument.spreadsheet");
    return workbook        ? ForeignShape{"an Excel workbook", save_as_csv}
           : open_document ? ForeignShape{"an OpenDocument spreadsheet", save_as_csv}
                           : ForeignShape{"a zip archive", "unpack it: unzip FILE"};
}

/// By the mark in the header of its first member (POSIX.1-1988 ustar, and GNU's).
static bool is_tar(std::string_view line) {
    constexpr std::size_t mark_offset = 257;
    return line.size() > mark_offset && line.substr(mark_offset).starts_with("ustar");
}

/// "600", "600.0".
static bool whole_cell(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789.") == text.npos;
}

/// Six cells: a window's start, three numbers or none, the name of a distribution as the fourth.
static bool is_servegen_window(std::string_view line) {
    std::size_t cells = 0;
    for (std::size_t at = 0; at <= line.size(); ++cells) {
        const std::string_view cell = line.substr(at, line.find(',', at) - at);
        const bool number = cell.find_first_not_of("0123456789.-+eE") == cell.npos;
        const bool name = cell.empty() || cell == "Gamma" || cell == "Weibull";
        if (cells == 0 ? !whole_cell(cell) : cells == 3 ? !name : !number) {
            return false;
        }
        at += cell.size() + 1;
    }
    return cells == 6;
}

/// The member of an object that no format reads which may hold the file's rows: a list of objects.
/// Empty: there is none.
static std::string_view list_of_rows(const JsonValue& object) {
    std::string_view found;
    for (JsonValue member = object.first(); member.present(); member = member.next()) {
        if (!member.is(JsonType::array) || !member.first().is(JsonType::object)) {
            continue;
        }
        const bool plain =
            !member.key().empty() &&
            member.key().find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos;
        found = found.empty() && plain ? member.key() : std::string_view();
    }
    return found;
}

static ForeignShape foreign_shape(const JsonValue& row) {
    if (row.find("hash_ids").is(JsonType::object)) {
        return {"a RAGPulse trace: its hash_ids are objects of five lists, not prompt blocks",
                "it does not record the order of its parts, so prompts cannot be built from it; "
                "use another trace"};
    }
    if (const JsonValue turn = row.find("turns").first(); turn.find("messages").present() ||
                                                          turn.find("forks").present() ||
                                                          turn.find("spawns").present()) {
        return {"AIPerf conversations with forks (dag_jsonl)", no_forks};
    }
    for (const char* list : {"data", "observations"}) {
        const JsonValue one = row.find(list).first();
        if (one.find("type").present() &&
            (one.find("trace_id").present() || one.find("traceId").present())) {
            return {"a Langfuse export", from_logs};
        }
    }
    if (row.find("data").first().find("payloads").is(JsonType::array)) {
        return {"AIPerf's inputs.json", payloads_of_sessions};
    }
    if (const JsonValue message = row.find("conversations").first();
        message.is(JsonType::object) && !message.find("from").present()) {
        return {"conversations that do not say who sent a message, unlike ShareGPT's",
                "use --format sharegpt if messages have role and content; or use them as prompt "
                "text of another trace: replay TRACE --dataset FILE --tokenizer "
                "TOKENIZER.json"};
    }
    if (row.find("timestamp").present() && row.find("input").is(JsonType::string)) {
        return {"a log of requests", from_logs};
    }
    const JsonValue window = row.first();
    if (whole_cell(window.key()) && window.first().as_string().value_or("").starts_with('{')) {
        return servegen;  // an object by window starts, whose values are Python in strings
    }
    for (const KeyShape& one : key_shapes) {
        if (std::ranges::all_of(one.keys, [&row](std::string_view key) {
                return key.empty() || row.find(key).present();
            })) {
            return one.shape;
        }
    }
    return {};
}

ForeignShape foreign_line_ends(std::string_view line) {
    return line.find('\r') == line.npos
               ? ForeignShape{}
               : ForeignShape{"text whose lines end in CR alone",
                              "convert them to LF: tr '\\r' '\\n' < FILE > NEW_FILE"};
}

ForeignShape foreign_text_shape(std::string_view line, std::string_view file) {
    if (line.starts_with("PK\x03\x04")) {
        return zip_shape(line, file);
    }
    if (is_tar(line)) {
        return {"a tar archive", "unpack it: tar -xf FILE"};
    }
    if (const std::string_view remedy = utf16_remedy(line); !remedy.empty()) {
        return {"text in UTF-16", remedy};
    }
    for (const TextShape& one : text_shapes) {
        if (line.starts_with(one.begins)) {
            return one.shape;
        }
    }
    if (is_binary(line)) {
        return {"a binary file", "name the trace itself, which is JSON lines or CSV"};
    }
    const std::string_view cell = line.substr(0, line.find(','));
    const bool rates = line.find("Gamma") != line.npos || line.find("Weibull") != line.npos;
    return (whole_cell(cell) && rates) || is_servegen_window(line) ? servegen
                                                                   : foreign_line_ends(line);
}

ForeignShape foreign_long_shape(std::string_view beginning) {
    const auto has = [beginning](std::string_view key) {
        return beginning.find(key) != beginning.npos;
    };
    return has("\"adapter_id\"")      ? long_bundle
           : has("\"conversations\"") ? long_conversations
                                      : ForeignShape{};
}

FormatChoice::FormatChoice(const ReadOptions& options, TraceDraft& draft)
    : draft_(draft), rules_{options} {
    const bool need_no_arrivals = options.times_free && options.sessions == Sessions::recorded;
    rules_.sessions = need_no_arrivals ? Sessions::open : options.sessions;
}

bool FormatChoice::check_options(const RowContext& none, const TraceFormat* named) const {
    bool fine = true;
    if (!rules_.time_unit.empty() && !from_name<TimeUnit>(rules_.time_unit)) {
        fine = none.refuse("--time-unit", rules_.time_unit, "is not a unit of time",
                           "use one of " + time_unit_names());
    }
    if (named == nullptr && !rules_.format.empty()) {
        fine = none.refuse("--format", rules_.format, "is not a format that this version reads",
                           "it reads " + trace_format_names());
    }
    if (!rules_.map.empty() && named != nullptr && named != &generic_format) {
        fine =
            none.refuse("--map", rules_.map[0].key, "has no effect on the format " + rules_.format,
                        "remove one of the two; --map alone reads any columns");
    }
    return fine;
}

bool FormatChoice::take_options(const RowContext& none) {
    const TraceFormat* const named = find_trace_format(rules_.format);
    if (!check_options(none, named)) {
        return false;
    }
    if (named != nullptr) {
        choose(*named);
        return check_unit(none);
    }
    if (!rules_.map.empty()) {
        choose(generic_format);
    }
    return true;
}

/// Some columns have the unit in their names.
bool FormatChoice::check_unit(const RowContext& context) const {
    const char* const own = name_of(format_->time_unit);
    if (!rules_.unit_stated() || *format_->unit_in == '\0' || rules_.time_unit == own) {
        return true;
    }
    return context.refuse(
        "--time-unit", rules_.time_unit,
        std::string("contradicts ") + format_->unit_in + ", whose times are in " + own,
        "remove the flag");
}

void FormatChoice::choose(const TraceFormat& format) {
    format_ = &format;
    const auto unit = from_name<TimeUnit>(rules_.time_unit);
    rules_.unit = unit.value_or(format.time_unit);
    if (rules_.unit == TimeUnit::automatic && format.time_unit != TimeUnit::automatic) {
        rules_.unit = format.time_unit;
    }
    rules_.block_size = rules_.block_size > 0 ? rules_.block_size : format.block_size;
    list_known();
    draft_.trace().format = format.name;
    if (format.shared_ids) {
        draft_.share_name_space();
    }
}

void FormatChoice::list_known() {
    known_.assign(format_->columns.begin(), format_->columns.end());
    for (const MappedColumn& one : rules_.map) {
        known_.push_back(one.column);  // may have dots itself
        known_.push_back(std::string_view(one.column).substr(0, one.column.find('.')));
    }
    if (format_ == &generic_format) {
        known_.insert(known_.end(), map_keys().begin(), map_keys().end());
    }
}

void FormatChoice::begin_file() {
    file_checked_ = !rules_.format.empty() || !rules_.map.empty();
}

bool FormatChoice::admit(const RowContext& context, const JsonValue& row) {
    if (file_checked_) {
        return true;
    }
    const ForeignShape foreign = foreign_shape(row);
    std::vector<const TraceFormat*> found;
    for (const TraceFormat* one : trace_formats()) {
        if (foreign.what.empty() && one->matches != nullptr && one->matches(row)) {
            found.push_back(one);
        }
    }
    std::string problem = "does not have the keys of a known format";
    std::string remedy = map_remedy(map_names(row), rules_.time_unit) +
                         "; or choose one of these with --format: " + trace_format_names();
    if (const std::string list(list_of_rows(row)); !list.empty()) {
        remedy = "if its rows stand in \"" + list + "\", put each on one line: jq -c '." + list +
                 "[]' FILE > NEW_FILE; else " + remedy;
    }
    if (!foreign.what.empty()) {
        problem = "looks like " + std::string(foreign.what);
        remedy = foreign.remedy;
    } else if (found.size() > 1) {
        problem = std::string("has the keys of ") + found[0]->name + " and of " + found[1]->name;
        remedy = "choose one with --format";
    } else if (found.size() == 1 && format_ != nullptr && format_ != found[0]) {
        problem = std::string("looks like ") + found[0]->name + ", but the trace began as " +
                  format_->name;
        remedy = "replay files of different formats separately";
    } else if (found.size() == 1) {
        file_checked_ = true;
        if (format_ == nullptr) {
            choose(*found[0]);
        }
        return check_unit(context);
    }
    return context.refuse("", row.raw(), problem, remedy);
}

bool FormatChoice::admit(CsvHeader& header) {
    const TraceFormat* const found = find_format(header);
    spell_map(header);
    if (format_ == nullptr && found != nullptr) {
        choose(*found);
    }
    return format_ != nullptr && format_->read_csv != nullptr &&
           (found == format_ || format_->matches_header == nullptr);
}

/// The format whose columns these are, in any case of letters. The header takes its spelling. Where
/// the format was chosen before, no other one is looked at.
const TraceFormat* FormatChoice::find_format(CsvHeader& header) const {
    const TraceFormat* found = nullptr;
    CsvHeader spelled = header;
    for (const TraceFormat* one : trace_formats()) {
        const bool is_other = format_ != nullptr && one != format_;
        if (is_other || one->matches_header == nullptr) {
            continue;
        }
        CsvHeader adopted = header;
        adopted.adopt(one->columns);
        if (one->matches_header(adopted)) {
            found = one;
            spelled = std::move(adopted);
        }
    }
    header = std::move(spelled);
    return found;
}

/// Where map and header differ in upper and lower case only.
void FormatChoice::spell_map(const CsvHeader& header) {
    for (MappedColumn& one : rules_.map) {
        if (const std::optional<std::size_t> at = header.find_in_any_case(one.column)) {
            one.column = header.names()[*at];
        }
    }
    if (format_ != nullptr) {
        list_known();
    }
}

}  // namespace driftless
