#include <string>

#include "proto/trace/formats.hpp"

namespace driftless {

static constexpr std::string_view lmcache_columns[] = {
    "session_id", "model", "input", "tools", "output_length", "pre_gap", "session_timestamp"};

static bool matches_lmcache(const JsonValue& row) {
    return row.find("session_id").present() && row.find("pre_gap").present() &&
           row.find("input").is(JsonType::array);
}

/// When the call comes: its session's start, or the gaps since. False after an error.
static bool read_arrival(RowContext& context, const JsonValue& json, TraceRow& row) {
    const SessionTail& last = context.draft.sessions().tail(row.session);
    const Field gap = field_in(json, "pre_gap");
    const auto gap_ns = read_pause(context, gap, TimeUnit::s);
    if (!gap_ns ||
        !admit_untimed(context,
                       "is relative to its session's previous answer, so it is not an arrival time",
                       "use --sessions closed to send it when that answer has ended, or --sessions "
                       "open to send it by the recorded gaps, as if answers took no time",
                       "pre_gap", gap.raw)) {
        return false;
    }
    const Field start = field_in(json, "session_timestamp");
    if (last.last_row == no_row && start.present) {
        const auto start_ns = read_gap(context, start, TimeUnit::s);
        row.at_ns = start_ns.value_or(0);
        if (!start_ns) {
            return false;
        }
    } else if (last.last_row != no_row) {
        row.at_ns = lay_out_turn(context, row.session, *gap_ns);
    }
    context.draft.sessions().next_turn(row, *gap_ns);
    return true;
}

static void lmcache_row(RowContext& context, const JsonValue& json) {
    const Field session = field_in(json, "session_id");
    if (!session.present) {
        context.refuse("session_id", "", "is missing", "name the session of every call");
        return;
    }
    TraceRow row;
    RecordedFields words;
    words.messages = json.find("input");
    words.tools = given(json.find("tools"));
    if (!words.messages.present()) {
        context.refuse("input", "", "is missing", "give every call its list of messages");
        return;
    }
    const Field output = field_in(json, "output_length");
    if (!read_recorded_lengths(context, Field{}, output, row) || !read_recorded(context, words)) {
        return;
    }
    row.session = context.draft.sessions().find(session.text);
    if (read_arrival(context, json, row)) {
        context.emit(row, json);
    }
}

constinit const TraceFormat lmcache_format = {
    .name = "lmcache",
    .time_unit = TimeUnit::s,
    .ordered = false,
    .columns = lmcache_columns,
    .matches = matches_lmcache,
    .read_json = lmcache_row,
};

static constexpr std::string_view workload_log_columns[] = {
    "body",      "timestamp", "headers", "request_id", "completion_tokens",
    "custom_id", "method",    "url"};

/// A body with its time, or one that shows itself: lines of OpenAI's Batch have none.
static bool matches_workload_log(const JsonValue& row) {
    const JsonValue body = row.find("body");
    return (row.find("timestamp").present() &&
            (body.is(JsonType::object) || body.is(JsonType::string))) ||
           body.find("messages").is(JsonType::array) || body.find("prompt").present();
}

/// A wall clock shows itself; numbers are in the unit of the rules.
static std::optional<std::int64_t> read_arrival(const RowContext& context, const JsonValue& json) {
    const Field time = field_in(json, "timestamp");
    if (time.present && time.text.find(':') != time.text.npos) {
        return read_gap(context, time, TimeUnit::iso);
    }
    return read_time(context, time);
}

static void workload_log_row(RowContext& context, const JsonValue& json) {
    TraceRow row;
    RecordedFields words;
    words.payload = json.find("body");
    JsonDocument document;  // a body may be text that holds the JSON
    if (const auto text = words.payload.as_string()) {
        const Result<JsonValue> body = document.parse(*text);
        if (!body || !body.value().is(JsonType::object) || body.value().size() == 0) {
            context.refuse("body", words.payload.raw(), "is not text of a JSON object",
                           "correct the row");
            return;
        }
        words.payload = body.value();
    } else if (!words.payload.present()) {
        context.refuse("body", "", "is missing", "give every row its request's body");
        return;
    }
    const auto time = read_arrival(context, json);
    const Field output = field_in(json, "completion_tokens");
    if (!time || !read_recorded_lengths(context, Field{}, output, row, words.payload) ||
        !read_recorded(context, words)) {
        return;
    }
    const JsonValue headers = json.find("headers");
    context.draft.remark(
        "row with its own headers, which are sent only with replay --keep headers.NAME "
        "--header \"NAME: {kept.headers.NAME}\"",
        "rows with their own headers, which are sent only with replay --keep headers.NAME "
        "--header \"NAME: {kept.headers.NAME}\"",
        headers.is(JsonType::object) && headers.size() > 0 ? 1 : 0);
    row.at_ns = *time;
    context.emit(row, json);
}

constinit const TraceFormat workload_log_format = {
    .name = "workload",
    .alias = "evalscope",
    .time_unit = TimeUnit::s,
    .columns = workload_log_columns,
    .matches = matches_workload_log,
    .read_json = workload_log_row,
};

/// Of the object, and of its turns.
static constexpr std::string_view sglang_agentic_columns[] = {"metadata", "conversations",
                                                              "messages", "prompt_tokens", "tools"};

static bool matches_sglang_agentic(const JsonValue& row) {
    const JsonValue list = row.find("conversations");
    return list.is(JsonType::array) && list.first().is(JsonType::array);
}

/// False after an error.
static bool read_turn(RowContext& context, const JsonValue& turn, std::uint32_t session) {
    RecordedFields words;
    words.messages = given(turn.find("messages"));
    words.tools = given(turn.find("tools"));
    words.tools_before = context.draft.message_rows().tail(session).tools;
    if (words.messages.size() == 0) {
        context.draft.remark("turn without messages, left out", "turns without messages, left out");
        return true;
    }
    TraceRow row;
    const Field prompt = field_in(turn, "prompt_tokens");
    if (!read_recorded_lengths(context, prompt, Field{}, row) || !read_recorded(context, words)) {
        return false;
    }
    if (words.tools.present()) {
        context.draft.message_rows().tail(session).tools = words.tools.raw();
    }
    note_delta(context);
    row.session = session;
    row.at_ns = lay_out_turn(context, session, 0);
    context.draft.sessions().next_turn(row, 0);
    context.emit(row, turn);
    return true;
}

/// Conversations have no names: one is named by its number.
static void read_conversation(RowContext& context, const JsonValue& turns) {
    if (!check_objects(context, turns, "")) {
        return;
    }
    const std::string name = std::to_string(context.draft.trace().sessions.size());
    const std::uint32_t session = context.draft.sessions().find(name);
    (void)read_each(context, turns, "turns",
                    [&](const JsonValue& turn) { return read_turn(context, turn, session); });
}

static void sglang_agentic_row(RowContext& context, const JsonValue& json) {
    if (!admit_conversations(context)) {
        return;
    }
    const JsonValue list = json.find("conversations");
    if (!list.is(JsonType::array)) {
        context.refuse("conversations", list.raw(), "is not a list of conversations",
                       "give the object one");
        return;
    }
    (void)read_each(context, list, "conversations", [&](const JsonValue& one) {
        read_conversation(context, one);
        return true;
    });
}

constinit const TraceFormat sglang_agentic_format = {
    .name = "sglang-agentic",
    .time_unit = TimeUnit::s,
    .ordered = false,
    .columns = sglang_agentic_columns,
    .matches = matches_sglang_agentic,
    .read_json = sglang_agentic_row,
};

}  // namespace driftless
