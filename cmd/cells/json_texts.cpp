#include "cmd/cells/json_texts.hpp"

namespace driftless {

std::string text_of(JsonValue value) {
    return std::string(value.as_string().value_or(""));
}

std::vector<std::string> texts_of(JsonValue array) {
    std::vector<std::string> texts;
    for (JsonValue one = array.first(); one.present(); one = one.next()) {
        texts.push_back(text_of(one));
    }
    return texts;
}

void write_texts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
    json.key(key).begin_array();
    for (const std::string& text : texts) {
        json.string(text);
    }
    json.end_array();
}

void write_optional_text(JsonWriter& json, std::string_view key, const std::string& text) {
    json.key(key);
    text.empty() ? json.null() : json.string(text);
}

}  // namespace driftless
