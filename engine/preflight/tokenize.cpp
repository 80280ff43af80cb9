#include "engine/preflight/tokenize.hpp"

#include <algorithm>

#include "proto/json/write.hpp"

namespace driftless {

namespace {

void write_escaped(JsonWriter& json, std::string_view escaped) {
    std::string quoted = "\"";
    quoted += escaped;
    quoted += '"';
    json.raw(quoted);
}

void write_messages(JsonWriter& json, std::string_view escaped) {
    json.key("messages").begin_array().begin_object();
    json.key("role").string("user").key("content");
    write_escaped(json, escaped);
    json.end_object().end_array();
}

}  // namespace

const char* name_of(TokenizeForm form) {
    switch (form) {
        case TokenizeForm::messages:
            return "messages";
        case TokenizeForm::templated:
            return "templated";
        case TokenizeForm::prompt:
            return "prompt";
        case TokenizeForm::prompt_v1:
            return "prompt_v1";
        case TokenizeForm::content:
            return "content";
        case TokenizeForm::inputs:
            return "inputs";
    }
    return "unknown";
}

const char* tokenize_path(TokenizeForm form) {
    return form == TokenizeForm::prompt_v1 ? "/v1/tokenize" : "/tokenize";
}

bool sees_template(TokenizeForm form, const Dialect& dialect) {
    return !dialect.templated || form == TokenizeForm::messages || form == TokenizeForm::templated;
}

std::string tokenize_body(TokenizeForm form, std::string_view model, std::string_view escaped) {
    std::string body;
    body.reserve(escaped.size() + model.size() + 128);
    JsonWriter json(body);
    json.begin_object();
    switch (form) {
        case TokenizeForm::messages:
            json.key("model").string(model);
            write_messages(json, escaped);
            json.key("add_generation_prompt").boolean(true);
            break;
        case TokenizeForm::prompt:
        case TokenizeForm::prompt_v1:
            json.key("model").string(model).key("prompt");
            write_escaped(json, escaped);
            json.key("add_special_tokens").boolean(true);
            break;
        case TokenizeForm::inputs:
            json.key("inputs");
            write_escaped(json, escaped);
            json.key("add_special_tokens").boolean(true);
            break;
        case TokenizeForm::templated:
        case TokenizeForm::content:
            json.key("content");
            write_escaped(json, escaped);
            json.key("add_special").boolean(true).key("parse_special").boolean(true);
            break;
    }
    json.end_object();
    return body;
}

std::string template_body(std::string_view model, std::string_view escaped) {
    std::string body;
    body.reserve(escaped.size() + model.size() + 128);
    JsonWriter json(body);
    json.begin_object().key("model").string(model);
    write_messages(json, escaped);
    json.end_object();
    return body;
}

std::vector<std::int64_t> read_tokens(JsonDocument& document, std::string_view body) {
    std::vector<std::int64_t> tokens;
    const Result<JsonValue> root = document.parse(body);
    if (!root) {
        return tokens;
    }
    for (JsonValue token = root.value().find("tokens").first(); token.present();
         token = token.next()) {
        tokens.push_back(token.as_i64().value_or(-1));
    }
    if (root.value().is(JsonType::array)) {  // TGI's, an object each
        for (JsonValue token = root.value().first(); token.find("id").present();
             token = token.next()) {
            tokens.push_back(token.find("id").as_i64().value_or(-1));
        }
    }
    return tokens;
}

std::string read_templated(JsonDocument& document, std::string_view body) {
    const Result<JsonValue> root = document.parse(body);
    if (!root) {
        return "";
    }
    const JsonValue prompt = root.value().find("prompt");
    if (!prompt.is(JsonType::string)) {
        return "";
    }
    const std::string_view raw = prompt.raw();
    return std::string(raw.substr(1, raw.size() - 2));
}

AroundWords compare_words(std::span<const std::int64_t> first,
                          std::span<const std::int64_t> second) {
    const std::size_t least = std::min(first.size(), second.size());
    std::size_t front = 0;
    while (front < least && first[front] == second[front]) {
        ++front;
    }
    std::size_t back = 0;
    while (back < least - front &&
           first[first.size() - 1 - back] == second[second.size() - 1 - back]) {
        ++back;
    }
    AroundWords around;
    around.overhead = {static_cast<std::uint32_t>(front), static_cast<std::uint32_t>(back)};
    around.first_cost = first.size() - front - back;
    around.second_cost = second.size() - front - back;
    return around;
}

}  // namespace driftless
