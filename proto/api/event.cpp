#include "proto/api/event.hpp"

#include <algorithm>

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
