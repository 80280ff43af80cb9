// LiteLLM: its StandardLoggingPayload, as callbacks and buckets write it, and rows of its
// SpendLogs table, which hold text only where the proxy stores prompts.
#include <algorithm>

#include "proto/logs/fields.hpp"
#include "proto/logs/format.hpp"
#include "proto/logs/messages.hpp"

namespace driftless {
namespace {

/// What stands in place of messages where the proxy does not log them.
constexpr std::string_view redacted = "redacted-by-litellm";

bool matches(const JsonValue& object) {
    return object.find("call_type").present() && object.find("startTime").present();
}

/// Kinds of calls that make a model write; all others have no answer to wait for.
bool generates(std::string_view call_type) {
    constexpr std::string_view kinds[] = {"completion", "responses", "messages",
                                          "generate_content"};
    return std::any_of(std::begin(kinds), std::end(kinds), [&](std::string_view kind) {
        return call_type.find(kind) != call_type.npos;
    });
}

/// The user's own id of a conversation goes before the proxy's id of a request and its retries.
std::string_view session_of(const JsonValue& object) {
    const std::string_view own = text_member(object, {"litellm_session_id", "session_id"});
    const std::string_view meta =
        text_member(object.find("metadata"), {"litellm_session_id", "session_id"});
    return !own.empty() ? own : !meta.empty() ? meta : text_member(object, {"trace_id"});
}

void drop_redacted(const LogContext& context, LogCall& call) {
    const bool hidden = std::any_of(call.prompt.begin(), call.prompt.end(),
                                    [](const LogMessage& one) { return one.text == redacted; });
    if (hidden) {
        call.prompt.clear();
        call.answer.reset();
        context.remark("call whose text the proxy redacted (turn_off_message_logging)",
                       "calls whose text the proxy redacted (turn_off_message_logging)");
    }
}

void read(LogContext& context, const JsonValue& object) {
    if (!generates(text_member(object, {"call_type"}))) {
        context.remark("call of another kind (embedding, image, ..) left out",
                       "calls of other kinds (embeddings, images, ..) left out");
        return;
    }
    if (is_one_of(text_member(object, {"cache_hit"}), {"true"}) ||
        object.find("cache_hit").as_bool().value_or(false)) {
        context.remark("call answered by the proxy's cache left out: no server saw it",
                       "calls answered by the proxy's cache left out: no server saw them");
        return;
    }
    LogCall call;
    if (!read_times(context, member(object, {"startTime"}), member(object, {"endTime"}),
                    "startTime", call)) {
        return;
    }
    add_tools(member(object.find("model_parameters"), {"tools"}), call);
    add_messages(context, member(object, {"messages"}), call);
    read_response(context, member(object, {"response"}), call);
    drop_redacted(context, call);
    read_usage(object, call);
    call.failed = is_one_of(text_member(object, {"status"}), {"failure"});
    call.streamed = member(object, {"stream"}).as_bool();
    call.session = session_of(object);
    call.id = text_member(object, {"id", "request_id"});
    call.model = text_member(object, {"model_group", "model"});
    context.keep(call, [&](std::string_view name) { return object.find_path(name); });
    context.add(std::move(call));
}

}  // namespace

constinit const LogFormat litellm_log = {
    .name = "litellm",
    .what = "LiteLLM",
    .matches = matches,
    .read = read,
};

}  // namespace driftless
