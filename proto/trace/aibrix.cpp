
#include "proto/trace/formats.hpp"

namespace driftless {
/// Of a line, and of the requests in it.
static constexpr std::string_view columns[] = {"timestamp",     "requests",      "prompt",
                                               "prompt_length", "output_length", "session_id",
                                               "Prompt Length", "Output Length", "model"};

static bool matches(const JsonValue& row) {
    return row.find("timestamp").present() && row.find("requests").is(JsonType::array) &&
           !row.find("block_size").present();
}

/// The value under the newer name, or under the older one.
static Field length_of(const JsonValue& request, std::string_view name, std::string_view older) {
    const JsonValue value = given(request.find(name));
    return value.present() ? field_of(value, name) : field_of(request.find(older), name);
}

/// Text, or lengths. False after an error.
static bool read_prompt(const RowContext& context, const JsonValue& request, TraceRow& row) {
    const Field input = length_of(request, "prompt_length", "Prompt Length");
    const Field output = length_of(request, "output_length", "Output Length");
    RecordedFields words;
    words.text = given(request.find("prompt"));
    if (words.text.present() && words.text.as_string() != "") {
        return read_recorded_lengths(context, input, output, row) && read_recorded(context, words);
    }
    return read_lengths(context, input, output, row);
}

static void read_request(RowContext& context, const JsonValue& request, std::int64_t at_ns) {
    TraceRow row;
    if (!read_prompt(context, request, row)) {
        return;
    }
    row.at_ns = at_ns;
    const Field session = field_in(request, "session_id");
    if (session.present) {
        row.session = context.draft.sessions().find(session.text);
        context.draft.sessions().next_turn(row, 0);
    }
    context.emit(row, request);
}

static void read_row(RowContext& context, const JsonValue& json) {
    const auto time = read_time(context, field_in(json, "timestamp"));
    const JsonValue requests = json.find("requests");
    if (!requests.present()) {
        context.refuse("requests", "", "is missing", "give every row its list of requests");
        return;
    }
    if (!time || !check_objects(context, requests, "requests")) {
        return;
    }
    (void)read_each(context, requests, "requests", [&](const JsonValue& one) {
        read_request(context, one, *time);
        return true;
    });
}

constinit const TraceFormat aibrix_format = {
    .name = "aibrix",
    .time_unit = TimeUnit::ms,
    .columns = columns,
    .matches = matches,
    .read_json = read_row,
};

}  // namespace driftless
