#include <algorithm>

#include "proto/trace/formats.hpp"

namespace driftless {

static constexpr std::string_view dynamo_columns[] = {
    "request_id", "x_request_id",         "model",         "input_tokens",    "output_tokens",
    "ttft_ms",    "request_received_ms",  "cached_tokens", "prefill_time_ms", "total_time_ms",
    "avg_itl_ms", "prefill_wait_time_ms", "kv_hit_rate",   "queue_depth",     "worker",
    "replay"};

static bool matches_dynamo(const JsonValue& row) {
    return row.find("event").is(JsonType::object);
}

/// The first of two members that is there.
static Field either(const JsonValue& object, std::string_view name, const JsonValue& other,
                    std::string_view other_name) {
    const Field field = field_in(object, name);
    return field.present ? field : field_of(other.find(other_name), other_name);
}

/// The ids and their block size, which all rows must share. False after an error.
static bool read_blocks(RowContext& context, const JsonValue& replay) {
    const JsonValue ids = replay.find("input_sequence_hashes");
    if (ids.present()) {
        const Field size = field_in(replay, "trace_block_size");
        const auto tokens = read_tokens(context, size, 1);
        if (!tokens || !agree_on_block_size(context, size, *tokens)) {
            return false;
        }
    }
    return read_row_ids(context, ids);
}

/// The next turn of a session comes a pause after the recorded end of the one before.
static void link(const RowContext& context, const JsonValue& agent, const JsonValue& request,
                 TraceRow& row) {
    const Field session = either(agent, "trajectory_id", agent, "session_id");
    if (!session.present) {
        return;
    }
    row.session = context.draft.sessions().find(session.text);
    SessionTail& tail = context.draft.sessions().tail(row.session);
    const std::int64_t pause_ns = row.at_ns - tail.last_end_ns.value_or(row.at_ns);
    context.draft.sessions().next_turn(row, std::max(pause_ns, std::int64_t{0}));
    const Field total = field_in(request, "total_time_ms");
    const Result<std::int64_t> length = parse_time(total.text, TimeUnit::ms);
    if (length) {
        tail.last_end_ns = later(row.at_ns, length.value());
    }
}

static void dynamo_row(RowContext& context, const JsonValue& json) {
    const JsonValue event = json.find("event");
    if (!event.find("schema").present()) {
        return;  // a marker of the writer
    }
    if (event.find("event_type").as_string().value_or("") != "request_end") {
        context.draft.remark("tool event skipped", "tool events skipped");
        return;
    }
    const JsonValue request = event.find("request");
    const JsonValue replay = request.find("replay");
    const Field output = field_in(request, "output_tokens");
    if (!output.present) {
        context.draft.remark("request without output tokens dropped",
                             "requests without output tokens dropped");
        return;
    }
    context.place = "event.request";
    TraceRow row;
    const auto time = read_time(context, field_in(request, "request_received_ms"));
    const bool lengths =
        read_lengths(context, either(replay, "input_length", request, "input_tokens"), output, row);
    const bool blocks = read_blocks(context, replay);
    if (time && lengths && blocks) {
        row.at_ns = *time;
        link(context, event.find("agent_context"), request, row);
        context.emit(row, request);
    }
}

constinit const TraceFormat dynamo_format = {
    .name = "dynamo",
    .time_unit = TimeUnit::ms,
    .unit_in = "request_received_ms",
    .block_check = BlockCheck::by_trace,
    .shared_ids = true,
    .ordered = false,
    .columns = dynamo_columns,
    .matches = matches_dynamo,
    .read_json = dynamo_row,
};

static constexpr std::string_view schema = "dynamo.agentic_mooncake";
static constexpr std::string_view agentic_mooncake_columns[] = {
    "request_id",    "play_id",  "session_id", "model",         "input_length",
    "output_length", "hash_ids", "schema",     "not_before_ms", "dependencies"};

static bool matches_agentic_mooncake(const JsonValue& row) {
    return row.find("schema").as_string().value_or("") == schema;
}

static void read_header(RowContext& context, const JsonValue& header) {
    const Field size = field_in(header, "block_size");
    if (header.find("version").as_u64() != 2) {
        context.refuse("version", header.find("version").raw(), "is not 2, the supported version",
                       "convert the trace to version 2");
        context.stop = Stop::file;
        return;
    }
    const auto tokens = read_tokens(context, size, 1);
    if (tokens) {
        (void)agree_on_block_size(context, size, *tokens);
    }
}

/// One edge: adds it to the trace and moves the row behind it. False after an error.
static bool read_dependency(const RowContext& context, const JsonValue& edge, TraceRow& row) {
    const Field on = field_of(edge.find("request_id"), "dependencies.request_id");
    const std::uint32_t before = on.present ? context.draft.find_request(on.text) : no_row;
    if (before == no_row) {
        return context.refuse("dependencies", edge.raw(),
                              "does not name a request of an earlier row",
                              "put rows after those that they depend on");
    }
    const Field delay = field_of(edge.find("delay_ms"), "dependencies.delay_ms");
    const auto delay_ns = read_pause(context, delay, TimeUnit::ms);
    const std::optional<Trigger> trigger = read_trigger(context, edge, "dependencies");
    if (!trigger || !delay_ns) {
        return false;
    }
    context.draft.depend({context.draft.rows(), before, *trigger, *delay_ns});
    row.at_ns = std::max(row.at_ns, later(context.draft.trace().rows[before].at_ns, *delay_ns));
    return true;
}

/// When the row comes. False after an error.
static bool read_arrival(RowContext& context, const JsonValue& json, TraceRow& row) {
    const Field earliest = field_in(json, "not_before_ms");
    const JsonValue edges = json.find("dependencies");
    if (!check_objects(context, edges, "dependencies")) {
        return false;
    }
    if (earliest.present) {
        const auto time = read_time(context, earliest);
        row.at_ns = time.value_or(0);
        if (!time) {
            return false;
        }
    }
    if (edges.size() > 0 &&
        !admit_untimed(context, "has requests that wait for others and have no arrival times",
                       "use --sessions closed to send each when those have ended, or --sessions "
                       "open to send it by the recorded delays, as if answers took no time")) {
        return false;
    }
    context.draft.trace().rows_laid_out += edges.size() > 0 ? 1 : 0;
    bool fine = true;
    for (JsonValue edge = edges.first(); edge.present(); edge = edge.next()) {
        fine = read_dependency(context, edge, row) && fine;
    }
    return fine;
}

static void agentic_mooncake_row(RowContext& context, const JsonValue& json) {
    if (json.find("schema").present()) {
        read_header(context, json);
        return;
    }
    TraceDraft& draft = context.draft;
    TraceRow row;
    const bool lengths =
        read_lengths(context, field_in(json, "input_length"), field_in(json, "output_length"), row);
    const bool blocks = read_row_ids(context, json.find("hash_ids"));
    if (!lengths || !blocks || !read_arrival(context, json, row)) {
        return;
    }
    const Field name = field_in(json, "request_id");
    if (name.present && draft.find_request(name.text) != no_row) {
        context.refuse("request_id", name.text, "already names an earlier row",
                       "give each row its own name, so that others can wait for it");
        return;
    }
    const Field play = field_in(json, "play_id");
    draft.name_spaces().enter(play.text);
    const Field session = field_in(json, "session_id");
    if (session.present) {
        row.session = draft.sessions().find(session.text);
        row.turn = ++draft.sessions().tail(row.session).turns;
    }
    if (name.present) {
        draft.name_request(name.text);
    }
    context.emit(row, json);
}

constinit const TraceFormat agentic_mooncake_format = {
    .name = "agentic-mooncake",
    .time_unit = TimeUnit::ms,
    .unit_in = "not_before_ms",
    .block_check = BlockCheck::by_trace,
    .ordered = false,
    .columns = agentic_mooncake_columns,
    .matches = matches_agentic_mooncake,
    .read_json = agentic_mooncake_row,
};

}  // namespace driftless
