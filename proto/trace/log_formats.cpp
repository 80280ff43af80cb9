/// The formats of logs, one section each: Langfuse, LiteLLM, plain lines, spans of OpenTelemetry.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "proto/json/document.hpp"
#include "proto/trace/formats.hpp"
#include "proto/trace/logs.hpp"

namespace driftless {

// Langfuse: observations as its blob export, its batch export and its API write them (snake and
// camel case), a line each, as pages (`data`), or inside their traces (`observations`).

static bool is_observation(const JsonValue& object) {
    return object.find("type").is(JsonType::string) &&
           member(object, {"trace_id", "traceId"}).present() &&
           member(object, {"start_time", "startTime"}).present();
}

/// A page or a trace: observations inside.
static JsonValue list_of(const JsonValue& object) {
    const JsonValue list = member(object, {"observations", "data"});
    return list.is(JsonType::array) && is_observation(list.first()) ? list : JsonValue{};
}

static bool matches_langfuse(const JsonValue& object) {
    return is_observation(object) || list_of(object).present();
}

/// Its usage keys are parts that add up: "input", "input_cached_tokens", "output",
/// "output_reasoning_tokens"; Anthropic's cache counts say input in their names, too.
static std::optional<std::uint32_t> sum_of(const JsonValue& usage, std::string_view kind) {
    std::optional<std::uint32_t> sum;
    for (JsonValue one = usage.first(); one.present(); one = one.next()) {
        const auto tokens = tokens_of(one);
        const bool cost = one.key().find("ost") != std::string_view::npos;
        if (tokens && !cost && one.key().find(kind) != std::string_view::npos &&
            sum.value_or(0) + *tokens <= row_tokens_max) {
            sum = sum.value_or(0) + *tokens;
        }
    }
    return sum;
}

static void read_counts(const LogContext& context, const JsonValue& object, LogCall& call) {
    JsonValue usage = member(object, {"usage_details", "usageDetails", "usage"});
    if (const auto text = usage.as_string()) {
        const Result<JsonValue> parsed = context.inner.parse(*text);
        usage = parsed ? parsed.value() : JsonValue{};
    }
    if (const auto own = tokens_of(member(usage, {"promptTokens", "prompt_tokens"}))) {
        call.input_tokens = own;
        call.output_tokens = tokens_of(member(usage, {"completionTokens", "completion_tokens"}));
        return;
    }
    const auto input = sum_of(usage, "input");
    const auto output = sum_of(usage, "output");
    // Where a model has no tokenizer there, all counts are 0: that is no count.
    call.input_tokens = input.value_or(0) > 0 ? input : call.input_tokens;
    call.output_tokens = input.value_or(0) + output.value_or(0) > 0 ? output : call.output_tokens;
}

static void read_observation(const LogContext& context, const JsonValue& object,
                             std::string_view session) {
    if (text_member(object, {"type"}) != "GENERATION") {
        context.remark("observation other than GENERATION left out",
                       "observations other than GENERATION left out");
        return;
    }
    LogCall call;
    if (!read_times(context, member(object, {"start_time", "startTime"}),
                    member(object, {"end_time", "endTime"}), "start_time", call)) {
        return;
    }
    add_messages(context, member(object, {"input"}), call);
    read_response(context, member(object, {"output"}), call);
    read_counts(context, object, call);
    call.failed = text_member(object, {"level"}) == "ERROR";
    const bool first_chunk =
        member(object, {"completion_start_time", "completionStartTime"}).present();
    call.streamed = first_chunk ? std::optional(true) : std::nullopt;
    const std::string_view own = text_member(object, {"session_id", "sessionId"});
    call.session = !own.empty()       ? own
                   : !session.empty() ? session
                                      : text_member(object, {"trace_id", "traceId"});
    call.id = text_member(object, {"id"});
    call.model = text_member(object, {"model", "provided_model_name", "providedModelName"});
    context.keep(call, object);
    context.add(std::move(call));
}

static void read_langfuse(LogContext& context, const JsonValue& object) {
    const JsonValue list = list_of(object);
    if (!list.present()) {
        read_observation(context, object, "");
        return;
    }
    const std::string_view session = text_member(object, {"session_id", "sessionId"});
    context.read_each(list, list.key(),
                      [&](const JsonValue& one) { read_observation(context, one, session); });
}

constinit const LogFormat langfuse_log = {
    .name = "langfuse",
    .what = "Langfuse",
    .matches = matches_langfuse,
    .read = read_langfuse,
};

// LiteLLM: its StandardLoggingPayload, as callbacks and buckets write it, and rows of its
// SpendLogs table, which hold text only where the proxy stores prompts.

/// What is in place of messages where the proxy does not log them.
static constexpr std::string_view redacted = "redacted-by-litellm";

static bool matches_litellm(const JsonValue& object) {
    return object.find("call_type").present() && object.find("startTime").present();
}

/// Kinds of calls that make a model write; all others have no answer to wait for.
static bool generates(std::string_view call_type) {
    constexpr std::string_view kinds[] = {"completion", "responses", "messages",
                                          "generate_content"};
    return std::ranges::any_of(
        kinds, [&](std::string_view kind) { return call_type.find(kind) != call_type.npos; });
}

/// The user's own id of a conversation goes before the proxy's id of a request and its retries.
static std::string_view session_of(const JsonValue& object) {
    const std::string_view own = text_member(object, {"litellm_session_id", "session_id"});
    const std::string_view meta =
        text_member(object.find("metadata"), {"litellm_session_id", "session_id"});
    return !own.empty() ? own : !meta.empty() ? meta : text_member(object, {"trace_id"});
}

static void drop_redacted(const LogContext& context, LogCall& call) {
    if (std::ranges::count(call.prompt, redacted, &LogMessage::text) > 0) {
        call.prompt.clear();
        call.answer.reset();
        context.remark("call whose text the proxy redacted (turn_off_message_logging)",
                       "calls whose text the proxy redacted (turn_off_message_logging)");
    }
}

static void read_litellm(LogContext& context, const JsonValue& object) {
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
    context.keep(call, object);
    context.add(std::move(call));
}

constinit const LogFormat litellm_log = {
    .name = "litellm",
    .what = "LiteLLM",
    .matches = matches_litellm,
    .read = read_litellm,
};

// Plain logs of requests and responses, as people write them: the bodies of OpenAI's and
// Anthropic's APIs under the names that are usual, with a time and maybe a session beside them.

static JsonValue body_of(const JsonValue& object) {
    return member(object, {"request", "request_body", "body"});
}

static JsonValue start_of(const JsonValue& object) {
    return member(object, {"timestamp", "time", "start_time", "startTime", "started_at",
                           "request_time", "created_at", "created"});
}

static JsonValue end_of(const JsonValue& object) {
    return member(object, {"end_time", "endTime", "ended_at", "finished_at", "response_time"});
}

static std::string_view session_of(const JsonValue& object, const JsonValue& body) {
    const std::string_view own =
        text_member(object, {"session_id", "conversation_id", "session", "trace_id", "thread_id"});
    return !own.empty() ? own
                        : text_member(body.find("metadata"), {"session_id", "conversation_id"});
}

static bool matches_plain(const JsonValue& object) {
    return body_of(object).present() || member(object, {"messages", "prompt", "input"}).present();
}

/// An HTTP status of 400 or more, a status that says so, or an error beside or in the response.
static bool says_failed(const JsonValue& object, const JsonValue& response) {
    const JsonValue status = member(object, {"status_code", "status"});
    const JsonValue error = member(object, {"error"});
    return status.as_u64().value_or(0) >= 400 ||
           is_one_of(text_member(object, {"status"}), {"error", "failed", "failure"}) ||
           error.size() > 0 || !error.as_string().value_or("").empty() ||
           member(response, {"error"}).present();
}

static void read_plain(LogContext& context, const JsonValue& object) {
    LogCall call;
    if (!read_times(context, start_of(object), end_of(object), "timestamp", call)) {
        return;
    }
    const JsonValue body = body_of(object);
    if (const auto text = body.as_string()) {
        // Its own document: what is in the body may be in a string once more.
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
    context.keep(call, object);
    context.add(std::move(call));
}

constinit const LogFormat plain_log = {
    .name = "plain",
    .what = "requests and responses",
    .matches = matches_plain,
    .read = read_plain,
};

// Spans of OpenTelemetry, as files hold them: OTLP JSON (attributes as a list of typed values)
// and exporters' own JSON (attributes as an object).

/// What an OTLP AnyValue holds; other JSON is itself.
static JsonValue unwrapped(const JsonValue& value) {
    const JsonValue inside = member(value, {"stringValue", "intValue", "doubleValue", "boolValue",
                                            "arrayValue", "kvlistValue"});
    return inside.present() ? inside : value;
}

namespace {

/// Looks names up in either; values keep the document's lifetime.
class Attributes {
  public:
    explicit Attributes(const JsonValue& attributes) : attributes_(attributes) {}

    /// The value of that name, absent where there is none: a string, a number (OTLP writes 64-bit
    /// integers as strings), a boolean, or the list of an `arrayValue`.
    JsonValue find(std::string_view name) const {
        if (attributes_.is(JsonType::object)) {
            return unwrapped(member(attributes_, {name}));
        }
        for (JsonValue one = attributes_.first(); one.present(); one = one.next()) {
            if (one.find("key").as_string() == name) {
                return unwrapped(one.find("value"));
            }
        }
        return {};
    }
    /// The first of several names.
    JsonValue find(Names names) const {
        for (const std::string_view name : names) {
            if (const JsonValue value = find(name); value.present()) {
                return value;
            }
        }
        return {};
    }
    std::vector<std::string> names() const {
        std::vector<std::string> names;
        const bool is_object = attributes_.is(JsonType::object);
        for (JsonValue one = attributes_.first(); one.present(); one = one.next()) {
            names.emplace_back(is_object ? one.key() : one.find("key").as_string().value_or(""));
        }
        return names;
    }

  private:
    JsonValue attributes_;
};

}  // namespace

// OpenTelemetry's gen_ai spans: OTLP JSON as the collector's file exporter writes it, a batch a
// line; files of {"spans": [..]}; single spans. Messages are opt-in there: many exports have none.

static bool is_span(const JsonValue& object) {
    return object.find("attributes").present() &&
           member(object, {"start_time", "startTimeUnixNano"}).present();
}

static bool matches(const JsonValue& object) {
    return object.find("resourceSpans").is(JsonType::array) ||
           object.find("spans").is(JsonType::array) || is_span(object);
}

/// A span that stands for a request to a model; the spans around it (agents, tools) are not.
static bool is_request(const JsonValue& span, const Attributes& attributes) {
    const std::string_view operation =
        attributes.find("gen_ai.operation.name").as_string().value_or("");
    if (!operation.empty()) {
        return is_one_of(operation, {"chat", "text_completion", "generate_content"});
    }
    const std::string_view kind = attributes.find("llm.request.type").as_string().value_or("");
    return is_one_of(kind, {"chat", "completion"}) ||
           text_member(span, {"name"}).starts_with("chat ");
}

/// Messages an attribute each, as OpenLLMetry writes them: "gen_ai.prompt.0.content".
static void add_numbered(const Attributes& attributes, LogCall& call) {
    constexpr std::size_t messages_max = 10'000;  // more than any conversation has
    for (std::size_t i = 0; i < messages_max; ++i) {
        const std::string name = "gen_ai.prompt." + std::to_string(i);
        const JsonValue content = attributes.find(name + ".content");
        const JsonValue role = attributes.find(name + ".role");
        if (!content.present() && !role.present()) {
            return;
        }
        call.prompt.push_back({std::string(role.as_string().value_or("user")),
                               std::string(content.as_string().value_or(""))});
    }
}

static void add_prompt(const LogContext& context, const Attributes& attributes, LogCall& call) {
    add_tools(attributes.find("gen_ai.tool.definitions"), call);
    const JsonValue system = attributes.find("gen_ai.system_instructions");
    if (system.present()) {
        LogCall part;  // a list of parts reads as messages without roles
        add_messages(context, system, part);
        for (LogMessage& one : part.prompt) {
            call.prompt.push_back({"system", std::move(one.text)});
        }
    }
    const std::size_t before = call.prompt.size();
    add_messages(context, attributes.find({"gen_ai.input.messages", "gen_ai.prompt"}), call);
    if (call.prompt.size() == before) {
        add_numbered(attributes, call);
    }
    if (call.prompt.size() == before) {
        call.prompt.clear();  // tools and instructions alone are no prompt
    }
}

static void add_usage(const Attributes& attributes, LogCall& call) {
    call.input_tokens = tokens_of(attributes.find(
        {"gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.usage.prompt_tokens"}));
    call.output_tokens =
        tokens_of(attributes.find({"gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens",
                                   "llm.usage.completion_tokens"}));
}

static bool says_failed(const JsonValue& span, const Attributes& attributes) {
    const JsonValue status = span.find("status");
    const std::string_view code = text_member(status, {"code", "status_code"});
    return is_one_of(code, {"2", "STATUS_CODE_ERROR", "ERROR"}) ||
           attributes.find("error.type").present();
}

/// Ids are in the span, or in the context that some exporters write.
static std::string_view id_of(const JsonValue& span, Names names) {
    const std::string_view own = text_member(span, names);
    return own.empty() ? text_member(span.find("context"), names) : own;
}

static void read_span(const LogContext& context, const JsonValue& span) {
    const Attributes attributes(span.find("attributes"));
    if (!is_request(span, attributes)) {
        context.remark("span that is not a request to a model left out",
                       "spans that are not requests to a model left out");
        return;
    }
    LogCall call;
    if (!read_times(context, member(span, {"startTimeUnixNano", "start_time"}),
                    member(span, {"endTimeUnixNano", "end_time"}), "start_time", call)) {
        return;
    }
    add_prompt(context, attributes, call);
    read_response(context,
                  attributes.find({"gen_ai.output.messages", "gen_ai.output.text",
                                   "gen_ai.completion", "gen_ai.completion.0.content"}),
                  call);
    add_usage(attributes, call);
    call.failed = says_failed(span, attributes);
    call.streamed = attributes.find({"gen_ai.request.stream", "llm.is_streaming"}).as_bool();
    const std::string_view trace = id_of(span, {"traceId", "trace_id"});
    const std::string_view conversation =
        attributes.find({"gen_ai.conversation.id", "session.id"}).as_string().value_or("");
    call.session = conversation.empty() ? trace : conversation;
    if (const std::string_view own = id_of(span, {"spanId", "span_id"}); !own.empty()) {
        call.id = std::string(trace) + "/" + std::string(own);
    }
    call.model =
        attributes.find({"gen_ai.request.model", "gen_ai.response.model"}).as_string().value_or("");
    context.keep(
        call, [&](std::string_view name) { return attributes.find(name); },
        [&] { return attributes.names(); });
    context.add(std::move(call));
}

static void read_spans(LogContext& context, const JsonValue& spans) {
    context.read_each(spans, "spans", [&](const JsonValue& span) { read_span(context, span); });
}

static void read(LogContext& context, const JsonValue& object) {
    const JsonValue resources = object.find("resourceSpans");
    if (!resources.present() && !object.find("spans").present()) {
        read_span(context, object);
        return;
    }
    read_spans(context, object.find("spans"));
    for (JsonValue one = resources.first(); one.present(); one = one.next()) {
        const JsonValue scopes = member(one, {"scopeSpans", "instrumentationLibrarySpans"});
        for (JsonValue scope = scopes.first(); scope.present(); scope = scope.next()) {
            read_spans(context, scope.find("spans"));
        }
    }
}

constinit const LogFormat otel_log = {
    .name = "otel",
    .what = "OpenTelemetry gen_ai",
    .matches = matches,
    .read = read,
};

}  // namespace driftless
