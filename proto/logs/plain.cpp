// Plain logs of requests and responses, as people write them: the bodies of OpenAI's and
// Anthropic's APIs under the names that are usual, with a time and maybe a session beside them.
#include "proto/logs/fields.hpp"
#include "proto/logs/format.hpp"
#include "proto/logs/messages.hpp"

namespace driftless {
namespace {

JsonValue body_of(const JsonValue& object) {
    return member(object, {"request", "request_body", "body"});
}

JsonValue start_of(const JsonValue& object) {
    return member(object, {"timestamp", "time", "start_time", "startTime", "started_at",
                           "request_time", "created_at", "created"});
}

JsonValue end_of(const JsonValue& object) {
    return member(object, {"end_time", "endTime", "ended_at", "finished_at", "response_time"});
}

std::string_view session_of(const JsonValue& object, const JsonValue& body) {
    const std::string_view own =
        text_member(object, {"session_id", "conversation_id", "session", "trace_id", "thread_id"});
    return !own.empty() ? own
                        : text_member(body.find("metadata"), {"session_id", "conversation_id"});
}

bool matches(const JsonValue& object) {
    return body_of(object).present() || member(object, {"messages", "prompt", "input"}).present();
}

/// An HTTP status of 400 or more, a status that says so, or an error beside or in the response.
bool says_failed(const JsonValue& object, const JsonValue& response) {
    const JsonValue status = member(object, {"status_code", "status"});
    const JsonValue error = member(object, {"error"});
    return status.as_u64().value_or(0) >= 400 ||
           is_one_of(text_member(object, {"status"}), {"error", "failed", "failure"}) ||
           error.size() > 0 || !error.as_string().value_or("").empty() ||
           member(response, {"error"}).present();
}

void read(LogContext& context, const JsonValue& object) {
    LogCall call;
    if (!read_times(context, start_of(object), end_of(object), "timestamp", call)) {
        return;
    }
    const JsonValue body = body_of(object);
    if (const auto text = body.as_string()) {
        // Its own document: what is in the body may stand in a string once more.
        JsonDocument document;
        const Result<JsonValue> parsed = document.parse(*text);
        if (parsed) {
            read_request(context, parsed.value(), call);
        }
    } else {
        read_request(context, body.is(JsonType::object) ? body : object, call);
    }
    const JsonValue response = member(object, {"response", "response_body", "output"});
    read_response(context, response, call);
    read_usage(object.find("usage"), call);
    read_usage(object, call);
    call.failed = says_failed(object, response);
    call.session = session_of(object, body);
    call.id = text_member(object, {"id", "request_id"});
    call.model = text_member(body.is(JsonType::object) ? body : object, {"model"});
    context.keep(call, [&](std::string_view name) { return object.find_path(name); });
    context.add(std::move(call));
}

}  // namespace

constinit const LogFormat plain_log = {
    .name = "plain",
    .what = "requests and responses",
    .matches = matches,
    .read = read,
};

}  // namespace driftless
