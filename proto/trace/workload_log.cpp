#include "proto/trace/workload_log.hpp"

#include "proto/trace/recorded.hpp"

namespace driftless {
namespace {

constexpr std::string_view columns[] = {
    "body",      "timestamp", "headers", "request_id", "completion_tokens",
    "custom_id", "method",    "url"};

/// A body with its time, or one that shows itself: lines of OpenAI's Batch have none.
bool matches(const JsonValue& row) {
    const JsonValue body = row.find("body");
    return (row.find("timestamp").present() &&
            (body.is(JsonType::object) || body.is(JsonType::string))) ||
           body.find("messages").is(JsonType::array) || body.find("prompt").present();
}

/// A wall clock shows itself; numbers are in the unit of the rules.
std::optional<std::int64_t> read_arrival(const RowContext& context, const JsonValue& json) {
    const Field time = field_of(json.find("timestamp"), "timestamp");
    if (time.present && time.text.find(':') != time.text.npos) {
        return read_gap(context, time, TimeUnit::iso);
    }
    return read_time(context, time);
}

void read_row(RowContext& context, const JsonValue& json) {
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
    const Field output = field_of(json.find("completion_tokens"), "completion_tokens");
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
    context.draft.ids().begin();
    context.emit(row, json);
}

}  // namespace

constinit const TraceFormat workload_log_format = {
    .name = "workload",
    .alias = "evalscope",
    .time_unit = TimeUnit::s,
    .columns = columns,
    .matches = matches,
    .read_json = read_row,
};

}  // namespace driftless
