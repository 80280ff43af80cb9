#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/core/text.hpp"
#include "proto/json/write.hpp"
#include "proto/trace/draft.hpp"
#include "proto/trace/formats.hpp"

namespace driftless {

// Rows of Mooncake traces in words, as AIPerf writes them: a text, messages, or a whole body.
//
// Messages are all that was said so far, or, where the row says so, only what is new since the
// answer before. The older key for it is `message_mode` (history, delta), the newer one
// `assistant_responses` (recorded, live). Source: ai-dynamo/aiperf,
// src/aiperf/dataset/loader/{models,mooncake_trace}.py, and its tests.

static constexpr const char* one_mode =
    "use assistant_responses live in all rows of messages, or in none";

/// Whether the row's messages are new ones alone. Nothing after an error.
static std::optional<bool> read_mode(const RowContext& context, const JsonValue& mode) {
    const auto is = [word = mode.as_string().value_or("")](std::string_view name) {
        return equal_ignoring_case(word, name);
    };
    if (!mode.present() || is("history") || is("recorded")) {
        return false;
    }
    if (is("delta") || is("live")) {
        return true;
    }
    context.refuse(mode.key(), mode.raw(), "is not a kind of messages",
                   "use assistant_responses recorded (whole conversation) or live (only new "
                   "messages), or in older traces message_mode history or delta");
    return std::nullopt;
}

/// False after an error.
static bool check_delta(const RowContext& context, const RecordedFields& words,
                        const JsonValue& mode) {
    if (!words.messages.present()) {
        return context.refuse(mode.key(), mode.raw(), "is set for a row without messages",
                              "only messages can follow the answers of a run; remove it");
    }
    for (const std::string_view name : {"messages", "input"}) {
        if (const JsonValue member = words.extra.find(name); member.present()) {
            return context.refuse("extra", words.extra.raw(),
                                  "has " + std::string(name) + ", instead of the conversation",
                                  "remove it: the run assembles the conversation itself");
        }
    }
    return true;
}

static bool has_answer(const JsonValue& messages) {
    for (JsonValue one = messages.first(); one.present(); one = one.next()) {
        if (one.find("role").as_string() == "assistant") {
            return true;
        }
    }
    return false;
}

/// The messages of a request that was given, as JSON text without the bracket at their end.
static std::string_view list_of(std::string_view request, std::uint64_t list_bytes) {
    constexpr std::string_view before = R"({"messages":)";
    request.remove_prefix(std::min(before.size(), request.size()));
    return request.substr(0, list_bytes - 1);
}

static std::uint64_t bytes_without_line_ends(std::string_view json) {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(json, [](char byte) { return byte != '\n' && byte != '\r'; }));
}

/// Notes the row's messages, whose request was given to the next row. Rows that hold all that was
/// said repeat the row before and the answer to it: where they do not, they may be deltas.
static void note_messages(const RowContext& context, const JsonValue& messages, RowWords kind,
                          std::uint32_t session) {
    MessageTail& tail = context.draft.message_rows().tail(session);
    const Trace& trace = context.draft.trace();
    const std::uint32_t before = context.draft.sessions().tail(session).last_row;
    const std::uint64_t list_bytes = bytes_without_line_ends(messages.raw());
    if (before != no_row && kind == RowWords::delta && has_answer(messages)) {
        context.draft.remark(
            "row of new messages with an answer: it is sent after the server's own",
            "rows of new messages with answers: they are sent after the server's own");
    }
    if (before != no_row && kind == RowWords::history && !tail.doubted) {
        const std::uint64_t begin = trace.body_ends.empty() ? 0 : trace.body_ends.back();
        const std::string_view now =
            list_of(std::string_view(trace.body_bytes).substr(begin), list_bytes);
        const std::string_view earlier =
            list_of(trace.body_of(trace.rows[before]), std::max(tail.list_bytes, std::uint64_t{1}));
        tail.doubted = !has_answer(messages) || !now.starts_with(earlier);
        context.draft.remark(
            "session whose rows may have only new messages: they do not repeat the conversation "
            "(mark this with assistant_responses live)",
            "sessions whose rows may have only new messages: they do not repeat the conversation "
            "(mark this with assistant_responses live)",
            tail.doubted ? 1 : 0);
    }
    tail.list_bytes = list_bytes;
}

/// What the row's words are, held against the rows before it. `mode`: its key that says so; absent
/// where it has none. Nothing after an error.
static std::optional<RowWords> read_row_words(const RowContext& context,
                                              const RecordedFields& words, const JsonValue& mode,
                                              std::uint32_t session) {
    const std::optional<bool> delta = read_mode(context, mode);
    if (!delta || (*delta && !check_delta(context, words, mode))) {
        return std::nullopt;
    }
    const RowWords kind = *delta                     ? RowWords::delta
                          : words.messages.present() ? RowWords::history
                                                     : RowWords::none;
    const std::string_view problem = context.draft.message_rows().note(session, kind);
    if (!problem.empty()) {
        context.refuse(mode.present() ? mode.key() : "messages",
                       mode.present() ? mode.raw() : words.messages.raw(), std::string(problem),
                       one_mode);
        return std::nullopt;
    }
    return kind;
}

/// Gives the next row, of that session or of none, its request. Tools of a session hold until
/// others come where its rows are deltas. False after an error.
static bool read_mooncake_words(const RowContext& context, RecordedFields words, RowWords kind,
                                std::uint32_t session) {
    MessageRows& rows = context.draft.message_rows();
    const bool turn = session != no_session && kind != RowWords::none;
    if (turn && kind == RowWords::delta) {
        words.tools_before = rows.tail(session).tools;
    }
    if (!read_recorded(context, words)) {
        return false;
    }
    if (kind == RowWords::delta) {
        note_delta(context);
    }
    if (turn) {
        note_messages(context, words.messages, kind, session);
        if (words.tools.present()) {
            rows.tail(session).tools = words.tools.size() > 0 ? words.tools.raw() : "";
        }
    }
    return true;
}

namespace {

/// What a row's key means.
enum class Meaning : std::uint8_t {
    time,
    input,
    output,
    ids,
    session,
    delay,
    text,
    prompt,
    messages,
    tools,
    payload,
    extra,
    mode,
    count
};

struct Key {
    std::string_view name;
    Meaning meaning;
};

}  // namespace

static constexpr Key keys[] = {
    {"timestamp", Meaning::time},       {"created_time", Meaning::time},
    {"input_length", Meaning::input},   {"input_tokens", Meaning::input},
    {"output_length", Meaning::output}, {"output_tokens", Meaning::output},
    {"hash_ids", Meaning::ids},         {"session_id", Meaning::session},
    {"delay", Meaning::delay},          {"delay_ms", Meaning::delay},
    {"text_input", Meaning::text},      {"input_text", Meaning::text},
    {"prompt", Meaning::prompt},        {"messages", Meaning::messages},
    {"tools", Meaning::tools},          {"payload", Meaning::payload},
    {"extra", Meaning::extra},          {"extra_body", Meaning::extra},
    {"message_mode", Meaning::mode},    {"assistant_responses", Meaning::mode},
};
static constexpr auto columns = [] {
    std::array<std::string_view, std::size(keys)> names;
    std::ranges::transform(keys, names.begin(), &Key::name);
    return names;
}();

namespace {

/// The fields of a row. A null counts as absent, so that an alias may be in.
struct Fields {
    JsonValue of[static_cast<std::size_t>(Meaning::count)];

    const JsonValue& operator[](Meaning meaning) const {
        return of[static_cast<std::size_t>(meaning)];
    }
    Field field(Meaning meaning, std::string_view name) const {
        const JsonValue& value = (*this)[meaning];
        return field_of(value, value.present() ? value.key() : name);
    }
};

}  // namespace

static Fields fields_of(const JsonValue& row) {
    Fields fields;
    for (JsonValue value = row.first(); value.present(); value = value.next()) {
        const std::string_view name = value.key();
        const Key* const key = std::ranges::find(keys, name, &Key::name);
        if (key == std::end(keys)) {
            continue;
        }
        JsonValue& field = fields.of[static_cast<std::size_t>(key->meaning)];
        const bool again =
            field.present() && field.key() == name;  // the last of equal names counts
        if (value.is(JsonType::null)) {
            field = again ? JsonValue() : field;
        } else {
            field = field.present() && !again ? field : value;
        }
    }
    return fields;
}

/// `prompt` is many logs' name for a text that is beside messages, and data sets' for a list of
/// them.
static RecordedFields recorded_of(const Fields& fields) {
    const bool only_prompt = !fields[Meaning::text].present() &&
                             !fields[Meaning::messages].present() &&
                             !fields[Meaning::payload].present();
    const bool is_chat = only_prompt && fields[Meaning::prompt].first().is(JsonType::object);
    return {is_chat ? JsonValue() : fields[only_prompt ? Meaning::prompt : Meaning::text],
            fields[is_chat ? Meaning::prompt : Meaning::messages], fields[Meaning::tools],
            fields[Meaning::payload], fields[Meaning::extra]};
}

/// Members that the body of a request has, and no row of lengths.
static constexpr std::string_view body_members[] = {
    "model",
    "max_tokens",
    "max_completion_tokens",
    "min_tokens",
    "ignore_eos",
    "temperature",
    "top_p",
    "stream",
    "stop",
    "tool_choice",
    "seed",
    "n",
    "top_k",
    "response_format",
};

/// Whether the row is the body of a request itself: {"model": .., "messages": .., "max_tokens":
/// ..}.
static bool is_body(const JsonValue& row, const Fields& fields) {
    const JsonValue& prompt = fields[Meaning::prompt];
    if (fields[Meaning::text].present() || fields[Meaning::payload].present() ||
        fields[Meaning::mode].present() ||
        (!prompt.present() && !fields[Meaning::messages].present())) {
        return false;
    }
    return (prompt.is(JsonType::array) && !prompt.first().is(JsonType::object)) ||
           std::ranges::any_of(body_members,
                               [&row](std::string_view name) { return row.find(name).present(); });
}

/// The row as the body that it is: without the members that only a trace has.
static std::string sent_members(const JsonValue& row) {
    constexpr std::string_view of_both[] = {"messages", "tools", "prompt"};
    constexpr std::string_view names[] = {"id", "custom_id", "request_id"};
    const auto is_one_of = [](const auto& list, std::string_view name) {
        return std::ranges::count(list, name) > 0;
    };
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    for (JsonValue member = row.first(); member.present(); member = member.next()) {
        const std::string_view name = member.key();
        if (is_one_of(of_both, name) || !(is_one_of(columns, name) || is_one_of(names, name))) {
            json.key(name).raw(member.raw());
        }
    }
    json.end_object();
    return text;
}

/// The words of a request, or a whole one.
static bool holds_request(const RecordedFields& words) {
    const JsonValue& in = words.payload.present() ? words.payload.find("messages") : words.messages;
    const JsonValue& text = words.payload.present() ? words.payload.find("prompt") : words.text;
    return in.is(JsonType::array) || text.is(JsonType::string) || text.is(JsonType::array);
}

/// By its names. Words alone are enough. Names of other tools (`input_tokens`) are many logs'
/// names, whose times are in any unit: they count beside block ids or a session only.
static bool matches(const JsonValue& row) {
    if (row.find("chat_id").present() || row.find("schema").present()) {
        return false;
    }
    const Fields fields = fields_of(row);
    if (holds_request(recorded_of(fields))) {
        return !is_only_conversation(row);
    }
    const bool input = fields[Meaning::input].present() || recorded_of(fields).any();
    if (fields[Meaning::input].key() == "input_tokens" && !fields[Meaning::ids].present() &&
        !fields[Meaning::session].present()) {
        return false;
    }
    const int known = fields[Meaning::time].present() + input + fields[Meaning::output].present() +
                      fields[Meaning::delay].present() + fields[Meaning::mode].present() +
                      fields[Meaning::ids].is(JsonType::array);
    return known >= 2;
}

/// A time with a fraction of a millisecond, where the user did not state the unit: tools that
/// write seconds use the same names. The whole trace decides (reader.hpp).
static bool in_doubt(const RowContext& context, const Field& time) {
    const std::size_t point = time.text.find('.');
    const bool stated = context.rules.unit_stated() || context.rules.format_stated();
    return !stated && time.name == "timestamp" && point != time.text.npos &&
           time.text.find_first_of("123456789", point) != time.text.npos;
}

/// When the row comes. One that follows its session by a delay has no arrival time of its own.
static std::optional<std::int64_t> read_arrival(RowContext& context, const Fields& fields,
                                                const TraceRow& row, std::int64_t delay_ns) {
    const Field time = fields.field(Meaning::time, "timestamp");
    if (row.session == no_session && !context.draft.doubt() && in_doubt(context, time)) {
        context.draft.note_doubt({std::string(context.file), context.line, std::string(time.name),
                                  std::string(time.text)});
    }
    return row.session == no_session ? read_time(context, time)
                                     : read_turn_time(context, time, row.session, delay_ns);
}

/// The ids, held against the length where that is known.
static bool read_blocks(const RowContext& context, const JsonValue& ids, const Field& input) {
    if (!read_row_ids(context, ids)) {
        return false;
    }
    const std::optional<std::uint64_t> tokens = whole_number(input.raw);
    return !ids.present() || !tokens || *tokens == 0 || *tokens > row_tokens_max ||
           check_count(context, static_cast<std::uint32_t>(*tokens));
}

/// What rows with words cannot have. False after an error.
static bool check_words(const RowContext& context, const Fields& fields,
                        const RecordedFields& words) {
    const JsonValue& ids = fields[Meaning::ids];
    if (words.any() && ids.present()) {
        return context.refuse("hash_ids", ids.raw(), "are given together with a prompt with text",
                              "ids replace a prompt's text; remove one of them");
    }
    if (!words.any() && words.extra.present() && !words.extra.is(JsonType::object)) {
        return context.refuse(words.extra.key(), words.extra.raw(), "is not an object",
                              "write the members for the row's body as an object");
    }
    if (!words.any() && words.tools.size() > 0) {
        return context.refuse("tools", words.tools.raw(), "is given without messages",
                              "tools need messages; add messages or remove tools");
    }
    return true;
}

/// A conversation that is sent as it stands, where only its questions may be meant.
static void note_last_answer(const RowContext& context, const JsonValue& messages) {
    bool answer = false;
    for (JsonValue one = messages.first(); one.present(); one = one.next()) {
        answer = one.find("role").as_string() == "assistant";
    }
    context.draft.remark(
        "row ends with an answer, which the server is asked to continue (--format vllm-multi-turn "
        "asks the questions instead)",
        "rows end with an answer, which the server is asked to continue (--format vllm-multi-turn "
        "asks the questions instead)",
        answer ? 1 : 0);
}

/// Lengths and blocks, or the words themselves. `body`: those of a row that is a body itself; else
/// absent. False after an error.
static bool read_prompt(RowContext& context, const Fields& fields, const JsonValue& body,
                        TraceRow& row) {
    RecordedFields words = recorded_of(fields);
    note_last_answer(context, words.messages);
    if (body.present()) {
        words = RecordedFields{{}, {}, {}, body, words.extra};
    }
    const Field input = fields.field(Meaning::input, "input_length");
    const Field output = fields.field(Meaning::output, "output_length");
    if (!check_words(context, fields, words)) {
        return false;
    }
    const auto kind = read_row_words(context, words, fields[Meaning::mode], row.session);
    if (!kind) {
        return false;
    }
    if (words.any()) {
        context.draft.ids().begin();
        return read_recorded_lengths(context, input, output, row, words.payload) &&
               read_mooncake_words(context, words, *kind, row.session);
    }
    const bool lengths = read_lengths(context, input, output, row);
    return read_blocks(context, fields[Meaning::ids], input) && lengths;
}

/// All names of a body are read: they are sent.
static void emit_body(RowContext context, const TraceRow& row, const JsonValue& json) {
    std::vector<std::string_view> names;
    for (JsonValue member = json.first(); member.present(); member = member.next()) {
        names.push_back(member.key());
    }
    context.known = names;
    context.emit(row, json);
}

static void read_row(RowContext& context, const JsonValue& json) {
    const Fields fields = fields_of(json);
    std::optional<JsonDocument> document;  // of a row that is a body
    JsonValue body;
    if (is_body(json, fields)) {
        body = document.emplace().parse(sent_members(json)).value();
    }
    TraceRow row;
    const Field session = fields.field(Meaning::session, "session_id");
    if (session.present) {
        row.session = context.draft.sessions().find(session.text);
    }
    const Field delay = fields.field(Meaning::delay, "delay");
    const auto delay_ns = read_pause(context, delay, TimeUnit::ms);
    const auto time = read_arrival(context, fields, row, delay_ns.value_or(0));
    const bool prompt = read_prompt(context, fields, body, row);
    if (!time || !delay_ns || !prompt) {
        return;
    }
    row.at_ns = *time;
    if (row.session != no_session) {
        context.draft.sessions().next_turn(row, *delay_ns);
    }
    if (const JsonValue& extra = fields[Meaning::extra]; !recorded_of(fields).any()) {
        give_extra(context, extra);
    }
    body.present() ? emit_body(context, row, json) : context.emit(row, json);
}

constinit const TraceFormat mooncake_format = {
    .name = "mooncake",
    .time_unit = TimeUnit::ms,
    .block_size = mooncake_block_size,
    .pieces = true,
    .columns = columns,
    .matches = matches,
    .read_json = read_row,
};

/// Never found by its keys: they are those of `mooncake`.
constinit const TraceFormat mooncake_delta_format = {
    .name = "mooncake-delta",
    .alias = "mooncake_delta",
    .time_unit = TimeUnit::ms,
    .block_size = mooncake_block_size,
    .pieces = true,
    .columns = columns,
    .read_json = read_row,
};

}  // namespace driftless
