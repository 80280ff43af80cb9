#include <limits>

#include "proto/trace/formats.hpp"

namespace driftless {
static constexpr std::string_view columns[] = {
    "schema",     "version",  "block_size",     "tail_rule",     "source",
    "uncovered",  "at_ns",    "input_length",   "output_length", "hash_ids",
    "name_space", "session",  "session_number", "turn",          "after",
    "body",       "body_api", "recorded",       "deltas",        "extra"};

static constexpr const char* header_remedy =
    "a canonical trace begins with {\"schema\":\"driftless.trace\",\"version\":1,..}";

static bool matches(const JsonValue& row) {
    return row.find("schema").as_string().value_or("") == canonical_schema;
}

/// The block size; rows without blocks have none. False after an error.
static bool read_block_size(RowContext& context, const JsonValue& header) {
    const Field size = field_in(header, "block_size");
    const auto tokens = read_tokens(context, size, 0);
    return tokens && (*tokens == 0 || agree_on_block_size(context, size, *tokens));
}

static void read_header(RowContext& context, const JsonValue& header) {
    const std::string_view schema = header.find("schema").as_string().value_or("");
    const JsonValue version = header.find("version");
    if (schema != canonical_schema || version.as_u64() != canonical_version) {
        context.refuse("schema", schema, "is not a header of a supported version", header_remedy);
        context.stop = Stop::file;
        return;
    }
    if (!read_block_size(context, header)) {
        context.stop = Stop::file;
        return;
    }
    const std::string_view rule = header.find("tail_rule").as_string().value_or("ceil");
    if (rule != "ceil" && rule != "floor") {
        context.refuse("tail_rule", rule, "is not ceil or floor", "correct the header");
    }
    Trace& trace = context.draft.trace();
    const std::string_view api = header.find("body_api").as_string().value_or("");
    if (!trace.body_api.empty() && trace.body_api != api) {
        context.refuse("body_api", api, "differs from that of the files before",
                       "replay files of one API at a time");
    }
    trace.body_api = api;
    const bool deltas = api.empty() && header.find("deltas").as_bool() == true;
    if (trace.recorded && trace.deltas != deltas) {
        context.refuse("deltas", deltas ? "true" : "false", "differs from that of the files before",
                       "replay files of whole conversations and files of new messages separately");
    }
    trace.deltas = deltas;
    trace.tail_rule = rule == "floor" ? TailRule::floor : trace.tail_rule;
    context.rules.lenient = context.rules.lenient || header.find("uncovered").as_bool() == true;
}

/// The ids, held against the length by both rules: a trace may mix them. False after an error.
static bool read_blocks(RowContext& context, const JsonValue& json, const TraceRow& row) {
    TraceDraft& draft = context.draft;
    draft.ids().begin();
    const JsonValue ids = json.find("hash_ids");
    if (!ids.present()) {
        return true;
    }
    const std::uint64_t size = context.rules.block_size;
    if (size == 0) {
        context.stop = Stop::file;
        return context.refuse("hash_ids", "", "is before a header with a block size",
                              header_remedy);
    }
    if (!read_ids(context, ids)) {
        return false;
    }
    const std::uint64_t most = blocks_of(row.input_length, size);
    const bool too_few = draft.ids().count() < row.input_length / size;
    if (draft.ids().count() > most || (too_few && !context.rules.lenient)) {
        return refuse_count(context, draft.ids().count(), row.input_length, most);
    }
    draft.trace().rows_uncovered += too_few ? 1 : 0;
    return true;
}

/// A whole number below 2^32 - 1; nothing where the key is absent. False after an error.
static bool read_small(const RowContext& context, const JsonValue& json, std::string_view key,
                       std::uint32_t& out) {
    const JsonValue value = json.find(key);
    const std::optional<std::uint64_t> number = value.as_u64();
    if (!value.present()) {
        return true;
    }
    if (!number || *number >= std::numeric_limits<std::uint32_t>::max()) {
        return context.refuse(key, value.raw(), "is not a whole number below 2^32 - 1",
                              "correct the row");
    }
    out = static_cast<std::uint32_t>(*number);
    return true;
}

/// One row that this one waits for. False after an error.
static bool read_dependency(const RowContext& context, const JsonValue& edge) {
    const std::uint32_t first = context.draft.trace().files.back().first_row;
    const std::uint32_t row = context.draft.rows();
    std::uint32_t on = no_row;
    if (!read_small(context, edge, "row", on)) {
        return false;
    }
    if (on >= row - first) {
        return context.refuse("after", edge.raw(), "does not name an earlier row of the file",
                              "put rows after those that they wait for");
    }
    const Field delay = field_of(edge.find("delay_ns"), "after.delay_ns");
    const auto delay_ns = read_pause(context, delay, TimeUnit::ns);
    const std::optional<Trigger> trigger = read_trigger(context, edge, "after");
    if (!trigger || !delay_ns) {
        return false;
    }
    context.draft.depend({row, first + on, *trigger, *delay_ns});
    return true;
}

/// Session, turn and namespace. False after an error.
static bool read_place(RowContext& context, const JsonValue& json, TraceRow& row) {
    std::uint32_t name_space = 0;
    std::uint32_t number = 0;
    const bool fine = read_small(context, json, "name_space", name_space) &&
                      read_small(context, json, "session_number", number) &&
                      read_small(context, json, "turn", row.turn);
    const Field session = field_in(json, "session");
    if (!fine) {
        return false;
    }
    context.draft.name_spaces().enter(std::to_string(name_space));
    if (session.present) {
        const std::string key = std::to_string(number) + "/" + std::string(session.text);
        row.session = context.draft.sessions().find(session.text, key);
    }
    return true;
}

/// A body that is sent as it stands. False after an error.
static bool read_body(RowContext& context, const JsonValue& body) {
    if (!body.present()) {
        return true;
    }
    if (!body.is(JsonType::object) || context.draft.trace().body_api.empty()) {
        return context.refuse("body", body.raw(),
                              body.is(JsonType::object) ? "is below a header without body_api"
                                                        : "is not a JSON object",
                              "save the prompts again (replay --save-prompts)");
    }
    context.draft.set_body(body.raw());
    return true;
}

/// A recorded request, of which a body is made. False after an error.
static bool read_request(RowContext& context, const JsonValue& request) {
    if (!context.draft.trace().body_api.empty()) {
        return context.refuse("recorded", request.raw(), "is below a header with body_api",
                              "a trace has bodies or recorded requests, not both; remove one");
    }
    return read_recorded(
        context, {request.find("text_input"), request.find("messages"), request.find("tools"),
                  request.find("payload"), request.find("extra")});
}

static void read_row(RowContext& context, const JsonValue& json) {
    if (json.find("schema").present()) {
        read_header(context, json);
        return;
    }
    TraceRow row;
    const auto time = read_time(context, field_in(json, "at_ns"));
    const JsonValue request = json.find("recorded");
    const JsonValue body = json.find("body");
    const Field input = field_in(json, "input_length");
    const Field output = field_in(json, "output_length");
    const bool lengths = request.present() || body.present()
                             ? read_recorded_lengths(context, input, output, row)
                             : read_lengths(context, input, output, row);
    if (!time || !lengths || !read_blocks(context, json, row) || !read_place(context, json, row)) {
        return;
    }
    const JsonValue after = json.find("after");
    if (!check_objects(context, after, "after")) {
        return;
    }
    for (JsonValue edge = after.first(); edge.present(); edge = edge.next()) {
        if (!read_dependency(context, edge)) {
            return;
        }
    }
    row.at_ns = *time;
    const JsonValue extra = json.find("extra");
    if (extra.present() && !extra.is(JsonType::object)) {
        context.refuse("extra", extra.raw(), "is not a JSON object", "correct the row");
        return;
    }
    if (request.present() ? read_request(context, request) : read_body(context, body)) {
        give_extra(context, extra);
        context.emit(row, json);
    }
}

std::span<const std::string_view> canonical_columns() {
    return columns;
}

constinit const TraceFormat canonical_format = {
    .name = "canonical",
    .time_unit = TimeUnit::ns,
    .unit_in = "at_ns",
    .columns = columns,
    .matches = matches,
    .read_json = read_row,
};

}  // namespace driftless
