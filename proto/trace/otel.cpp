#include <string_view>

#include "proto/json/document.hpp"
#include "proto/trace/log_format.hpp"

namespace driftless {

// Spans of OpenTelemetry, as files hold them: OTLP JSON (attributes as a list of typed values)
// and exporters' own JSON (attributes as an object).
//
// `Attributes` looks names up in either; values keep the document's lifetime.

class Attributes {
  public:
    explicit Attributes(const JsonValue& attributes) : attributes_(attributes) {}

    /// The value of that name, absent where there is none: a string, a number (OTLP writes 64-bit
    /// integers as strings), a boolean, or the list of an `arrayValue`.
    JsonValue find(std::string_view name) const;
    /// The first of several names.
    JsonValue find(Names names) const;

  private:
    JsonValue attributes_;
};

namespace {

/// What an OTLP AnyValue holds; other JSON is itself.
JsonValue unwrapped(const JsonValue& value) {
    const JsonValue inside = member(value, {"stringValue", "intValue", "doubleValue", "boolValue",
                                            "arrayValue", "kvlistValue"});
    return inside.present() ? inside : value;
}

}  // namespace

JsonValue Attributes::find(std::string_view name) const {
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

JsonValue Attributes::find(Names names) const {
    for (const std::string_view name : names) {
        const JsonValue value = find(name);
        if (value.present()) {
            return value;
        }
    }
    return {};
}

// OpenTelemetry's gen_ai spans: OTLP JSON as the collector's file exporter writes it, a batch a
// line; files of {"spans": [..]}; single spans. Messages are opt-in there: many exports have none.

namespace {

bool is_span(const JsonValue& object) {
    return object.find("attributes").present() &&
           member(object, {"start_time", "startTimeUnixNano"}).present();
}

bool matches(const JsonValue& object) {
    return object.find("resourceSpans").is(JsonType::array) ||
           object.find("spans").is(JsonType::array) || is_span(object);
}

/// A span that stands for a request to a model; the spans around it (agents, tools) are not.
bool is_request(const JsonValue& span, const Attributes& attributes) {
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
void add_numbered(const Attributes& attributes, LogCall& call) {
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

void add_prompt(const LogContext& context, const Attributes& attributes, LogCall& call) {
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

void add_usage(const Attributes& attributes, LogCall& call) {
    call.input_tokens = tokens_of(attributes.find(
        {"gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.usage.prompt_tokens"}));
    call.output_tokens =
        tokens_of(attributes.find({"gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens",
                                   "llm.usage.completion_tokens"}));
}

bool says_failed(const JsonValue& span, const Attributes& attributes) {
    const JsonValue status = span.find("status");
    const std::string_view code = text_member(status, {"code", "status_code"});
    return is_one_of(code, {"2", "STATUS_CODE_ERROR", "ERROR"}) ||
           attributes.find("error.type").present();
}

/// Ids stand in the span, or in the context that some exporters write.
std::string_view id_of(const JsonValue& span, Names names) {
    const std::string_view own = text_member(span, names);
    return own.empty() ? text_member(span.find("context"), names) : own;
}

void read_span(const LogContext& context, const JsonValue& span) {
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
    context.keep(call, [&](std::string_view name) { return attributes.find(name); });
    context.add(std::move(call));
}

void read_spans(LogContext& context, const JsonValue& spans) {
    const std::string outside = context.place;
    std::size_t number = 0;
    for (JsonValue span = spans.first(); span.present(); span = span.next()) {
        context.place = outside + "spans[" + std::to_string(number++) + "].";
        read_span(context, span);
    }
    context.place = outside;
}

void read(LogContext& context, const JsonValue& object) {
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

}  // namespace

constinit const LogFormat otel_log = {
    .name = "otel",
    .what = "OpenTelemetry gen_ai",
    .matches = matches,
    .read = read,
};

}  // namespace driftless
