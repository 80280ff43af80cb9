#include "proto/api/event.hpp"

#include <algorithm>
#include <array>

#include "proto/core/letter_case.hpp"
#include "proto/core/text.hpp"

namespace driftless {

namespace {

/// The error that an event holds, or that it is (SGLang sends flat ones); nothing where it is none.
std::optional<std::string_view> find_error(const JsonValue& root, std::string_view event_name) {
    if (const auto said = error_said(root.find("error"))) {
        return said;
    }
    if (event_name == "error" || root.find("object").as_string() == "error") {
        return root.find("message").as_string().value_or(root.raw());
    }
    return std::nullopt;
}

/// How finish reasons begin by which servers give a request up: vLLM, SGLang, LMDeploy, Mistral,
/// Dynamo and OpenRouter (error, abort), TensorRT-LLM (cancelled, timeout), DeepSeek
/// (insufficient_system_resource), Responses (failed).
constexpr std::string_view failures[] = {
    "error", "abort", "cancel", "fail", "timeout", "internal_error", "insufficient_system_resource",
};

/// Members that describe a value and have none of its text, or none that the model made.
constexpr std::string_view labels[] = {
    "role",        "name",     "id",     "tool_call_id", "type",     "format",    "signature",
    "url",         "object",   "status", "detail",       "encoding", "citations", "citation",
    "annotations", "logprobs", "usage",  "metadata",     "data",
};

bool is_label(std::string_view name) {
    return std::find(std::begin(labels), std::end(labels), name) != std::end(labels);
}

bool says_something(const JsonValue& error) {
    switch (error.present() ? error.type() : JsonType::null) {
        case JsonType::null:
            return false;
        case JsonType::boolean:
            return *error.as_bool();
        case JsonType::number:
            return error.as_double() != 0.0;  // codes; one beyond a double is one, too
        case JsonType::string:
            return !error.as_string()->empty();
        case JsonType::array:
        case JsonType::object:
            return error.size() > 0;
    }
    return false;
}

}  // namespace

JsonValue open_event(JsonDocument& document, std::string_view event_name, std::string_view data,
                     EventReading& reading, JsonType or_root) {
    const std::string_view payload = trim(data, white_space);
    if (payload == "[DONE]") {
        reading.kind = EventReading::Kind::done;
        return {};
    }
    reading.kind = EventReading::Kind::bad;
    const Result<JsonValue> parsed = document.parse(payload);
    if (!parsed || !(parsed.value().is(JsonType::object) || parsed.value().is(or_root))) {
        return {};
    }
    if (const auto message = find_error(parsed.value(), event_name)) {
        reading.kind = EventReading::Kind::error;
        reading.error_message = *message;
        return {};
    }
    reading.kind = EventReading::Kind::delta;
    return parsed.value();
}

std::optional<std::string_view> error_said(const JsonValue& error) {
    if (!says_something(error)) {
        return std::nullopt;
    }
    const JsonValue message = error.is(JsonType::object) ? error.find("message") : error;
    return message.as_string().value_or(error.raw());
}

bool is_failed_finish(std::string_view finish_reason) {
    return std::any_of(std::begin(failures), std::end(failures),
                       [finish_reason](std::string_view begin) {
                           return equal_ignoring_case(finish_reason.substr(0, begin.size()), begin);
                       });
}

void read_finish(const JsonValue& finish, EventReading& reading) {
    const JsonValue type = finish.is(JsonType::object) ? finish.find("type") : finish;
    const auto reason = type.as_string();
    if (reason && *reason != "null" && *reason != "None") {  // the names of nothing, as texts
        reading.finish_reason = *reason;
        reading.error_message = is_failed_finish(*reason) ? text_of(finish.find("message")) : "";
    }
}

bool has_text(const JsonValue& value) {
    constexpr std::size_t values_max = 64;
    std::array<JsonValue, 8> open;  // a value at each depth, of which the rest is still to be seen
    std::size_t depth = 1;
    open[0] = value;
    for (std::size_t seen = 0; depth > 0 && seen < values_max; ++seen) {
        const JsonValue here = open[depth - 1];
        open[depth - 1] = depth > 1 ? here.next() : JsonValue();
        if (!here.present()) {
            --depth;
        } else if (is_label(here.key())) {
            continue;
        } else if (!text_of(here).empty()) {
            return true;
        } else if (here.size() > 0 && depth < open.size()) {
            open[depth++] = here.first();
        }
    }
    return false;
}

std::string_view text_of(const JsonValue& value) {
    return value.as_string().value_or(std::string_view{});
}

std::int64_t count_of(const JsonValue& value) {
    if (!value.is(JsonType::number)) {
        return -1;
    }
    const std::string_view text = value.raw();
    const std::size_t point = std::min(text.find('.'), text.size());
    const bool is_integer = text.find_first_not_of('0', point + 1) == text.npos;
    return is_integer ? count_in(text.substr(0, point)) : -1;
}

}  // namespace driftless
