/// JSON in tests: a text together with its values, and numbers and texts of a list.
#pragma once

#include "proto/json/document.hpp"
#include "tests/test.hpp"

namespace driftless {

/// Owns what its values point to; aborts where the text is not JSON.
class JsonText {
    std::string text_;
    JsonDocument document_;

  public:
    explicit JsonText(std::string text)
        : text_(std::move(text)), root(document_.parse(text_).value()) {}
    JsonText(const JsonText&) = delete;
    JsonText& operator=(const JsonText&) = delete;

    const JsonValue root;
};

/// What the reader makes of a text, with a document of its own: `read_alone(read_record, line)`.
template <typename Reader>
auto read_alone(Reader reader, std::string_view text) {
    JsonDocument document;
    return reader(document, text);
}

/// Member by member and element by element: "a/0/b".
inline JsonValue at(JsonValue value, std::string_view path) {
    while (!path.empty()) {
        const std::string_view key = path.substr(0, path.find('/'));
        path.remove_prefix(std::min(key.size() + 1, path.size()));
        value =
            value.is(JsonType::array) ? value.at(std::stoul(std::string(key))) : value.find(key);
    }
    return value;
}
/// Its values at these paths, as the text has them: "ok, 4, null" of "outcome, tokens/0, error".
/// Texts stand without quotes; a value that is missing is "".
inline std::string values_of(JsonValue root, std::string_view paths) {
    std::string values;
    for (bool is_first = true; !paths.empty(); is_first = false) {
        const std::string_view path = paths.substr(0, paths.find(", "));
        paths.remove_prefix(std::min(paths.size(), path.size() + 2));
        const JsonValue value = at(root, path);
        values.append(is_first ? "" : ", ").append(value.as_string().value_or(value.raw()));
    }
    return values;
}
inline std::string values_of(const std::string& text, std::string_view paths) {
    return values_of(JsonText(text).root, paths);
}

/// In their order.
inline std::vector<std::string> keys_of(JsonValue object) {
    std::vector<std::string> keys;
    for (JsonValue one = object.first(); one.present(); one = one.next()) {
        keys.emplace_back(one.key());
    }
    return keys;
}

inline std::vector<std::string> strings_of(JsonValue list) {
    std::vector<std::string> strings;
    for (JsonValue one = list.first(); one.present(); one = one.next()) {
        strings.emplace_back(*one.as_string());
    }
    return strings;
}

inline std::vector<double> numbers_of(JsonValue list) {
    std::vector<double> numbers;
    for (JsonValue one = list.first(); one.present(); one = one.next()) {
        numbers.push_back(*one.as_double());
    }
    return numbers;
}

}  // namespace driftless
