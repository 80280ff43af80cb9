/// Logs of services as requests: a format as a table entry, what all importers read alike, and
/// LogReader: lines in, LogCalls out.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/json/document.hpp"
#include "proto/json/write.hpp"
#include "proto/trace/row.hpp"

namespace driftless {

// LogCall: one request of a service's log, as an importer found it: when, how long, and its text.
//
// Text, names and ids of the log live here while block ids are made of them, and nowhere else:
// nothing of a LogCall but times, lengths and what `--keep` names is ever written. Owned by the
// LogReader, valid until its next line.

/// A part of a prompt. `role` is empty where the prompt is one text (completions APIs).
struct LogMessage {
    std::string role;
    std::string text;
};

struct LogCall {
    std::int64_t start_ns = 0;                   ///< since 1970
    std::optional<std::int64_t> end_ns;          ///< of the whole answer; not before `start_ns`
    std::vector<LogMessage> prompt;              ///< empty: the log holds no text of it
    std::optional<std::string> answer;           ///< text and tool calls of the first choice
    std::optional<std::uint32_t> input_tokens;   ///< as the server counted them
    std::optional<std::uint32_t> output_tokens;  ///< as the server counted them
    std::string session;                         ///< conversation or trace; empty: none
    std::string id;                              ///< of the call; empty: none
    std::string model;                           ///< empty: not said
    std::optional<bool> streamed;
    bool failed = false;
    std::string kept;        ///< `--keep`: a JSON object; empty where nothing is kept
    std::uint64_t line = 0;  ///< where it is in its file
    std::string place;       ///< inside the line: "spans[3]."
};

// LogFormat: a format of logs as a table entry, one file per format beside this one.
//
// A format knows where a gateway or an exporter puts times, messages, usage and sessions. It gets
// one JSON object at a time and adds the calls that it finds there; lines and files are the
// reader's (logs.hpp), tokens and block ids the engine's. What it leaves out, it counts; what
// it cannot do without, it refuses by name. Error messages never quote a value: it may be private
// text.

/// A column that `--keep` names.
struct KeptColumn {
    std::string name;
    bool seen = false;  ///< some call had it
};

/// Where a format puts its calls and its complaints. Lives as long as the reader's call.
struct LogContext {
    std::vector<LogCall>& calls;
    std::vector<Remark>& remarks;
    std::vector<KeptColumn>& columns;
    std::vector<std::string>& names;  ///< what `--keep` could name in the first call
    InputErrors& errors;
    JsonDocument& inner;  ///< for JSON that is in a string; parsing again ends the one before
    std::string_view file;
    std::uint64_t line = 0;
    std::string place = {};  ///< inside the line, before a field's name: "spans[3]."

    /// Always false.
    bool refuse(std::string_view field, std::string problem, std::string remedy) const;
    /// Counts a fact that a person should know.
    void remark(const char* one, const char* many) const { add_remark(remarks, one, many, 1); }

    /// Carries the kept columns of a call; `find` gives the value of a name, or an absent one, and
    /// `list` all names.
    template <typename Find, typename List>
    void keep(LogCall& call, Find find, List list) const {
        if (columns.empty()) {
            return;
        }
        if (names.empty()) {
            names = list();
        }
        JsonWriter json(call.kept);
        json.begin_object();
        for (KeptColumn& column : columns) {
            const JsonValue value = find(std::string_view(column.name));
            column.seen = column.seen || value.present();
            json.key(column.name).raw(value.present() ? value.raw() : "null");
        }
        json.end_object();
    }

    void keep(LogCall& call, const JsonValue& object) const;

    /// Reads the elements of a list, each at its own place.
    template <typename Read>
    void read_each(const JsonValue& list, std::string_view name, const Read& read) {
        const std::string outside = place;
        std::size_t number = 0;
        for (JsonValue one = list.first(); one.present(); one = one.next()) {
            place = outside + std::string(name) + "[" + std::to_string(number++) + "].";
            read(one);
        }
        place = outside;
    }

    /// Adds a call that is complete.
    void add(LogCall call) const;
};

struct LogFormat {
    const char* name = "";  ///< as `--log-format` spells it
    const char* what = "";  ///< whose it is, for messages
    /// Whether an object of the log looks like this format.
    bool (*matches)(const JsonValue& object) = nullptr;
    /// Adds the calls of an object, or lists what is wrong with it.
    void (*read)(LogContext& context, const JsonValue& object) = nullptr;
};

const LogFormat* find_log_format(std::string_view name);
/// The names, comma-separated, for messages.
std::string log_format_names();

extern const LogFormat otel_log;
extern const LogFormat langfuse_log;
extern const LogFormat litellm_log;
extern const LogFormat plain_log;

// What all importers read alike: names with several spellings, times, counts of tokens, usage.
//
// Pure but for the context's errors. A null counts as absent.

using Names = std::initializer_list<std::string_view>;

/// The first of these members that is there; absent where none is.
JsonValue member(const JsonValue& object, Names names);
/// Its text: that of a string, or a number as written. Empty where there is none.
std::string_view text_member(const JsonValue& object, Names names);

/// Reads when a call began and ended. False, and listed, where the beginning is missing or no
/// time. An end that is missing stays unknown; one that is no time or before the beginning is
/// counted and dropped.
bool read_times(const LogContext& context, const JsonValue& start, const JsonValue& end,
                std::string_view start_name, LogCall& call);

/// A whole number of tokens, a string of digits too. Nothing above `row_tokens_max`.
std::optional<std::uint32_t> tokens_of(const JsonValue& value);

/// Usage as chat, completions and messages APIs write it: `prompt_tokens` or `input_tokens` (plus
/// Anthropic's `cache_read_input_tokens` and `cache_creation_input_tokens`, which its
/// `input_tokens` leaves out), `completion_tokens` or `output_tokens`.
void read_usage(const JsonValue& usage, LogCall& call);

/// Whether the text is one of the names, whatever the case of its letters.
bool is_one_of(std::string_view text, Names names);

// Prompts and answers as APIs and exporters write them: chat messages with texts, parts, tool
// calls and tool results; requests and responses of chat, completions, responses and messages
// APIs; OpenTelemetry's parts.
//
// All text of a message goes into one LogMessage, one line per part. A part that is not text
// (image, audio, file) becomes a short mark that is different for different parts, and is counted.
// Nothing here fails: what holds no text gives none.

/// Appends a list of messages, a single one, or a text that is the whole prompt. A string that
/// holds such JSON is read as what it holds.
void add_messages(const LogContext& context, const JsonValue& messages, LogCall& call);

/// Appends definitions of tools, as they stand, as a message of the role "tools". Templates put
/// them first: call it before `add_messages`.
void add_tools(const JsonValue& tools, LogCall& call);

/// A request body: tools, instructions, messages, input or prompt; whether it streams. Counts
/// those that ask for several answers.
void read_request(const LogContext& context, const JsonValue& body, LogCall& call);

/// A response body, a message, a list of choices, or the answer's text: the first choice's text
/// and tool calls, and usage where there is one.
void read_response(const LogContext& context, const JsonValue& response, LogCall& call);

/// LogReader: lines of a log in, LogCalls out. It finds the format and lists every error.
///
/// Bytes and files are the caller's (cmd/reading). A log is JSON lines, or one JSON text that goes
/// over several lines, or an array of objects; such a text is gathered first. All files of a log
/// are of one format. It keeps nothing of a call once the next line comes.
class LogReader {
  public:
    /// `format` by its name, empty: by the first object. `errors` outlives the reader. A name that
    /// is none is listed at once.
    LogReader(std::string_view format, const std::vector<std::string>& keep, InputErrors& errors);

    /// What follows comes from this file. What was gathered of the one before is dropped.
    void begin_file(std::string_view name);
    /// One line without its end; blank ones are skipped. False if there is no point in reading
    /// further in this file.
    bool add_line(std::uint64_t number, std::string_view line);
    /// After the last line of a file.
    void end_file();
    /// After the last file: names of kept columns that no call had are listed.
    void finish();

    /// The calls of the last line, or of the file where it was gathered. They may be moved from.
    std::span<LogCall> calls() { return calls_; }

    /// What was noticed and is no reason to refuse.
    const std::vector<Remark>& remarks() const { return remarks_; }
    /// The format that was chosen; nullptr where nothing was read.
    const LogFormat* format() const { return format_; }

  private:
    enum class Container : std::uint8_t { unknown, lines, gathered, refused };

    LogContext context(std::uint64_t line);
    void json_text(std::uint64_t line, std::string_view text);
    void json_object(LogContext& context, const JsonValue& object);
    bool gather(std::uint64_t number, std::string_view line);

    InputErrors& errors_;
    const LogFormat* format_ = nullptr;
    bool stopped_ = false;  ///< the name of the format is wrong
    std::vector<KeptColumn> columns_;
    std::vector<std::string> names_;  ///< columns of the first call
    std::vector<Remark> remarks_;
    std::vector<LogCall> calls_;
    JsonDocument document_;
    JsonDocument inner_;

    std::string file_;
    Container container_ = Container::unknown;
    JsonTexts texts_;  ///< gathered
};

}  // namespace driftless
