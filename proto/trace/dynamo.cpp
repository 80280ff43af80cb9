#include "proto/trace/dynamo.hpp"

#include <algorithm>

#include "proto/trace/fields.hpp"

namespace driftless {
namespace {

constexpr std::string_view columns[] = {
    "request_id", "x_request_id",         "model",         "input_tokens",    "output_tokens",
    "ttft_ms",    "request_received_ms",  "cached_tokens", "prefill_time_ms", "total_time_ms",
    "avg_itl_ms", "prefill_wait_time_ms", "kv_hit_rate",   "queue_depth",     "worker",
    "replay"};

bool matches(const JsonValue& row) {
    return row.find("event").is(JsonType::object);
}

/// The first of two members that is there.
Field either(const JsonValue& object, std::string_view name, const JsonValue& other,
             std::string_view other_name) {
    const Field field = field_of(object.find(name), name);
    return field.present ? field : field_of(other.find(other_name), other_name);
}

/// The ids and their block size, which all rows must share. False after an error.
bool read_blocks(RowContext& context, const JsonValue& replay) {
    context.draft.ids().begin();
    const JsonValue ids = replay.find("input_sequence_hashes");
    if (!ids.present()) {
        context.draft.ids().note_missing(context.line);
        return true;
    }
    const Field size = field_of(replay.find("trace_block_size"), "trace_block_size");
    const auto tokens = read_tokens(context, size, 1);
    std::uint32_t& chosen = context.rules.block_size;
    if (!tokens) {
        return false;
    }
    if (chosen != 0 && chosen != *tokens) {
        context.refuse(size.name, size.text, "differs from " + std::to_string(chosen),
                       "a trace has one block size; make --block-size agree with it");
        return false;
    }
    chosen = *tokens;
    return read_ids(context, ids);
}

/// The next turn of a session comes a pause after the recorded end of the one before.
void link(const RowContext& context, const JsonValue& agent, const JsonValue& request,
          TraceRow& row) {
    const Field session = either(agent, "trajectory_id", agent, "session_id");
    if (!session.present) {
        return;
    }
    row.session = context.draft.sessions().find(session.text);
    SessionTail& tail = context.draft.sessions().tail(row.session);
    const std::int64_t pause_ns = row.at_ns - tail.last_end_ns.value_or(row.at_ns);
    context.draft.sessions().next_turn(row, std::max(pause_ns, std::int64_t{0}));
    const Field total = field_of(request.find("total_time_ms"), "total_time_ms");
    const Result<std::int64_t> length = parse_time(total.text, TimeUnit::ms);
    if (length) {
        tail.last_end_ns = later(row.at_ns, length.value());
    }
}

void read_row(RowContext& context, const JsonValue& json) {
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
    const Field output = field_of(request.find("output_tokens"), "output_tokens");
    if (!output.present) {
        context.draft.remark("request without output tokens dropped",
                             "requests without output tokens dropped");
        return;
    }
    context.place = "event.request";
    TraceRow row;
    const auto time =
        read_time(context, field_of(request.find("request_received_ms"), "request_received_ms"));
    const bool lengths =
        read_lengths(context, either(replay, "input_length", request, "input_tokens"), output, row);
    const bool blocks = read_blocks(context, replay);
    if (time && lengths && blocks) {
        row.at_ns = *time;
        link(context, event.find("agent_context"), request, row);
        context.emit(row, request);
    }
}

}  // namespace

constinit const TraceFormat dynamo_format = {
    .name = "dynamo",
    .time_unit = TimeUnit::ms,
    .block_check = BlockCheck::by_trace,
    .shared_ids = true,
    .ordered = false,
    .columns = columns,
    .matches = matches,
    .read_json = read_row,
};

}  // namespace driftless
